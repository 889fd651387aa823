using System.Collections.Specialized;
using ProtoRpc.Messages;
using ProtoRpc.Schema;

namespace ProtoRpc.PowerShell;

/// <summary>As the shell's objects, but messages become ordered hashtables (<c>-AsHashtable</c>).</summary>
internal sealed class OrderedHashtableModel : PSObjectModel
{
    public static new OrderedHashtableModel Instance { get; } = new();

    public override object CreateObject(
        DynamicMessage source, IReadOnlyList<RpcFieldInfo> fields, IReadOnlyList<object?> values)
    {
        OrderedDictionary result = new(fields.Count, StringComparer.OrdinalIgnoreCase);
        for (int i = 0; i < fields.Count; i++)
        {
            result[fields[i].Name] = values[i];
        }

        return result;
    }
}
