using System.Collections;
using System.Collections.Specialized;
using ProtoRpc.Messages;

namespace ProtoRpc.PowerShell.Objects;

/// <summary>Makes objects that the shell shows with an error. Control characters in the peer's texts are
/// replaced by their numbers.</summary>
internal sealed class NeutralObjectModel : PSObjectModel
{
    public static new NeutralObjectModel Instance { get; } = new();

    protected override object Create(
        DynamicMessage source, IReadOnlyList<RpcFieldInfo> fields, IReadOnlyList<object?> values,
        bool isElement) =>
        base.Create(source, fields, [.. values.Select(Neutral)], isElement);

    public override object CreateAny(
        DynamicMessage source, IReadOnlyList<string> names, IReadOnlyList<object?> values) =>
        base.CreateAny(source, names, [.. values.Select(Neutral)]);

    private static object? Neutral(object? value) => value switch
    {
        string text => TerminalText.Neutralize(text),
        IDictionary map => Neutral(map),
        object[] list => Array.ConvertAll(list, Neutral),
        _ => value,
    };

    private static OrderedDictionary Neutral(IDictionary map)
    {
        OrderedDictionary neutral = new(MapKeys.Boxed);
        foreach (DictionaryEntry entry in map)
        {
            neutral[Neutral(entry.Key)!] = Neutral(entry.Value);
        }

        return neutral;
    }
}
