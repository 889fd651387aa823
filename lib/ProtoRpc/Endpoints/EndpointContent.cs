using System.Text.Json;
using System.Text.Json.Nodes;

namespace ProtoRpc.Endpoints;

/// <summary>The content of the file of named endpoints, including members that this version does not
/// use.</summary>
internal sealed class EndpointContent
{
    /// <summary>The version of the file that is written.</summary>
    public const int Version = 1;

    private const string VersionKey = "version";
    private const string EndpointsKey = "endpoints";
    private const int MaxDepth = 32;

    private readonly string _path;
    private readonly JsonObject _root;
    private readonly JsonObject _entries;

    private EndpointContent(string path, JsonObject root, JsonObject entries)
    {
        _path = path;
        _root = root;
        _entries = entries;
    }

    /// <summary>The endpoints.</summary>
    /// <exception cref="RpcException">FailedPrecondition: an entry is wrong.</exception>
    public IReadOnlyList<RpcNamedEndpoint> Endpoints =>
        [.. _entries.Select(entry => EndpointEntry.Read(_path, entry.Key, entry.Value))];

    /// <summary>The content of a file that does not exist yet.</summary>
    public static EndpointContent Empty(string path)
    {
        JsonObject entries = [];
        return new(path, new JsonObject { [VersionKey] = Version, [EndpointsKey] = entries }, entries);
    }

    /// <summary>Reads a file's bytes.</summary>
    /// <exception cref="RpcException">FailedPrecondition: damaged, or of a newer version.</exception>
    public static EndpointContent Parse(string path, ReadOnlySpan<byte> bytes)
    {
        JsonObject root = ParseJson(path, bytes);
        int version = root[VersionKey] is JsonValue value && value.TryGetValue(out int number) ? number : 0;
        if (version is < 1 or > Version)
        {
            throw Damaged(
                path,
                version > Version
                    ? $"it has version {version}, and this ProtoRpc reads versions up to {Version}. "
                    + "Update ProtoRpc"
                    : $"it has no '{VersionKey}': {Version}");
        }

        if (root[EndpointsKey] is not JsonObject entries)
        {
            throw Damaged(path, $"it has no object '{EndpointsKey}'");
        }

        return entries.GroupBy(entry => entry.Key, StringComparer.OrdinalIgnoreCase)
            .FirstOrDefault(group => group.Skip(1).Any()) is { } twice
            ? throw Damaged(path, $"it has the name '{twice.Key}' twice")
            : new EndpointContent(path, root, entries);
    }

    /// <summary>Why a file cannot be read.</summary>
    public static RpcException Damaged(string path, string why, Exception? cause = null) => new(
        RpcStatusCode.FailedPrecondition, RpcErrorIds.InvalidEndpointFile,
        TerminalText.Neutralize($"The file of named endpoints '{path}' cannot be read: {why}."), cause);

    /// <summary>Removes an entry.</summary>
    /// <returns>The entry; null if the name is unknown.</returns>
    public JsonObject? Remove(string name)
    {
        string? key = _entries.Select(entry => entry.Key)
            .FirstOrDefault(key => key.Equals(name, StringComparison.OrdinalIgnoreCase));
        JsonNode? old = key is null ? null : _entries[key];
        if (key is not null)
        {
            _entries.Remove(key);
        }

        return key is null ? null : old as JsonObject ?? [];
    }

    /// <summary>Adds an entry, with the members of an older entry that this version does not use.</summary>
    public void Add(RpcNamedEndpoint endpoint, JsonObject? older) =>
        _entries[endpoint.Name] = EndpointEntry.Write(endpoint, older);

    /// <summary>The bytes of the file.</summary>
    public byte[] ToBytes()
    {
        using MemoryStream bytes = new();
        using (Utf8JsonWriter writer = new(bytes, new JsonWriterOptions { Indented = true, NewLine = "\n" }))
        {
            _root.WriteTo(writer);
        }

        bytes.WriteByte((byte)'\n');
        return bytes.ToArray();
    }

    private static JsonObject ParseJson(string path, ReadOnlySpan<byte> bytes)
    {
        try
        {
            // Windows editors write a byte order mark.
            ReadOnlySpan<byte> mark = [0xEF, 0xBB, 0xBF];
            JsonNode? root = JsonNode.Parse(
                bytes.StartsWith(mark) ? bytes[mark.Length..] : bytes,
                documentOptions: new() { MaxDepth = MaxDepth, AllowDuplicateProperties = false });
            return root as JsonObject ?? throw Damaged(path, "it is not a JSON object");
        }
        catch (JsonException e)
        {
            string where = e.LineNumber is { } line
                ? $"line {line + 1}, column {e.BytePositionInLine + 1}: "
                : "";
            string text = e.Message.Split(" LineNumber:")[0].TrimEnd('.');
            throw Damaged(path, $"{where}{text}", e);
        }
    }
}

/// <summary>One named endpoint as JSON.</summary>
internal static class EndpointEntry
{
    private static readonly string[] Known =
    [
        "endpoint", "schema", "service", "interfaceId", "tags", "authentication", "userName", "credential",
        "token", "mechanism", "protectionLevel", "servicePrincipalName", "serverUser",
        "tls", "caCertificate", "clientCertificate",
        "serverName", "format", "compression", RetryEntry.CountKey, RetryEntry.Key,
        "httpGet",
    ];

    /// <summary>Checks an endpoint before it is written.</summary>
    /// <exception cref="RpcException">InvalidArgument: a secret is not a reference, or a format does not
    /// exist or does not apply to the endpoint.</exception>
    public static void Check(RpcNamedEndpoint endpoint)
    {
        if (endpoint.Credential is { } credential)
        {
            bool needsUser = SecretReference.Parse(
                credential, $"{nameof(RpcNamedEndpoint)}.{nameof(RpcNamedEndpoint.Credential)}").IsVariable;
            if (needsUser && endpoint.UserName is null)
            {
                throw new RpcException(
                    RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidCredential,
                    "An environment variable contains only the password. Set "
                    + $"{nameof(RpcNamedEndpoint)}.{nameof(RpcNamedEndpoint.UserName)} as well.");
            }
        }

        if (endpoint.Token is { } token)
        {
            SecretReference.Parse(token, $"{nameof(RpcNamedEndpoint)}.{nameof(RpcNamedEndpoint.Token)}");
        }

        if (endpoint.IsGrpcWebText)
        {
            CheckGrpcWeb(endpoint);
        }
        else if (endpoint.Format is { } format && !MessageFormats.TryFind(format, out _))
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument, $"'{TerminalText.Neutralize(format)}' is not a format.");
        }
    }

    private static void CheckGrpcWeb(RpcNamedEndpoint endpoint)
    {
        if (endpoint.Endpoint.Kind.Protocol != EndpointProtocol.GrpcWeb)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"The format {RpcNamedEndpoint.GrpcWebText} does not apply to '{endpoint.Endpoint}', only to "
                + "grpcweb:// and grpcwebs:// endpoints.", endpoint.Endpoint);
        }
    }

    /// <summary>Reads an entry.</summary>
    /// <exception cref="RpcException">FailedPrecondition: the entry is malformed; the message contains its
    /// name and key.</exception>
    public static RpcNamedEndpoint Read(string path, string name, JsonNode? node)
    {
        try
        {
            Reader reader = new(node as JsonObject ?? throw new FormatException("it is not an object"));
            RpcNamedEndpoint endpoint = new(
                name, RpcEndpoint.Parse(reader.Text("endpoint") ?? throw new FormatException(
                    "'endpoint' is missing")))
            {
                Schema = reader.Texts("schema"),
                Service = reader.Text("service"),
                InterfaceId = reader.Text("interfaceId") is { } id ? Guid.Parse(id) : null,
                Tag = reader.Texts("tags"),
                Authentication = reader.Name<RpcClientAuthentication>("authentication"),
                UserName = reader.Text("userName"),
                Credential = reader.Text("credential"),
                Token = reader.Text("token"),
                Mechanism = reader.Name<RpcMechanism>("mechanism"),
                ProtectionLevel = reader.Name<RpcProtectionLevel>("protectionLevel"),
                ServicePrincipalName = reader.Text("servicePrincipalName"),
                ServerUser = reader.Text("serverUser"),
                Tls = reader.Value<bool>("tls") ?? false,
                CACertificate = reader.Texts("caCertificate"),
                ClientCertificate = reader.Text("clientCertificate"),
                ServerName = reader.Text("serverName"),
                Format = reader.Text("format"),
                Compression = reader.Name<RpcCompression>("compression"),
                Retry = RetryEntry.Read((JsonObject)node!),
                HttpGet = reader.Value<bool>("httpGet") ?? false,
            };
            Check(endpoint);
            return endpoint;
        }
        catch (Exception e)
            when (e is FormatException or RpcException { Code: RpcStatusCode.InvalidArgument })
        {
            throw EndpointContent.Damaged(path, $"the entry '{name}': {e.Message.TrimEnd('.')}", e);
        }
    }

    /// <summary>Writes an entry.</summary>
    /// <param name="endpoint">The endpoint.</param>
    /// <param name="older">The replaced entry, whose unknown members are kept; null for none.</param>
    public static JsonObject Write(RpcNamedEndpoint endpoint, JsonObject? older)
    {
        JsonNode?[] values =
        [
            endpoint.Endpoint.ToString(), List(endpoint.Schema), endpoint.Service,
            endpoint.InterfaceId?.ToString(), List(endpoint.Tag), endpoint.Authentication?.ToString(),
            endpoint.UserName, endpoint.Credential, endpoint.Token, endpoint.Mechanism?.ToString(),
            endpoint.ProtectionLevel?.ToString(), endpoint.ServicePrincipalName, endpoint.ServerUser,
            TrueOrNull(endpoint.Tls), List(endpoint.CACertificate),
            endpoint.ClientCertificate, endpoint.ServerName, endpoint.Format,
            endpoint.Compression?.ToString(), RetryEntry.CountOf(endpoint.Retry),
            RetryEntry.Write(endpoint.Retry),
            TrueOrNull(endpoint.HttpGet),
        ];
        JsonObject entry = [];
        foreach ((string key, JsonNode? value) in Known.Zip(values))
        {
            if (value is not null)
            {
                entry[key] = value;
            }
        }

        foreach ((string key, JsonNode? value) in older ?? [])
        {
            if (!Known.Contains(key, StringComparer.Ordinal))
            {
                entry[key] = value?.DeepClone();
            }
        }

        return entry;
    }

    private static JsonValue? TrueOrNull(bool value) => value ? JsonValue.Create(true) : null;

    private static JsonArray? List(IReadOnlyList<string> texts) =>
        texts.Count == 0 ? null : [.. texts.Select(text => (JsonNode?)text)];

    // Users also edit the file, so the types of values are checked.
    private readonly struct Reader(JsonObject entry)
    {
        public string? Text(string key) => entry[key] is not { } node ? null
            : node is JsonValue value && value.TryGetValue(out string? text) ? text
            : throw new FormatException($"'{key}' is not a string");

        public string[] Texts(string key) => entry[key] switch
        {
            null => [],
            JsonArray list => [.. list.Select(item => item is JsonValue value
                && value.TryGetValue(out string? text)
                    ? text
                    : throw new FormatException($"'{key}' is not a list of strings"))],
            _ => [Text(key)!],
        };

        public T? Value<T>(string key)
            where T : struct =>
            entry[key] is not { } node ? null
            : node is JsonValue value && value.TryGetValue(out T result) ? result
            : throw new FormatException(
                $"'{key}' is not a {(typeof(T) == typeof(bool) ? "bool" : "number")}");

        public T? Name<T>(string key)
            where T : struct, Enum =>
            Text(key) is not { } text ? null
            : Enum.TryParse(text, ignoreCase: true, out T value) && Enum.IsDefined(value)
                && !char.IsAsciiDigit(text[0]) ? value
            : throw new FormatException(
                $"'{key}' is not one of {string.Join(", ", Enum.GetNames<T>())}");
    }
}
