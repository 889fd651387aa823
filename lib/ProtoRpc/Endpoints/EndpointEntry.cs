using System.Text.Json.Nodes;

namespace ProtoRpc.Endpoints;

/// <summary>One named endpoint as JSON.</summary>
internal static class EndpointEntry
{
    private static readonly string[] Known =
    [
        "endpoint", "schema", "service", "interfaceId", "tags", "authentication", "userName", "credential",
        "token", "mechanism", "protectionLevel", "servicePrincipalName", "serverUser",
        "tls", "caCertificate", "clientCertificate",
        "serverName", "format", "compression", "retryCount",
    ];

    /// <summary>Checks what is about to be written.</summary>
    /// <exception cref="RpcException">InvalidArgument: a secret that is no reference, or a format that there
    /// is not.</exception>
    public static void Check(RpcNamedEndpoint endpoint)
    {
        if (endpoint.Credential is { } credential)
        {
            bool needsUser = SecretReference.Parse(credential, "-Credential").IsVariable;
            if (needsUser && endpoint.UserName is null)
            {
                throw new RpcException(
                    RpcStatusCode.InvalidArgument,
                    "An environment variable holds only the password. Set "
                    + $"{nameof(RpcNamedEndpoint)}.{nameof(RpcNamedEndpoint.UserName)} also.")
                {
                    ErrorId = RpcErrorIds.InvalidCredential,
                };
            }
        }

        if (endpoint.Token is { } token)
        {
            SecretReference.Parse(token, "-Token");
        }

        if (endpoint.Format is { } format && !MessageFormats.TryFind(format, out _))
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument, $"'{TerminalText.Neutralize(format)}' is not a format.");
        }
    }

    /// <summary>Reads an entry.</summary>
    /// <exception cref="RpcException">FailedPrecondition: what is wrong, with name and key.</exception>
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
                RetryCount = reader.Value<int>("retryCount"),
            };
            if (endpoint.RetryCount is < 0 or > 100)
            {
                throw new FormatException("'retryCount' is not in 0..100");
            }

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
    /// <param name="older">The entry that it replaces, of which unknown members are kept; null for
    /// none.</param>
    public static JsonObject Write(RpcNamedEndpoint endpoint, JsonObject? older)
    {
        JsonNode?[] values =
        [
            endpoint.Endpoint.ToString(), List(endpoint.Schema), endpoint.Service,
            endpoint.InterfaceId?.ToString(), List(endpoint.Tag), endpoint.Authentication?.ToString(),
            endpoint.UserName, endpoint.Credential, endpoint.Token, endpoint.Mechanism?.ToString(),
            endpoint.ProtectionLevel?.ToString(), endpoint.ServicePrincipalName, endpoint.ServerUser,
            endpoint.Tls ? JsonValue.Create(true) : null, List(endpoint.CACertificate),
            endpoint.ClientCertificate, endpoint.ServerName, endpoint.Format,
            endpoint.Compression?.ToString(), endpoint.RetryCount,
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

    private static JsonArray? List(IReadOnlyList<string> texts) =>
        texts.Count == 0 ? null : [.. texts.Select(text => (JsonNode?)text)];

    // Files are also written by hand.
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
