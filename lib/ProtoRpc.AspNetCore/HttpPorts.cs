using System.Net;
using System.Net.Security;
using System.Runtime.CompilerServices;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using ProtoRpc.AspNetCore.Grpc;
using ProtoRpc.Server;

namespace ProtoRpc.AspNetCore;

/// <summary>The handlers of an endpoint's requests.</summary>
/// <param name="Http">Creates the handler of its requests.</param>
/// <param name="Grpc">Creates the handler of gRPC requests on an HTTP endpoint; null for none.</param>
/// <param name="HasHttp2">Whether requests can use HTTP/2.</param>
internal sealed record PortService(
    Func<RpcEndpoint, RequestDelegate> Http, Func<RpcEndpoint, RequestDelegate>? Grpc = null,
    bool HasHttp2 = true);

/// <summary>The ports of servers. HTTP and gRPC can share an address, because requests differ in
/// their media type, and connections in their version of HTTP.</summary>
internal sealed class HttpPorts
{
    private readonly ConditionalWeakTable<ServerHost, Dictionary<(string, int, bool), Port>> _ports = [];

    /// <summary>Binds an endpoint, or joins the other one at its address.</summary>
    public IServedEndpoint Serve(
        RpcEndpoint endpoint, ServerHost host, HttpServerOptions options, PortService service)
    {
        Dictionary<(string, int, bool), Port> ports = _ports.GetOrCreateValue(host);
        if (ports.TryGetValue(KeyOf(endpoint, endpoint.Port), out Port? other)
            && other.TryJoin(endpoint, service) is { } joined)
        {
            return joined;
        }

        Port port = new(endpoint, service);
        Place first = port.Bind(host, options);
        if (endpoint.Kind.HasPort)
        {
            ports[KeyOf(endpoint, first.Endpoint.Port)] = port;
        }

        return first;
    }

    // Hosts are compared as a listener does: without regard to case, and addresses by value.
    private static (string Host, int Port, bool IsTls) KeyOf(RpcEndpoint endpoint, int port) => (
        endpoint.Host is "+" ? "*"
            : IPAddress.TryParse(endpoint.Host, out IPAddress? address) ? address.ToString()
            : endpoint.Host.ToUpperInvariant(),
        port, endpoint.IsTls);

    private sealed class Port(RpcEndpoint wanted, PortService service)
    {
        private readonly Lock _gate = new();
        private readonly List<Place> _places = [];
        private volatile RequestDelegate? _http;
        private volatile RequestDelegate? _grpc;

        // Answers gRPC requests as long as the port has no gRPC endpoint.
        private volatile RequestDelegate? _grpcOfHttp;
        private KestrelEndpoint? _kestrel;

        // Whether new connections without TLS can use HTTP/1.1: not if all endpoints are gRPC.
        private volatile bool _hasHttp1 = wanted.IsTls || !wanted.IsGrpc;

        // The certificate that replaced the one at binding.
        private volatile SslStreamCertificateContext? _shown;
        private Task? _stopped;

        private HttpProtocols Versions => !service.HasHttp2 ? HttpProtocols.Http1
            : _hasHttp1 ? HttpProtocols.Http1AndHttp2
            : HttpProtocols.Http2;

        public Place Bind(ServerHost host, HttpServerOptions options)
        {
            _kestrel = KestrelEndpoint.Start(
                wanted,
                host,
                () => Versions,
                ServerTls.CreateOptions(wanted, host.Options, options, () => _shown),
                bound =>
                {
                    Handle(bound, service);
                    return HandleAsync;
                });
            Place first = new(this, _kestrel.Endpoint);
            _places.Add(first);
            return first;
        }

        /// <summary>Serves another endpoint at the same address; null if it is of the same kind, if only one
        /// of the two can use HTTP/2, or if the port is closed.</summary>
        public Place? TryJoin(RpcEndpoint endpoint, PortService other)
        {
            lock (_gate)
            {
                if (_stopped is not null || (endpoint.IsGrpc ? _grpc : _http) is not null
                    || other.HasHttp2 != service.HasHttp2)
                {
                    return null;
                }

                Handle(endpoint, other);
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

        private void Handle(RpcEndpoint endpoint, PortService? handler)
        {
            if (endpoint.IsGrpc)
            {
                _grpc = handler?.Http(endpoint);
            }
            else
            {
                _grpcOfHttp = handler?.Grpc?.Invoke(endpoint);
                _http = handler?.Http(endpoint);
                _hasHttp1 = wanted.IsTls || handler is not null;
            }
        }

        private Task HandleAsync(HttpContext http)
        {
            RequestDelegate handle = GrpcService.IsGrpc(http.Request)
                ? _grpc ?? _grpcOfHttp ?? _http!
                : _http ?? _grpc!;
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
