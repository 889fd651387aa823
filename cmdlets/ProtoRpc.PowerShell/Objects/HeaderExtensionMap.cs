using System.Collections;
using System.Collections.Specialized;
using Google.Protobuf.Reflection;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Native;

namespace ProtoRpc.PowerShell.Objects;

/// <summary>Extensions of headers and exceptions of the native protocol as the shell sees them: a dictionary
/// whose keys are their names, <c>[package.name]</c>, without the protocol's own fields.</summary>
internal static class HeaderExtensionMap
{
    /// <summary>A dictionary that a script may change, which changes nothing but it; empty for
    /// null.</summary>
    public static IDictionary ToDictionary(DynamicMessage? header)
    {
        OrderedDictionary extensions = [];
        if (header is null)
        {
            return extensions;
        }

        foreach (DictionaryEntry entry in CallContextMap.ToDictionary(header))
        {
            if (entry.Key is string name && name.StartsWith('['))
            {
                extensions.Add(name, entry.Value);
            }
        }

        return extensions;
    }

    /// <summary>The extensions of request headers that a schema declares.</summary>
    public static IEnumerable<RpcFieldInfo> OfRequests(RpcSchema schema) =>
        HeaderExtensions.DeclaredIn(schema, RpcRequestHeader.Descriptor);

    /// <summary>The message for a dictionary or an object.</summary>
    /// <exception cref="RpcException">InvalidArgument for a key that is no extension, or a value that does
    /// not fit.</exception>
    public static DynamicMessage ToMessage(RpcSchema? schema, MessageDescriptor header, object values) =>
        ShellMapper.Create(asHashtable: true).ToMessage(HeaderExtensions.TypeIn(schema, header), values);
}
