using System.Net.Security;
using System.Runtime.CompilerServices;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.AspNetCore.Server.Kestrel.Https;
using ProtoRpc.AspNetCore.Grpc;
using ProtoRpc.Server;
using ProtoRpc.Transports.Http;
using ProtoRpc.Transports.Tls;

namespace ProtoRpc.AspNetCore;

/// <summary>The encryption of endpoints on Kestrel.</summary>
internal static class ServerTls
{
    /// <summary>Refuses endpoints that cannot be encrypted though they are,
    /// and those that should be and are not.</summary>
    /// <exception cref="RpcException">FailedPrecondition.</exception>
    public static void Check(RpcEndpoint endpoint, RpcServerOptions server, HttpServerOptions options)
    {
        if (endpoint.IsTls && server.Certificate is not { HasPrivateKey: true })
        {
            throw Refused(
                endpoint, "it needs a certificate with its private key", RpcErrorIds.MissingCertificate,
                $"Give the certificate, or use {endpoint.Kind.SchemeWith(tls: false)}:// on 127.0.0.1.");
        }

        if (!endpoint.IsTls
            && !endpoint.IsLocalOnly
            && !HttpTransport.IsLoopback(endpoint.Host)
            && !options.AllowUnencrypted)
        {
            throw Refused(
                endpoint, "other machines can reach it, and its traffic would be readable on the network",
                RpcErrorIds.UnencryptedEndpoint,
                $"Use {endpoint.Kind.SchemeWith(tls: true)}:// with a certificate, or 127.0.0.1, or allow "
                + "unencrypted traffic.");
        }
    }

    /// <summary>How an endpoint is encrypted; null when it is not.</summary>
    /// <param name="endpoint">The endpoint.</param>
    /// <param name="server">Has the certificate that it begins with.</param>
    /// <param name="options">Whether callers show certificates.</param>
    /// <param name="replaced">Gives, for each connection, the certificate that replaced the first one; null
    /// as long as there is none.</param>
    public static HttpsConnectionAdapterOptions? CreateOptions(
        RpcEndpoint endpoint, RpcServerOptions server, HttpServerOptions options,
        Func<SslStreamCertificateContext?> replaced) =>
        endpoint.IsTls
            ? new HttpsConnectionAdapterOptions
            {
                ServerCertificate = server.Certificate,
                ServerCertificateChain = server.CertificateChain,
                SslProtocols = TlsVersions.Spoken,
                OnAuthenticate = (_, connection) =>
                {
                    Replace(connection, replaced());
                    connection.CertificateChainPolicy = CallerChain.NewPolicy();
                },
                ClientCertificateMode = options.Security.AcceptsCertificates
                    ? ClientCertificateMode.AllowCertificate
                    : ClientCertificateMode.NoCertificate,
                // HttpAuthentication decides about the certificate, because a caller that it rejects gets a
                // status and a reason.
                ClientCertificateValidation = static (_, _, _) => true,
            }
            : null;

    private static void Replace(
        SslServerAuthenticationOptions connection, SslStreamCertificateContext? certificate)
    {
        if (certificate is not null)
        {
            connection.ServerCertificate = null;
            connection.ServerCertificateContext = certificate;
        }
    }

    private static RpcException Refused(
        RpcEndpoint endpoint, string why, string errorId, string remedy) => new(
        RpcStatusCode.FailedPrecondition, errorId,
        $"Cannot listen on '{endpoint}': {why}. {remedy}", endpoint);
}

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
                ServerTls.CreateOptions(wanted, host.Options, options, () => _shown),
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
