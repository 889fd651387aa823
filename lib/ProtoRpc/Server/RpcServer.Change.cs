using System.Net.Security;
using System.Security.Cryptography.X509Certificates;
using ProtoRpc.Server;

namespace ProtoRpc;

// Changes a listening server.
public sealed partial class RpcServer
{
    /// <summary>Replaces handlers, interceptors, endpoints and the certificate while the server listens.
    /// Either all given parts are replaced or none. Running calls keep what they began with; later calls use
    /// the new parts.</summary>
    /// <param name="change">The replacements.</param>
    /// <returns>Completes when the removed endpoints are closed.</returns>
    /// <exception cref="RpcException">NotFound: the method of a handler does not exist. InvalidArgument: a
    /// handler does not fit its method, or the certificate cannot be used. FailedPrecondition: the server has
    /// not started, or has stopped, or an endpoint would serve anonymous callers although the server checks
    /// callers on others. Also if an endpoint cannot be bound.</exception>
    public Task ChangeAsync(RpcServerChange change)
    {
        ArgumentNullException.ThrowIfNull(change);
        if (change.Endpoints is { Count: 0 })
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument, "A server keeps at least one endpoint; stop it to close all.");
        }

        ServerHost host = _host is { } open && !Completion.IsCompleted ? open : throw new RpcException(
            RpcStatusCode.FailedPrecondition, "The server does not listen. Start it before you change it.");
        SslStreamCertificateContext? shown = ReplacedCertificate.Of(change);
        lock (_changing)
        {
            (X509Certificate2?, X509Certificate2Collection?) before =
                (_options.Certificate, _options.CertificateChain);
            IReadOnlyList<IRpcInterceptor> interceptors =
                change.Interceptors is { } given ? [.. given] : host.Interceptors;
            Dictionary<ServerService, Dictionary<string, RpcMethodHandler>>? handlers =
                change.Handlers is null ? null : ByService(change.Handlers);
            Dictionary<ServerService, Dictionary<string, ServerMethod>> methods = _services.ToDictionary(
                service => service, service => service.Prepare(handlers?[service], interceptors));
            IReadOnlyList<IServerFace> faces = change.Faces ?? _faces;
            RequireChecks(change.Endpoints ?? Endpoints, faces, interceptors);
            try
            {
                if (shown is not null)
                {
                    // Endpoints that are bound from now on use the new certificate.
                    (_options.Certificate, _options.CertificateChain) =
                        (change.Certificate, change.CertificateChain);
                }

                return _endpoints.ChangeAsync(
                    change.Endpoints, _options.UseTls, _options.Certificate,
                    endpoint => FaceOf(endpoint, faces).Bind(endpoint, host),
                    () =>
                    {
                        _faces = faces;
                        if (change.Handlers is not null || change.Interceptors is not null)
                        {
                            host.Publish(methods, interceptors);
                        }
                    },
                    shown,
                    change.DrainTimeout);
            }
            catch
            {
                (_options.Certificate, _options.CertificateChain) = before;
                throw;
            }
        }
    }

    private Dictionary<ServerService, Dictionary<string, RpcMethodHandler>> ByService(
        IReadOnlyDictionary<string, RpcMethodHandler> handlers)
    {
        Dictionary<ServerService, Dictionary<string, RpcMethodHandler>> byService =
            _services.ToDictionary(service => service, _ => new Dictionary<string, RpcMethodHandler>());
        foreach ((string name, RpcMethodHandler handler) in handlers)
        {
            ArgumentNullException.ThrowIfNull(handler);
            (ServerService service, RpcMethodInfo method) = FindMethod(name);
            if (!byService[service].TryAdd(method.Name, handler))
            {
                throw new RpcException(
                    RpcStatusCode.AlreadyExists, $"{method.FullName} has two handlers.");
            }
        }

        return byService;
    }
}
