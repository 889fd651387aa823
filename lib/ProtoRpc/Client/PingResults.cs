using System.Globalization;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Native;

namespace ProtoRpc.Client;

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
            RpcStatusCode.NotFound, $"The server at '{endpoint}' does not serve '{service}'. {known}.")
        {
            ErrorId = RpcErrorIds.ServiceNotServed,
            Endpoint = endpoint,
        };
    }
}
