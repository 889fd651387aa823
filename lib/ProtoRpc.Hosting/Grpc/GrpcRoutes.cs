using System.Collections.Frozen;
using ProtoRpc.Server;

namespace ProtoRpc.Hosting.Grpc;

/// <summary>The methods by their paths.</summary>
internal sealed class GrpcRoutes
{
    // Methods of services are looked up for each call: they are replaced while the server listens.
    private readonly FrozenDictionary<string, (ServerService Service, string Method)> _methods;
    private readonly FrozenDictionary<string, ServerMethod> _further;
    private readonly FrozenDictionary<string, ServerService> _services;

    /// <param name="services">The services.</param>
    /// <param name="further">Methods that have another path as well.</param>
    public GrpcRoutes(
        IEnumerable<ServerService> services, params (string Path, ServerMethod Method)[] further)
    {
        _services = services.ToFrozenDictionary(s => s.Info.FullName, StringComparer.Ordinal);
        _methods = _services.Values
            .SelectMany(s => s.Info.Methods.Select(m => (Path: $"/{m.FullName}", Found: (s, m.Name))))
            .ToFrozenDictionary(m => m.Path, m => m.Found, StringComparer.Ordinal);
        _further = further.ToFrozenDictionary(m => m.Path, m => m.Method, StringComparer.Ordinal);
    }

    /// <summary>The names of the services.</summary>
    public IEnumerable<string> Services =>
        _methods.Keys.Concat(_further.Keys).Select(path => path[1..path.LastIndexOf('/')])
            .Concat(_services.Keys).Distinct();

    /// <summary>The method of a path.</summary>
    /// <exception cref="RpcException">Unimplemented: there is none.</exception>
    public ServerMethod Find(string path)
    {
        if (_methods.TryGetValue(path, out (ServerService Service, string Method) found))
        {
            return found.Service.Get(found.Method);
        }

        if (_further.TryGetValue(path, out ServerMethod? method))
        {
            return method;
        }

        int slash = path.LastIndexOf('/');
        return slash > 0 && _services.TryGetValue(path[1..slash], out ServerService? service)
            ? service.Get(path[(slash + 1)..])
            : throw new RpcException(
                RpcStatusCode.Unimplemented,
                $"There is no service at '{path}'. The services are: "
                + $"{string.Join(", ", _services.Keys.Order(StringComparer.Ordinal))}.");
    }
}
