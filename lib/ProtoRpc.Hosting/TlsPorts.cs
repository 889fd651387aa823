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
        Place first = port.Bind(host, options, service);
        ports[(endpoint.Host, first.Endpoint.Port)] = port;
        return first;
    }

    private sealed class Port(RpcEndpoint wanted, HttpProtocols protocols)
    {
        private readonly Lock _gate = new();
        private readonly List<Place> _places = [];
        private volatile RequestDelegate? _http;
        private volatile RequestDelegate? _grpc;
        private KestrelEndpoint? _kestrel;

        // What replaced the certificate that it was bound with.
        private volatile SslStreamCertificateContext? _shown;
        private Task? _stopped;

        public Place Bind(
            ServerHost host, HttpServerOptions options, Func<RpcEndpoint, RequestDelegate> service)
        {
            _kestrel = KestrelEndpoint.Start(
                wanted,
                host,
                protocols,
                ServerTls.Of(wanted, host.Options, options, () => _shown),
                bound =>
                {
                    Handle(bound, service(bound));
                    return HandleAsync;
                });
            Place first = new(this, _kestrel.Endpoint);
            _places.Add(first);
            return first;
        }

        /// <summary>Serves another endpoint at the same address; null when it is one of the same kind,
        /// when the two have no version of HTTP in common, or when the port is closed.</summary>
        public Place? TryJoin(
            RpcEndpoint endpoint, HttpProtocols other, Func<RpcEndpoint, RequestDelegate> service)
        {
            lock (_gate)
            {
                if (_stopped is not null || (endpoint.IsGrpc ? _grpc : _http) is not null
                    || other != protocols)
                {
                    return null;
                }

                Handle(endpoint, service(endpoint));
                Place place = new(this, endpoint);
                _places.Add(place);
                return place;
            }
        }

        /// <summary>Takes an endpoint from the port. The last one closes it.</summary>
        public Task StopAsync(Place place, TimeSpan drain)
        {
            lock (_gate)
            {
                if (_places is [Place last])
                {
                    return last == place ? _stopped ??= _kestrel!.StopAsync(drain) : Task.CompletedTask;
                }

                if (_places.Remove(place))
                {
                    Handle(place.Endpoint, null);
                }

                return Task.CompletedTask;
            }
        }

        /// <summary>The port for the endpoint that counts its connections; null for the other one.</summary>
        public KestrelEndpoint? CountedBy(Place place)
        {
            lock (_gate)
            {
                return _places[0] == place ? _kestrel : null;
            }
        }

        public void Show(SslStreamCertificateContext certificate) => _shown = certificate;

        private void Handle(RpcEndpoint endpoint, RequestDelegate? handle)
        {
            if (endpoint.IsGrpc)
            {
                _grpc = handle;
            }
            else
            {
                _http = handle;
            }
        }

        private Task HandleAsync(HttpContext http)
        {
            RequestDelegate handle = GrpcService.IsGrpc(http.Request) ? _grpc ?? _http! : _http ?? _grpc!;
            return handle(http);
        }
    }

    private sealed class Place(Port port, RpcEndpoint endpoint) : IServedEndpoint
    {
        public RpcEndpoint Endpoint => endpoint;

        public int Connections => port.CountedBy(this)?.Connections ?? 0;

        public long Accepted => port.CountedBy(this)?.Accepted ?? 0;

        public Task StopAsync(TimeSpan drain) => port.StopAsync(this, drain);

        public void Show(SslStreamCertificateContext certificate) => port.Show(certificate);
    }
}
