using ProtoRpc.Client;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Native;

namespace ProtoRpc;

/// <summary>The answer to a ping.</summary>
/// <param name="Endpoint">The endpoint.</param>
/// <param name="Latency">The time from sending to the reply, without connecting.</param>
/// <param name="Product">The server's product; empty if the server does not report it.</param>
/// <param name="Version">The product's version, or empty.</param>
/// <param name="Services">The full names of the endpoint's services, if the server reports them.</param>
/// <param name="Uptime">The time since the listener started, if the server reports it.</param>
public sealed record RpcPingResult(
    RpcEndpoint Endpoint, TimeSpan Latency, string Product,
    string Version, IReadOnlyList<string> Services, TimeSpan? Uptime)
{
    /// <inheritdoc cref="RpcPingResult" path="/param[@name='Product']"/>
    public string Product { get; init; } = TerminalText.Neutralize(Product);

    /// <inheritdoc cref="RpcPingResult" path="/param[@name='Version']"/>
    public string Version { get; init; } = TerminalText.Neutralize(Version);

    /// <inheritdoc cref="RpcPingResult" path="/param[@name='Services']"/>
    public IReadOnlyList<string> Services { get; init; } =
        new ReadableList<string>([.. Services.Select(TerminalText.Neutralize)]);

    /// <summary>The received RpcPingResponse, whose fields are the extensions that the client's schema
    /// declares; null if the server does not support the native protocol's ping.</summary>
    public DynamicMessage? Reply { get; init; }

    /// <summary>Why the endpoint did not answer; null if it answered. A ping of a client throws the error.
    /// Test-RpcEndpoint returns it, with <see cref="Latency"/> as the time until the failure.</summary>
    public RpcException? Error { get; init; }

    /// <summary>Whether the endpoint answered as a listener of ProtoRpc, which reports its product, version,
    /// services and uptime.</summary>
    public bool IsProtoRpc => Uptime is not null;

    internal RpcPingResponse? Received { get; init; }

    /// <summary>The status with which the server rejected the caller; null if it did not.</summary>
    public RpcStatusCode? Refusal { get; init; }

    /// <summary>The reply of a gRPC server's health service, such as <c>Serving</c>;
    /// empty without a health service.</summary>
    public string Health { get; init; } = "";

    /// <summary>The differences between the schemas of client and server that make calls fail or lose
    /// fields; empty if there is no difference, or if the server does not send its schema.</summary>
    public IReadOnlyList<string> SchemaDifferences
    {
        get;
        init => field = new ReadableList<string>([.. value]);
    }
    = new ReadableList<string>([]);
}

/// <summary>The options of a ping.</summary>
public sealed record RpcPingOptions
{
    /// <summary>The full name of the service that the server must serve, or its bare name if the schema
    /// contains it; null for the service of the client's options.</summary>
    public string? Service { get; init; }

    /// <summary>How long the caller waits; null for the limit's call timeout.</summary>
    public TimeSpan? Timeout { get; init; }

    /// <summary>The request for the server's ping handlers, or null: a
    /// <c>google.protobuf.rpc_messages.RpcPingRequest</c>, dynamic or generated, with extensions. With a
    /// request, the ping fails if the server does not support pings, even if it is reachable.</summary>
    public IMessage? Request { get; init; }
}

/// <summary>Converts the replies to a client's pings to results.</summary>
internal static class PingResults
{
    // A limit for the server's texts, because they are shown in a terminal.
    private const int MaxTextLength = 100;
    private const int MaxServices = 10_000;

    /// <summary>Reads the reply to a ping.</summary>
    /// <exception cref="RpcException">Internal: the bytes are not a reply to a ping.</exception>
    public static RpcPingResponse Read(ReplyBody body) =>
        PingProtocol.Read(ReplyParser.ToBinary(PingProtocol.Info, body, RpcLimits.Default).Span);

    /// <summary>The result of an answered ping, with the server's reply.</summary>
    public static RpcPingResult ResultOf(RpcEndpoint endpoint, TimeSpan latency, RpcPingResponse? reply)
    {
        ServerFacts? facts = PingProtocol.FactsOf(reply);
        return new RpcPingResult(
            endpoint,
            latency,
            Plain(facts?.Product ?? ""),
            Plain(facts?.Version ?? ""),
            facts is null ? Array.Empty<string>() : Names(facts.Services),
            facts is null ? null : TimeSpan.FromMilliseconds(facts.UptimeMs))
        {
            Received = reply,
        };
    }

    /// <summary>A server's text in one line, without control characters.</summary>
    public static string Plain(string text) => string.Concat(text.Take(MaxTextLength).Select(
        c => char.IsControl(c) || char.GetUnicodeCategory(c) is UnicodeCategory.Format
            or UnicodeCategory.LineSeparator
            or UnicodeCategory.ParagraphSeparator ? '\uFFFD' : c));

    /// <summary>The names in a server's list that are valid names of services.</summary>
    public static string[] Names(IEnumerable<string> services) =>
    [
        .. services
            .Where(name => name.Length > 0 && name.All(c => char.IsAsciiLetterOrDigit(c) || c is '.' or '_'))
            .Take(MaxServices),
    ];

    /// <summary>Checks that the server serves a service, if the server lists its services.</summary>
    /// <exception cref="RpcException">NotFound: the service is not in the list.</exception>
    public static RpcPingResult Require(this RpcPingResult result, string? service) =>
        service is null || result.Services.Count == 0 || result.Services.Contains(service)
            ? result
            : throw NotServed(result.Endpoint, service, result.Services);

    /// <summary>The error for a server that answers, but does not serve the service.</summary>
    public static RpcException NotServed(
        RpcEndpoint endpoint, string service, IReadOnlyCollection<string> services)
    {
        const int Shown = 10;
        string known = services.Count == 0 ? "Check the name of the service"
            : $"It serves {string.Join(", ", services.Take(Shown))}{(services.Count > Shown ? ", ..." : "")}";
        return new RpcException(
            RpcStatusCode.NotFound, RpcErrorIds.ServiceNotServed,
            $"The server at '{endpoint}' does not serve '{service}'. {known}.", endpoint);
    }
}
