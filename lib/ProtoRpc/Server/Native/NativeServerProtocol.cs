using System.Net.Security;
using ProtoRpc.Protocols.Native;
using ProtoRpc.Server;
using ProtoRpc.Server.Calls;
using ProtoRpc.Server.Native;

[assembly: ServerProtocol<NativeServerProtocol>]

namespace ProtoRpc.Server.Native;

/// <summary>Serves methods over DCE/RPC: each service is an interface of the endpoint.</summary>
internal sealed class NativeServerProtocol : IServerProtocol
{
    public bool Serves(EndpointKindAttribute kind) => kind.Protocol == EndpointProtocol.Native;

    public IServedEndpoint Bind(RpcEndpoint endpoint, ServerHost host)
    {
        INativeListener? listener = null;
        List<Guid> served = [];
        try
        {
            foreach (ServerService service in host.Services)
            {
                // With port 0 the first service finds the port, and the others join it.
                listener = Serve(listener?.Endpoint ?? endpoint, service, host);
                served.Add(service.InterfaceId);
            }

            if (ServePing(listener!.Endpoint, host))
            {
                served.Add(PingProtocol.InterfaceId);
            }
        }
        catch when (listener is not null)
        {
            new NativeEndpoint(listener, served).StopAsync(TimeSpan.Zero).GetAwaiter().GetResult();
            throw;
        }

        return new NativeEndpoint(listener!, served);
    }

    private static INativeListener Serve(RpcEndpoint endpoint, ServerService service, ServerHost host)
    {
        BuiltInMethods builtIns = new(host, service);
        ExecInterface exec = new(
            service.InterfaceId,
            call => ServerCall.RunAsync(NativeCallProtocol.Begin(host, service, builtIns, call)))
        {
            Security = host.Options.Security,
            Monitor = host.Monitor,
            Trace = host.Options.Trace,
            Name = service.Info.FullName,
            Memory = host.Memory,
        };
        return INativeListener.Serve(
            endpoint,
            exec,
            host.Options.Limits,
            host.Options.UseTls && endpoint.Has(EndpointFeatures.OptionalTls)
                ? host.Options.Certificate
                : null,
            host.Options.CertificateChain);
    }

    // Clients call the ping interface without a schema. If an endpoint has several listeners, the first one
    // replies.
    private static bool ServePing(RpcEndpoint endpoint, ServerHost host)
    {
        try
        {
            Serve(endpoint, ServerPing.ServiceOf(host), host);
            return true;
        }
        catch (RpcException e) when (e.ErrorId == RpcErrorIds.InterfaceInUse)
        {
            return false;
        }
    }
}

/// <summary>A bound native endpoint with the interfaces of one server.</summary>
internal sealed class NativeEndpoint(INativeListener listener, IReadOnlyList<Guid> interfaces)
    : IServedEndpoint
{
    public RpcEndpoint Endpoint => listener.Endpoint;

    public int Connections => listener.ConnectionCount;

    public long Accepted => listener.AcceptedCount;

    public Task StopAsync(TimeSpan drain) =>
        Task.WhenAll(interfaces.Select(id => listener.StopServingAsync(id, drain).AsTask()));

    public void Show(SslStreamCertificateContext certificate) => listener.Show(certificate);
}
