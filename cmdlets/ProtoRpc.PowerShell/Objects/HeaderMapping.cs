using System.Collections.Specialized;
using System.Net;
using System.Security;
using System.Text;
using Google.Protobuf.Reflection;
using ProtoRpc.Client;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Native;
using ProtoRpc.Security;

namespace ProtoRpc.PowerShell.Objects;

/// <summary>Converts headers from hashtables: text, bytes for names that end in -bin, secure strings and
/// credentials for names that carry secrets, and arrays for several values.</summary>
internal static class HeaderMapping
{
    private static readonly string[] SecretParts =
        ["auth", "token", "secret", "password", "credential", "cookie", "key", "session"];

    /// <exception cref="RpcException">InvalidArgument: a name or value cannot be sent.</exception>
    public static RpcMetadata ToMetadata(IDictionary? headers)
    {
        RpcMetadata metadata = new();
        foreach (DictionaryEntry entry in headers ?? new Hashtable())
        {
            string name = LanguagePrimitives.ConvertTo<string>(entry.Key);
            object? value = entry.Value is PSObject wrapped ? wrapped.BaseObject : entry.Value;
            if (value is byte[] or IDictionary or not IEnumerable or string)
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

    /// <summary>Rejects a secure string or a credential if others could read it on the network.</summary>
    /// <exception cref="RpcException">InvalidArgument: the endpoint is not encrypted and not on this
    /// machine.</exception>
    public static void CheckSecrets(IDictionary? headers, RpcEndpoint endpoint)
    {
        if (headers is null || ClientAuthorization.IsPrivate(endpoint))
        {
            return;
        }

        foreach (DictionaryEntry entry in headers)
        {
            object? value = entry.Value is PSObject wrapped ? wrapped.BaseObject : entry.Value;
            IEnumerable values = value is IEnumerable and not string ? (IEnumerable)value : new[] { value };
            if (values.Cast<object?>().Any(
                one => (one is PSObject item ? item.BaseObject : one) is SecureString or PSCredential))
            {
                throw ClientSecurityErrors.Readable(endpoint, $"The secret of the header '{entry.Key}'");
            }
        }
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

    /// <summary>The endpoint, headers, trailers and other data of a call's replies, as the shell shows
    /// them.</summary>
    public static PSObject ToObject(RpcReplyInfo info)
    {
        PSObject shown = new();
        (string Name, object Value)[] members =
        [
            (nameof(info.Endpoint), info.Endpoint?.ToString() ?? ""),
            (nameof(info.Headers), ToHashtable(info.Headers)),
            (nameof(info.Trailers), ToHashtable(info.Trailers)),
            (nameof(info.Extensions), HeaderExtensionMap.ToDictionary(info.Extensions)),
            (nameof(info.BytesSent), info.BytesSent),
            (nameof(info.BytesReceived), info.BytesReceived),
            (nameof(info.Retries), info.Retries),
            (nameof(info.IsCompressed), info.IsCompressed),
        ];
        Array.ForEach(members, member => shown.Properties.Add(new PSNoteProperty(member.Name, member.Value)));
        return shown;
    }

    private static void Add(RpcMetadata metadata, string name, object? value)
    {
        switch (value)
        {
            case byte[] bytes:
                metadata.Add(name, bytes);
                break;
            case SecureString secret when IsSecret(name):
                metadata.Add(name, new NetworkCredential("", secret).Password);
                break;
            case PSCredential user when name.EndsWith("Authorization", StringComparison.OrdinalIgnoreCase):
                metadata.Add(name, $"Basic {Convert.ToBase64String(Encoding.UTF8.GetBytes(PairOf(user)))}");
                break;
            case SecureString or PSCredential:
                throw NotSendable(name, value.GetType().Name);
            case IDictionary or PSCustomObject:
                throw new RpcException(
                    RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidHeader,
                    $"The header '{name}' cannot be sent: its value is an object with members. Give "
                    + "text, bytes or a list of them.");
            default:
                metadata.Add(name, LanguagePrimitives.ConvertTo<string>(value));
                break;
        }
    }

    private static bool IsSecret(string name) =>
        SecretParts.Any(part => name.Contains(part, StringComparison.OrdinalIgnoreCase));

    // RFC 7617: the user name ends at the first colon.
    private static string PairOf(PSCredential user) => user.UserName.Contains(':')
        ? throw new RpcException(
            RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidHeader,
            $"The user name '{user.UserName}' contains a colon, which ends a user name in a header.")
        : $"{user.UserName}:{user.GetNetworkCredential().Password}";

    // Converting it to text would send the name of its type, which servers may log as if it were a secret.
    private static RpcException NotSendable(string name, string type) => new(
        RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidHeader,
        $"The header '{name}' cannot be sent: its value is a {type}. Use a SecureString only for "
        + "headers with secrets (Authorization, X-Api-Key, ...), and a PSCredential only for "
        + "Authorization. Convert the value to a string for other headers.");
}

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

/// <summary>Converts the side channel to a dictionary for the shell. Its keys are the names of extensions,
/// <c>[package.name]</c>.</summary>
internal static class CallContextMap
{
    /// <summary>A copy as a dictionary. Changing it does not change the context.</summary>
    public static IDictionary ToDictionary(DynamicMessage context) =>
        (IDictionary)ShellMapper.Create(asHashtable: true).ToObject(context);

    /// <summary>Converts a dictionary to a context message.</summary>
    /// <exception cref="RpcException">InvalidArgument: a key is not an extension, or a value does not fit its
    /// type.</exception>
    public static DynamicMessage ToMessage(RpcMessageInfo type, IDictionary values) =>
        ShellMapper.Create(asHashtable: true).ToMessage(type, values);
}
