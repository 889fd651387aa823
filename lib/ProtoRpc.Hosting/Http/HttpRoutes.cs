using System.Collections.Frozen;
using Google.Protobuf.Reflection;
using ProtoRpc.Server;

namespace ProtoRpc.Hosting.Http;

/// <summary>What the paths of an HTTP endpoint lead to. They compare without regard to case.</summary>
/// <remarks>
/// <c>/package.Service/Method</c> is a method, <c>/file.proto</c> the text of a file,
/// and <c>/file.proto/Method</c> a method of the services that the file declares.
/// Files are those of the services and what they import, so that a client can load the schema from here.
/// </remarks>
internal sealed class HttpRoutes
{
    private readonly string _base;
    private readonly FrozenDictionary<string, ServerService> _services;
    private readonly FrozenDictionary<string, SchemaText> _files;
    private readonly ILookup<string, ServerService> _servicesByFile;
    private readonly ServerMethod _ping;

    // What most requests ask for, found without taking the path apart.
    private readonly FrozenDictionary<string, (ServerService Service, string Name)> _methods;

    /// <param name="services">The services.</param>
    /// <param name="ping">The ping of the server, which no file and no page shows.</param>
    /// <param name="basePath">What all paths begin with.</param>
    public HttpRoutes(IReadOnlyList<ServerService> services, ServerMethod ping, string basePath)
    {
        _ping = ping;
        _base = basePath.TrimEnd('/');
        _services = services.ToFrozenDictionary(
            service => service.Info.FullName, StringComparer.OrdinalIgnoreCase);
        _servicesByFile = services.ToLookup(
            service => service.Info.File.Name, StringComparer.OrdinalIgnoreCase);
        Dictionary<string, SchemaText> files = new(StringComparer.OrdinalIgnoreCase);
        foreach (IGrouping<RpcSchema, ServerService> group in services.GroupBy(
            service => service.Info.Schema))
        {
            Dictionary<string, FileDescriptorProto> all = group.Key.SchemaFiles.ToDictionary(
                file => file.Name, file => file.Proto, StringComparer.Ordinal);
            foreach (ServerService service in group)
            {
                AddFiles(files, group.Key, all, service.Info.File.Name);
            }
        }

        _files = files.ToFrozenDictionary(StringComparer.OrdinalIgnoreCase);
        _methods = (
            from service in services
            from method in service.Info.Methods
            let path = $"{_base}/{service.Info.FullName}/{method.Name}"
            select KeyValuePair.Create(path, (service, method.Name))).ToFrozenDictionary();
    }

    /// <summary>The names of the files.</summary>
    public IEnumerable<string> Files => _files.Keys;

    /// <summary>What is at a path.</summary>
    public HttpRoute Find(string path)
    {
        if (_methods.TryGetValue(path, out (ServerService Service, string Name) known)
            && known.Service.Find(known.Name) is { } called)
        {
            return new HttpRoute { Method = called };
        }

        if (!path.StartsWith(_base, StringComparison.OrdinalIgnoreCase)
            || (path.Length > _base.Length && path[_base.Length] != '/'))
        {
            return HttpRoute.Nothing(path);
        }

        string inside = path[_base.Length..].Trim('/');
        if (inside.Length == 0)
        {
            return new HttpRoute { IsPage = true };
        }

        if (_files.TryGetValue(inside, out SchemaText? file))
        {
            return new HttpRoute { File = file };
        }

        int slash = inside.LastIndexOf('/');
        if (inside.Equals(_ping.Info.FullName, StringComparison.OrdinalIgnoreCase)
            && !_services.ContainsKey(_ping.Info.Service.FullName))
        {
            return new HttpRoute { Method = _ping };
        }

        return slash < 0 ? HttpRoute.Nothing(path) : FindMethod(inside[..slash], inside[(slash + 1)..], path);
    }

    // Files that are only imported for their options come along, because the text imports them.
    private static void AddFiles(
        Dictionary<string, SchemaText> files, RpcSchema schema,
        Dictionary<string, FileDescriptorProto> all, string name)
    {
        if (all.TryGetValue(name, out FileDescriptorProto? file)
            && files.TryAdd(name, new SchemaText(schema, name)))
        {
            foreach (string import in file.Dependency.Concat(file.OptionDependency))
            {
                AddFiles(files, schema, all, import);
            }
        }
    }

    private HttpRoute FindMethod(string place, string name, string path)
    {
        if (_services.TryGetValue(place, out ServerService? service))
        {
            return service.Find(name) is { } method
                ? new HttpRoute { Method = method }
                : NoMethod(service, name);
        }

        ServerService[] declared = [.. _servicesByFile[place]];
        ServerMethod[] found = [.. declared.Select(s => s.Find(name)).OfType<ServerMethod>()];
        return found switch
        {
            [{ } only] => new HttpRoute { Method = only },
            [] when declared is [{ } alone] => NoMethod(alone, name),
            [] => HttpRoute.Nothing(path),
            _ => HttpRoute.NotFound(
                $"'{place}' declares several methods '{name}'; "
                + $"write /{string.Join(" or /", found.Select(m => m.Info.FullName))}."),
        };
    }

    private static HttpRoute NoMethod(ServerService service, string name) =>
        HttpRoute.NotFound($"Method '{service.Info.FullName}.{name}' not found.");
}

/// <summary>What a path leads to: a method, a file of the schema,
/// the page of the services, or nothing.</summary>
internal sealed class HttpRoute
{
    /// <summary>The method.</summary>
    public ServerMethod? Method { get; init; }

    /// <summary>The file.</summary>
    public SchemaText? File { get; init; }

    /// <summary>Whether it is the page.</summary>
    public bool IsPage { get; init; }

    /// <summary>What is not there.</summary>
    public string Missing { get; private init; } = "";

    public static HttpRoute NotFound(string what) => new() { Missing = what };

    public static HttpRoute Nothing(string path) => NotFound(
        $"There is nothing at '{path}'. Methods are at /package.Service/Method and at /file.proto/Method.");
}
