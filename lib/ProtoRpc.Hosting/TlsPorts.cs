using System.Net.Security;
using System.Runtime.CompilerServices;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using ProtoRpc.Hosting.Grpc;
using ProtoRpc.Server;

namespace ProtoRpc.Hosting;

/// <summary>The TLS ports of servers. HTTP and gRPC can share an address, because requests differ in
/// their media type.</summary>
internal sealed class TlsPorts
{
    private readonly ConditionalWeakTable<ServerHost, Dictionary<(string Host, int Port), Port>> _ports = [];

    /// <summary>Binds an endpoint, or joins the other one at its address.</summary>
    public IServedEndpoint Serve(
        RpcEndpoint endpoint,
        ServerHost host,
        HttpServerOptions options,
        HttpProtocols protocols,
        Func<RpcEndpoint, RequestDelegate> service)
    {
        Dictionary<(string, int), Port> ports = _ports.GetOrCreateValue(host);
        if (ports.TryGetValue((endpoint.Host, endpoint.Port), out Port? other)
            && other.TryJoin(endpoint, protocols, service) is { } joined)
        {
            return joined;
        }

        Port port = new(endpoint, protocols);
        port.Bind(host.Options, options, service);
        ports[(endpoint.Host, port.Endpoint.Port)] = port;
        return port;
    }

    private sealed class Port(RpcEndpoint wanted, HttpProtocols protocols) : IServedEndpoint
    {
        private KestrelEndpoint? _kestrel;
        private RequestDelegate? _http;
        private RequestDelegate? _grpc;

        // What replaced the certificate that it was bound with.
        private volatile SslStreamCertificateContext? _shown;
        private readonly Lock _gate = new();
        private Task? _stopped;

        public RpcEndpoint Endpoint => _kestrel!.Endpoint;

        public int Connections => _kestrel!.Connections;

        public long Accepted => _kestrel!.Accepted;

        public void Bind(
            RpcServerOptions server, HttpServerOptions options, Func<RpcEndpoint, RequestDelegate> service) =>
            _kestrel = KestrelEndpoint.Start(
                wanted,
                server.Limits,
                protocols,
                ServerTls.Of(wanted, server, options, () => _shown),
                bound =>
                {
                    Add(bound, service);
                    return HandleAsync;
                });

        /// <summary>Serves another endpoint at the same address; null when it is one of the same kind,
        /// or when the two have no version of HTTP in common.</summary>
        public IServedEndpoint? TryJoin(
            RpcEndpoint endpoint, HttpProtocols other, Func<RpcEndpoint, RequestDelegate> service)
        {
            if ((endpoint.IsGrpc ? _grpc : _http) is not null || other != protocols)
            {
                return null;
            }

            Add(endpoint, service);
            return new Joined(this, endpoint);
        }

        // Both endpoints of a port stop together, for they are of one server.
        public Task StopAsync(TimeSpan drain)
        {
            lock (_gate)
            {
                return _stopped ??= _kestrel!.StopAsync(drain);
            }
        }

        public void Show(SslStreamCertificateContext certificate) => _shown = certificate;

        private void Add(RpcEndpoint endpoint, Func<RpcEndpoint, RequestDelegate> service)
        {
            if (endpoint.IsGrpc)
            {
                _grpc = service(endpoint);
            }
            else
            {
                _http = service(endpoint);
            }
        }

        private Task HandleAsync(HttpContext http)
        {
            RequestDelegate handle = GrpcService.IsGrpc(http.Request) ? _grpc ?? _http! : _http ?? _grpc!;
            return handle(http);
        }
    }

    // Its connections are counted at the other one.
    private sealed class Joined(Port port, RpcEndpoint endpoint) : IServedEndpoint
    {
        public RpcEndpoint Endpoint => endpoint;

        public int Connections => 0;

        public long Accepted => 0;

        public Task StopAsync(TimeSpan drain) => port.StopAsync(drain);

        public void Show(SslStreamCertificateContext certificate) => port.Show(certificate);
    }
}
