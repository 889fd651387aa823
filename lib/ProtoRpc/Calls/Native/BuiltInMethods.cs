using Google.Protobuf;
using ProtoRpc.Calls.Headers;

namespace ProtoRpc.Calls.Native;

/// <summary>The methods that every service of the native protocol has; their names start with a dot.</summary>
internal static class BuiltInMethods
{
    public const string Ping = ".ping";
    public const string Close = ".close";

    public static IMessage Invoke(ServerHost host, string name) => name switch
    {
        Ping => PingReply(host),

        // Sent by the original's clients when they hold a session; no state is kept here that it could end.
        Close => new RpcVoid(),
        _ => throw new RpcException(RpcStatusCode.Unimplemented, $"Method '{name}' not found."),
    };

    private static RpcPingResponse PingReply(ServerHost host)
    {
        ServerFacts facts = new()
        {
            Product = nameof(ProtoRpc),
            Version = typeof(BuiltInMethods).Assembly.GetName().Version?.ToString(3) ?? "",
            UptimeMs = (ulong)host.Uptime.TotalMilliseconds,
        };
        facts.Services.AddRange(host.Services.Select(s => s.Info.FullName));
        RpcPingResponse reply = new();
        reply.SetExtension(ProtorpcTransportExtensions.ServerFacts, facts);
        return reply;
    }
}
