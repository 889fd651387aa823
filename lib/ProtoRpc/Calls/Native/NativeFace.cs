using ProtoRpc.Transports;

namespace ProtoRpc.Calls.Native;

/// <summary>Serves methods over DCE/RPC: each service is an interface of the endpoint.</summary>
internal sealed class NativeFace : IServerFace
{
    public bool Serves(RpcTransport transport) =>
        transport is RpcTransport.Tcp or RpcTransport.NamedPipe or RpcTransport.Local;

    public IServedEndpoint Bind(RpcEndpoint endpoint, ServerHost host)
    {
        NativeListener? listener = null;
        List<Guid> served = [];
        try
        {
            foreach (ServerService service in host.Services)
            {
                NativeDispatcher dispatcher = new(host, service, new BuiltInMethods(host, service));
                ExecInterface exec = new(service.InterfaceId, dispatcher.HandleAsync)
                {
                    Security = host.Options.Security,
                };

                // With port 0 the first service finds the port, and the others join it.
                listener = NativeListener.Serve(
                    listener?.Endpoint ?? endpoint,
                    exec,
                    host.Options.Limits,
                    endpoint.Transport == RpcTransport.Tcp ? host.Options.TlsCertificate : null,
                    host.Options.TlsCertificateChain);
                served.Add(service.InterfaceId);
            }
        }
        catch when (listener is not null)
        {
            new Served(listener, served).StopAsync(TimeSpan.Zero).GetAwaiter().GetResult();
            throw;
        }

        return new Served(listener!, served);
    }

    private sealed class Served(NativeListener listener, List<Guid> interfaces) : IServedEndpoint
    {
        public RpcEndpoint Endpoint => listener.Endpoint;

        public int Connections => listener.ConnectionCount;

        public long Accepted => listener.AcceptedCount;

        public Task StopAsync(TimeSpan drain) =>
            Task.WhenAll(interfaces.Select(id => listener.StopServingAsync(id, drain).AsTask()));
    }
}
