using System.Collections;
using System.Collections.Specialized;
using Google.Protobuf.Reflection;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Native;

namespace ProtoRpc.PowerShell.Objects;

/// <summary>Converts extensions of the native protocol's headers and exceptions to a dictionary for the
/// shell. Its keys are the names of the extensions, <c>[package.name]</c>; the protocol's own fields are left
/// out.</summary>
internal static class HeaderExtensionMap
{
    /// <summary>A copy as a dictionary; empty for null. Changing it does not change the header.</summary>
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

    /// <summary>Converts a dictionary or an object to a message.</summary>
    /// <exception cref="RpcException">InvalidArgument: a key is not an extension, or a value does not fit its
    /// type.</exception>
    public static DynamicMessage ToMessage(RpcSchema? schema, MessageDescriptor header, object values) =>
        ShellMapper.Create(asHashtable: true).ToMessage(HeaderExtensions.TypeIn(schema, header), values);
}
