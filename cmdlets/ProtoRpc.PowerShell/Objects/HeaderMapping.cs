using System.Collections;
using System.Management.Automation;
using ProtoRpc.Calls;

namespace ProtoRpc.PowerShell;

/// <summary>Headers as hashtables: text, bytes under names that end in -bin,
/// arrays where a name has several values.</summary>
internal static class HeaderMapping
{
    /// <exception cref="RpcException">InvalidArgument: a name or value that cannot be sent.</exception>
    public static RpcMetadata ToMetadata(IDictionary? headers)
    {
        RpcMetadata metadata = new();
        foreach (DictionaryEntry entry in headers ?? new Hashtable())
        {
            string name = LanguagePrimitives.ConvertTo<string>(entry.Key);
            object? value = entry.Value is PSObject wrapped ? wrapped.BaseObject : entry.Value;
            if (value is byte[] or not IEnumerable or string)
            {
                Add(metadata, name, value);
                continue;
            }

            foreach (object? one in (IEnumerable)value)
            {
                Add(metadata, name, one is PSObject item ? item.BaseObject : one);
            }
        }

        return metadata;
    }

    public static Hashtable ToHashtable(RpcMetadata metadata)
    {
        Hashtable headers = new(StringComparer.OrdinalIgnoreCase);
        foreach (string name in metadata.Names)
        {
            object[] values = [.. metadata.GetAll(name)];
            headers[name] = values.Length == 1 ? values[0] : values;
        }

        return headers;
    }

    private static void Add(RpcMetadata metadata, string name, object? value)
    {
        if (value is byte[] bytes)
        {
            metadata.Add(name, bytes);
        }
        else
        {
            metadata.Add(name, LanguagePrimitives.ConvertTo<string>(value));
        }
    }
}
