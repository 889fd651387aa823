using System.Collections;
using System.Collections.Specialized;

namespace ProtoRpc.Messages.Mapping;

/// <summary>A message to fill in: a dictionary with all fields, nested messages and one element of each list
/// of messages included. The mapper leaves out those nested messages and elements in which nothing was
/// set.</summary>
internal sealed class BlankMessage : OrderedDictionary
{
    // Null for a deserialized copy, which only contains the values.
    private Dictionary<string, object?>? _initial;

    /// <param name="type">The message type.</param>
    /// <param name="comparer">Compares the names of its fields.</param>
    public BlankMessage(RpcMessageInfo type, StringComparer comparer)
        : base(comparer) => MessageType = type;

    private BlankMessage(RpcMessageInfo? type)
        : base(StringComparer.Ordinal) => MessageType = type;

    /// <param name="copy">The entries of a message that crossed a process.</param>
    public BlankMessage(IDictionary copy)
        : base(StringComparer.Ordinal)
    {
        foreach (DictionaryEntry entry in copy)
        {
            Add(entry.Key, entry.Value);
        }
    }

    /// <summary>The message type; null for a copy that crossed a process.</summary>
    internal RpcMessageInfo? MessageType { get; }

    /// <summary>Whether no value was set since <see cref="Seal"/>.</summary>
    /// <param name="objects">Reads the values of hosts.</param>
    internal bool IsBlank(IObjectModel objects)
    {
        foreach (DictionaryEntry entry in this)
        {
            if (!IsUnchanged(objects, (string)entry.Key, objects.Unwrap(entry.Value)))
            {
                return false;
            }
        }

        return true;
    }

    /// <summary>A message without entries, for copies of those of this one.</summary>
    internal BlankMessage ToEmpty() => new(MessageType) { _initial = _initial };

    /// <summary>Ends the making of the message: values that differ from now on are set.</summary>
    internal BlankMessage Seal()
    {
        _initial = new(Count, StringComparer.Ordinal);
        foreach (DictionaryEntry entry in this)
        {
            _initial.Add((string)entry.Key, entry.Value);
        }

        return this;
    }

    private bool IsUnchanged(IObjectModel objects, string name, object? value) => value switch
    {
        null => true,
        BlankMessage nested => nested.IsBlank(objects),
        byte[] { Length: 0 } => true,
        IDictionary map => map.Count == 0,
        IList list => list.Cast<object?>().All(
            item => objects.Unwrap(item) is BlankMessage nested && nested.IsBlank(objects)),
        _ => _initial is not null
            ? _initial.GetValueOrDefault(name) is { } initial && Equals(initial, value)
            : value is "" or false or 0 or 0L or 0u or 0uL or 0d or 0f,
    };
}
