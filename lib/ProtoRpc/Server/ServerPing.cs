using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Native;

namespace ProtoRpc.Server;

/// <summary>The ping of ProtoRpc's servers, the same on every transport: it returns product, version and
/// services.</summary>
internal static class ServerPing
{
    /// <summary>The method as a server has it, without its interceptors. The extensions are those of the
    /// first schema that declares some, since a ping asks the server and not a service.</summary>
    /// <param name="host">The server.</param>
    /// <param name="isBuiltIn">Whether the method is built into the native protocol, instead of part of a
    /// service.</param>
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

    /// <summary>The server's own reply.</summary>
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

/// <summary>Calls the handlers of pings, and merges their replies with the server's own.</summary>
internal static class PingHandlers
{
    /// <summary>The reply to a ping.</summary>
    /// <exception cref="RpcException">Internal: a handler returned another type. Also any exception that a
    /// handler throws.</exception>
    public static ValueTask<IMessage> ReplyAsync(
        ServerHost host, RpcServerCallContext context, IMessage request) =>
        host.Options.PingHandlers.Count == 0
            ? ValueTask.FromResult<IMessage>(ServerPing.ReplyOf(host))
            : MergeAsync(host, context, request);

    private static async ValueTask<IMessage> MergeAsync(
        ServerHost host, RpcServerCallContext context, IMessage request)
    {
        DynamicMessage merged = new(context.Method.ReplyType);
        bool isWithinHandler = context.RunsHandler;
        context.RunsHandler = true;
        foreach (RpcHandler handler in host.Options.PingHandlers)
        {
            // A ping handler may return null.
            if (await handler(context, request).ConfigureAwait(false) is { } reply)
            {
                merged.MergeFrom(Checked(reply).ToByteArray());
            }
        }

        context.RunsHandler = isWithinHandler;
        merged.MergeFrom(ServerPing.ReplyOf(host).ToByteArray());
        return merged;
    }

    private static IMessage Checked(IMessage reply)
    {
        string wanted = PingProtocol.Info.ReplyType.FullName;
        return reply.Descriptor.FullName == wanted ? reply : throw new RpcException(
            RpcStatusCode.Internal,
            $"A ping handler returned the message {reply.Descriptor.FullName} and not {wanted}.");
    }
}
