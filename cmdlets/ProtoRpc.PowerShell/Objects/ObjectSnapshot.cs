using System.Collections.Specialized;
using Google.Protobuf;
using ProtoRpc.Messages;
using ProtoRpc.Messages.Mapping;

namespace ProtoRpc.PowerShell.Objects;

/// <summary>Copies the values that a script gave for a message that is made later, on another thread: by then
/// the script may have changed its hashtables, lists and objects. Script properties are evaluated during the
/// copy, because they can only run on the thread of the pipeline.</summary>
internal sealed class ObjectSnapshot
{
    // The mapper rejects deeper objects, and reports the position. A message has up to three levels: the
    // message, a list and its element.
    private static readonly int MaxDepth = 4 * RpcLimits.Default.MaxDepth;

    // An object may occur several times or contain itself, so it is copied once.
    private readonly Dictionary<object, object> _copies = new(ReferenceEqualityComparer.Instance);
    private readonly PSObjectModel _model;

    private ObjectSnapshot(PSObjectModel model) => _model = model;

    /// <summary>A copy of dictionaries, lists, custom objects and objects of a script's classes, nested ones
    /// included. Messages, bytes, scalars and other objects are returned themselves.</summary>
    /// <param name="value">The value.</param>
    /// <param name="model">The model that reads the copy.</param>
    /// <exception cref="RpcException">InvalidArgument: a property cannot be read.</exception>
    public static object? Create(object? value, PSObjectModel model) =>
        new ObjectSnapshot(model).Copy(value, 0);

    private object? Copy(object? value, int depth)
    {
        object? inner = _model.Unwrap(value);
        if (inner is null or string or byte[] or List<byte> or IMessage || depth > MaxDepth)
        {
            return value;
        }

        if (_copies.TryGetValue(inner, out object? copy))
        {
            return copy;
        }

        return inner switch
        {
            IDictionary dictionary => CopyEntries(dictionary, depth),
            Array { Rank: 1 } array when array.GetType().GetElementType()!.IsPrimitive => array.Clone(),
            IList list => CopyElements(list, depth),
            PSObject => CopyProperties(inner, inner, depth),
            // The object is an instance of a script's class.
            _ when inner.GetType().Assembly.IsDynamic => CopyProperties(value!, inner, depth),
            _ => value,
        };
    }

    private OrderedDictionary CopyEntries(IDictionary dictionary, int depth)
    {
        OrderedDictionary copy = dictionary is BlankMessage blank
            ? blank.ToEmpty()
            : new OrderedDictionary(dictionary.Count, MapKeys.Boxed);
        _copies.Add(dictionary, copy);
        foreach (DictionaryEntry entry in dictionary)
        {
            copy.Add(entry.Key, Copy(entry.Value, depth + 1));
        }

        _model.CopySource(dictionary, copy);
        return copy;
    }

    private object?[] CopyElements(IList list, int depth)
    {
        object?[] copy = new object?[list.Count];
        _copies.Add(list, copy);
        for (int i = 0; i < copy.Length; i++)
        {
            copy[i] = Copy(list[i], depth + 1);
        }

        return copy;
    }

    private object CopyProperties(object value, object inner, int depth)
    {
        if (!_model.TryGetMembers(value, out IEnumerable<KeyValuePair<string, object?>>? members))
        {
            return value;
        }

        PSObject copy = new();
        _copies.Add(inner, copy);
        foreach ((string name, object? member) in members)
        {
            copy.Properties.Add(new PSNoteProperty(name, Copy(member, depth + 1)), preValidated: true);
        }

        _model.CopySource(inner, copy);
        return copy;
    }
}
