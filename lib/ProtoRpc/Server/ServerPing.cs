using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Native;

namespace ProtoRpc.Server;

/// <summary>The ping of our own servers, the same on every transport:
/// what the server is and serves.</summary>
internal static class ServerPing
{
    /// <summary>The method as a server has it, without its interceptors. The extensions are those of the
    /// first schema that declares some, since a ping asks the server and not a service.</summary>
    /// <param name="host">The server.</param>
    /// <param name="isBuiltIn">Whether it is a method of the native protocol, and none of a service.</param>
    public static ServerMethod Create(ServerHost host, bool isBuiltIn)
    {
        RpcSchema? schema = host.Services.Select(service => service.Info.Schema)
            .FirstOrDefault(schema => schema.FindMessage(PingProtocol.Info.RequestType.FullName) is not null);
        return new ServerMethod(
            PingProtocol.InfoIn(schema),
            (context, request) => PingHandlers.ReplyAsync(host, context, request))
        {
            IsBuiltIn = isBuiltIn,
            IsAlwaysAdmitted = true,
        };
    }

    /// <summary>The method as a server has it, with its interceptors.</summary>
    public static ServerMethod MethodOf(ServerHost host) => host.Intercept(Create(host, isBuiltIn: false));

    /// <summary>A service of that interface, whose methods are the built-in ones.</summary>
    public static ServerService ServiceOf(ServerHost host) =>
        host.Intercept(new ServerService(BuiltInNames.Service, PingProtocol.InterfaceId));

    /// <summary>What a server says of itself.</summary>
    public static RpcPingResponse ReplyOf(ServerHost host)
    {
        ServerFacts facts = new()
        {
            Product = nameof(ProtoRpc),
            Version = typeof(ServerPing).Assembly.GetName().Version?.ToString(3) ?? "",
            UptimeMs = (ulong)Math.Ceiling(host.Uptime.TotalMilliseconds),
        };
        facts.Services.AddRange(host.Services.Select(s => s.Info.FullName));
        RpcPingResponse reply = new();
        reply.SetExtension(ProtorpcTransportExtensions.ServerFacts, facts);
        return reply;
    }
}
