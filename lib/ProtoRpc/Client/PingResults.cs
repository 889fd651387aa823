using System.Globalization;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Native;

namespace ProtoRpc.Client;

/// <summary>What a client makes of the replies to its pings.</summary>
internal static class PingResults
{
    // What a server says of itself ends on a terminal.
    private const int MaxTextLength = 100;
    private const int MaxServices = 10_000;

    /// <summary>Reads the reply to a ping.</summary>
    /// <exception cref="RpcException">Internal: it is none.</exception>
    public static RpcPingResponse Read(ReplyBody body) =>
        PingProtocol.Read(ReplyParser.ToBinary(PingProtocol.Info, body, RpcLimits.Default).Span);

    /// <summary>An answer, with what the server said of itself.</summary>
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

    /// <summary>A server's text in one line, without what would control a terminal.</summary>
    public static string Plain(string text) => string.Concat(text.Take(MaxTextLength).Select(
        c => char.IsControl(c) || char.GetUnicodeCategory(c) is UnicodeCategory.Format
            or UnicodeCategory.LineSeparator
            or UnicodeCategory.ParagraphSeparator ? '\uFFFD' : c));

    /// <summary>What of a server's names are names of services.</summary>
    public static string[] Names(IEnumerable<string> services) =>
    [
        .. services
            .Where(name => name.Length > 0 && name.All(c => char.IsAsciiLetterOrDigit(c) || c is '.' or '_'))
            .Take(MaxServices),
    ];

    /// <summary>Fails when the server says which services it has,
    /// and the wanted one is not among them.</summary>
    /// <exception cref="RpcException">NotFound.</exception>
    public static RpcPingResult Require(this RpcPingResult result, string? service) =>
        service is null || result.Services.Count == 0 || result.Services.Contains(service)
            ? result
            : throw NotServed(result.Endpoint, service, result.Services);

    /// <summary>The server answers, and does not have the service.</summary>
    public static RpcException NotServed(
        RpcEndpoint endpoint, string service, IReadOnlyCollection<string> services)
    {
        const int Shown = 10;
        string known = services.Count == 0 ? "Check the name of the service"
            : $"It serves {string.Join(", ", services.Take(Shown))}{(services.Count > Shown ? ", ..." : "")}";
        return new RpcException(
            RpcStatusCode.NotFound, $"The server at '{endpoint}' does not serve '{service}'. {known}.")
        {
            ErrorId = RpcErrorIds.ServiceNotServed,
            Endpoint = endpoint,
        };
    }
}
