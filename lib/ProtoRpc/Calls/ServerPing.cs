using System.Globalization;
using Google.Protobuf;
using ProtoRpc.Calls.Headers;
using ProtoRpc.Calls.Native;
using ProtoRpc.Schema;

namespace ProtoRpc.Calls;

/// <summary>The ping of our own servers, the same on every transport:
/// what the server is and serves.</summary>
internal static class ServerPing
{
    // What a server says of itself ends on a terminal.
    private const int MaxTextLength = 100;
    private const int MaxServices = 10_000;

    private static readonly RpcServiceInfo BuiltIn =
        RpcSchema.FromDescriptors(ProtorpcTransportReflection.Descriptor).GetService("protorpc.BuiltIn");

    /// <summary>The method, which gRPC and HTTP have under its full name.</summary>
    public static RpcMethodInfo Info { get; } = BuiltIn.FindMethod("ping")!;

    /// <summary>The method with its messages as a schema has them:
    /// with the extensions that it declares.</summary>
    public static RpcMethodInfo InfoIn(RpcSchema? schema) =>
        schema?.FindMessage(Info.RequestType.FullName) is { } request
            && schema.FindMessage(Info.ReplyType.FullName) is { } reply
                ? Info.With(request, reply)
                : Info;

    /// <summary>The method as a server has it, without its interceptors. The extensions are those of the
    /// first schema that declares some, since a ping asks the server and not a service.</summary>
    /// <param name="host">The server.</param>
    /// <param name="isBuiltIn">Whether it is a method of the native protocol, and none of a service.</param>
    public static ServerMethod Create(ServerHost host, bool isBuiltIn)
    {
        RpcSchema? schema = host.Services.Select(service => service.Info.Schema)
            .FirstOrDefault(schema => schema.FindMessage(Info.RequestType.FullName) is not null);
        return new ServerMethod(
            InfoIn(schema), (context, request) => PingHandlers.ReplyAsync(host, context, request))
        {
            IsBuiltIn = isBuiltIn,
        };
    }

    /// <summary>The method as a server has it, with its interceptors.</summary>
    public static ServerMethod MethodOf(ServerHost host)
    {
        ServerMethod method = Create(host, isBuiltIn: false);
        method.Intercept(host.Options.Interceptors);
        return method;
    }

    /// <summary>The interface by which native clients that have no schema ping.</summary>
    public static Guid InterfaceId => BuiltIn.InterfaceId;

    /// <summary>A service of that interface, whose methods are the built-in ones.</summary>
    public static ServerService ServiceOf(ServerHost host)
    {
        ServerService service = new(BuiltIn, BuiltIn.InterfaceId);
        service.Complete(host.Options.Interceptors);
        return service;
    }

    /// <summary>What a server says of itself.</summary>
    public static RpcPingResponse ReplyOf(ServerHost host)
    {
        ServerFacts facts = new()
        {
            Product = nameof(ProtoRpc),
            Version = typeof(ServerPing).Assembly.GetName().Version?.ToString(3) ?? "",
            UptimeMs = (ulong)host.Uptime.TotalMilliseconds,
        };
        facts.Services.AddRange(host.Services.Select(s => s.Info.FullName));
        RpcPingResponse reply = new();
        reply.SetExtension(ProtorpcTransportExtensions.ServerFacts, facts);
        return reply;
    }

    /// <summary>A reply, with what the server says of itself if it is one of ours.</summary>
    /// <exception cref="RpcException">Internal: it is no reply to a ping.</exception>
    public static RpcPingResponse Read(ReadOnlySpan<byte> reply)
    {
        try
        {
            return RpcPingResponse.Parser
                .WithExtensionRegistry(NativeHeaders.Extensions)
                .ParseFrom(reply);
        }
        catch (InvalidProtocolBufferException e)
        {
            throw new RpcException(
                RpcStatusCode.Internal, $"The reply to {Info.FullName} cannot be read: {e.Message}", e)
            {
                ErrorId = "BadReply",
            };
        }
    }

    /// <summary>What a server said of itself; null when it is not one of ours.</summary>
    public static ServerFacts? FactsOf(RpcPingResponse? reply) =>
        reply?.GetExtension(ProtorpcTransportExtensions.ServerFacts);

    /// <summary>An answer, with what the server said of itself.</summary>
    public static RpcPingResult ResultOf(RpcEndpoint endpoint, TimeSpan latency, RpcPingResponse? reply)
    {
        ServerFacts? facts = FactsOf(reply);
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
            ErrorId = "ServiceNotServed",
            Endpoint = endpoint,
        };
    }
}
