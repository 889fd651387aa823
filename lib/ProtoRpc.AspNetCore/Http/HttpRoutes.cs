using System.Collections.Frozen;
using System.Text;
using Google.Protobuf.Reflection;
using Microsoft.AspNetCore.Http.Features;
using ProtoRpc.AspNetCore.OpenApi;
using ProtoRpc.Protocols.Rest;
using ProtoRpc.Server;

namespace ProtoRpc.AspNetCore.Http;

/// <summary>Finds the targets of paths on an HTTP endpoint, ignoring case.</summary>
/// <remarks>
/// <c>/package.Service/Method</c> is a method, <c>/file.proto</c> the text of a file,
/// <c>/file.proto/Method</c> a method of the services that the file declares, and <c>/openapi.json</c> the
/// document of OpenAPI.
/// What is none of these is compared with the HTTP rules of the methods.
/// Files are those of the services and what they import, so that a client can load the schema from here.
/// </remarks>
internal sealed class HttpRoutes
{
    private readonly string _base;
    private readonly FrozenDictionary<string, ServerService> _services;
    private readonly FrozenDictionary<string, SchemaText> _files;
    private readonly FrozenDictionary<string, ServerService[]> _servicesByFile;
    private readonly ServerMethod _ping;
    private readonly RestRoutes _rules;
    private readonly FrozenSet<string> _gets;

    // Fast path for the paths of methods, without splitting the path.
    private readonly FrozenDictionary<string, (ServerService Service, string Name)> _methods;

    /// <param name="host">The server.</param>
    /// <param name="basePath">The base of all paths.</param>
    public HttpRoutes(ServerHost host, string basePath)
    {
        IReadOnlyList<ServerService> services = host.Services;
        _ping = ServerPing.MethodOf(host);
        _rules = host.HttpRules;
        _gets = _rules.Bindings.Where(binding => HttpMethods.IsGet(binding.HttpMethod))
            .Select(binding => binding.Method.FullName).ToFrozenSet(StringComparer.Ordinal);
        _base = basePath.TrimEnd('/');
        _services = services.ToFrozenDictionary(
            service => service.Info.FullName, StringComparer.OrdinalIgnoreCase);
        _servicesByFile = services
            .GroupBy(service => service.Info.File.Name, StringComparer.OrdinalIgnoreCase)
            .ToFrozenDictionary(
                file => file.Key, file => file.ToArray(), StringComparer.OrdinalIgnoreCase);
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

    /// <summary>The templates of the HTTP rules.</summary>
    public IEnumerable<RestTemplate> Templates => _rules.Bindings.Select(binding => binding.Template);

    /// <summary>Whether GET can call a method from any page: the schema declares that it has no side effects,
    /// by <c>idempotency_level</c> or by an HTTP rule with <c>get</c>.</summary>
    public bool IsSafe(RpcMethodInfo method) => method.HasNoSideEffects || _gets.Contains(method.FullName);

    /// <summary>Finds the target of a request.</summary>
    /// <param name="request">The request.</param>
    /// <param name="path">The path below the base.</param>
    public HttpRoute Find(HttpRequest request, string path)
    {
        if (_methods.TryGetValue(path, out (ServerService Service, string Name) known)
            && known.Service.Find(known.Name) is { } called)
        {
            return new HttpRoute { Method = called };
        }

        HttpRoute route = Find(path);
        return route.Method is null && route.File is null && !route.IsOpenApi
            && _rules.Count > 0 && IsInside(path)
            && FindRule(request, path[_base.Length..], route) is { } ruled
                ? ruled
                : route;
    }

    private bool IsInside(string path) => path.StartsWith(_base, StringComparison.OrdinalIgnoreCase)
        && (path.Length == _base.Length || path[_base.Length] == '/');

    private HttpRoute Find(string path)
    {
        if (!IsInside(path))
        {
            return HttpRoute.Nothing(path);
        }

        ReadOnlySpan<char> inside = path.AsSpan(_base.Length).Trim('/');
        if (inside.IsEmpty)
        {
            return new HttpRoute { IsPage = true };
        }

        if (inside.Equals(OpenApiFile.Name, StringComparison.OrdinalIgnoreCase))
        {
            return new HttpRoute { IsOpenApi = true };
        }

        if (_files.GetAlternateLookup<ReadOnlySpan<char>>().TryGetValue(inside, out SchemaText? file))
        {
            return new HttpRoute { File = file };
        }

        int slash = inside.LastIndexOf('/');
        if (inside.Equals(_ping.Info.FullName, StringComparison.OrdinalIgnoreCase)
            && !_services.ContainsKey(_ping.Info.Service.FullName))
        {
            return new HttpRoute { Method = _ping };
        }

        return slash < 0
            ? HttpRoute.Nothing(path)
            : FindMethod(inside[..slash], inside[(slash + 1)..].ToString(), path);
    }

    private HttpRoute? FindRule(HttpRequest request, string inside, HttpRoute otherwise)
    {
        SortedSet<string> allowed = new(StringComparer.Ordinal);
        RestMatch? match = _rules.Find(request.Method, RequestPath.From(request, inside), allowed);
        if (match is null)
        {
            return allowed.Count == 0 || otherwise.IsPage ? null : new HttpRoute { Allowed = allowed };
        }

        RpcMethodInfo method = match.Binding.Method;
        return new HttpRoute { Method = _services[method.Service.FullName].Find(method.Name), Rule = match };
    }

    // Includes files that are only imported for their options, because the text imports them.
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

    private HttpRoute FindMethod(ReadOnlySpan<char> place, string name, string path)
    {
        if (_services.GetAlternateLookup<ReadOnlySpan<char>>().TryGetValue(
            place, out ServerService? service))
        {
            return service.Find(name) is { } method
                ? new HttpRoute { Method = method }
                : NoMethod(service, name);
        }

        if (!_servicesByFile.GetAlternateLookup<ReadOnlySpan<char>>().TryGetValue(
            place, out ServerService[]? declared))
        {
            return HttpRoute.Nothing(path);
        }

        ServerMethod[] found = FindAll(declared, name);
        return found switch
        {
            [{ } only] => new HttpRoute { Method = only },
            [] when declared is [{ } alone] => NoMethod(alone, name),
            [] => HttpRoute.Nothing(path),
            _ => SeveralMethods(place.ToString(), name, found),
        };
    }

    // Lambdas that use the name are in methods of their own, so that other paths allocate no closure.
    private static ServerMethod[] FindAll(ServerService[] services, string name) =>
        [.. services.Select(service => service.Find(name)).OfType<ServerMethod>()];

    private static HttpRoute SeveralMethods(string file, string name, ServerMethod[] found) =>
        HttpRoute.NotFound(
            () => $"'{file}' declares several methods '{name}'; "
            + $"write /{string.Join(" or /", found.Select(m => m.Info.FullName))}.");

    private static HttpRoute NoMethod(ServerService service, string name) =>
        HttpRoute.NotFound(
            () => $"Method '{service.Info.FullName}.{name}' not found."
            + NearestName.Hint(name, service.Info.Methods.Select(method => method.Name)));
}

/// <summary>The target of a path: a method, a file of the schema, the page of the services, the OpenAPI
/// document, or nothing.</summary>
internal sealed class HttpRoute
{
    // Only created for a reply, because a path that is no method may still match a rule.
    private Func<string>? _missing;

    public ServerMethod? Method { get; init; }

    public SchemaText? File { get; init; }

    public bool IsPage { get; init; }

    public bool IsOpenApi { get; init; }

    /// <summary>The HTTP rule that led to the method; null for a path of the method itself.</summary>
    public RestMatch? Rule { get; init; }

    /// <summary>The methods of HTTP that rules have for the path, if the request has another one.</summary>
    public IReadOnlySet<string>? Allowed { get; init; }

    /// <summary>Whether an HTTP rule has the path.</summary>
    public bool IsRule => Rule is not null || Allowed is not null;

    /// <summary>The description of a missing target.</summary>
    public string Missing => _missing?.Invoke() ?? "";

    public static HttpRoute NotFound(Func<string> what) => new() { _missing = what };

    public static HttpRoute Nothing(string path) => NotFound(() => NothingAt(path));

    public static string NothingAt(string path) =>
        $"There is nothing at '{path}'. Methods are at /package.Service/Method and at /file.proto/Method.";
}

/// <summary>A file of a schema as text. The text is cached, because writing a large file takes a
/// second.</summary>
internal sealed class SchemaText(RpcSchema schema, string fileName)
{
    private readonly Lazy<byte[]> _bytes = new(() => Encoding.UTF8.GetBytes(schema.ToProtoText(fileName)));

    /// <summary>The text in UTF-8.</summary>
    public byte[] Bytes => _bytes.Value;
}

/// <summary>The path of a request in percent codes, as HTTP rules need it: Kestrel decodes a path, but for
/// encoded slashes.</summary>
internal static class RequestPath
{
    /// <param name="request">The request.</param>
    /// <param name="inside">The decoded path below the base.</param>
    public static RestPath From(HttpRequest request, string inside)
    {
        ReadOnlySpan<char> target = request.HttpContext.Features.Get<IHttpRequestFeature>()?.RawTarget;
        int query = target.IndexOf('?');
        target = query < 0 ? target : target[..query];
        return RestPath.Parse(
            target.Contains('%') && TryFindEnd(target, inside, out ReadOnlySpan<char> coded)
                ? coded
                : Encode(inside));
    }

    // The services may be mapped below a path, and middleware may have changed the path. Then only encoded
    // slashes remain encoded.
    private static bool TryFindEnd(
        ReadOnlySpan<char> target, ReadOnlySpan<char> inside, out ReadOnlySpan<char> coded)
    {
        int start = target.Length;
        ReadOnlySpan<char> left = inside;
        while (left.LastIndexOf('/') is >= 0 and int slash)
        {
            int before = target[..start].LastIndexOf('/');
            if (before < 0
                || (RestText.Decode(target[(before + 1)..start], keepsSlash: true) is { } text
                    && !left[(slash + 1)..].SequenceEqual(text)))
            {
                coded = default;
                return false;
            }

            start = before;
            left = left[..slash];
        }

        coded = target[start..];
        return true;
    }

    private static string Encode(string decoded) => decoded.Contains('%')
        ? decoded.Replace("%", "%25", StringComparison.Ordinal)
            .Replace("%252F", "%2F", StringComparison.OrdinalIgnoreCase)
        : decoded;
}

/// <summary>The base of the paths of an endpoint.</summary>
internal static class BasePath
{
    /// <summary>The path of an endpoint as Kestrel decodes paths: all codes but those of slashes.</summary>
    public static string Get(RpcEndpoint endpoint) => endpoint.Kind.HasPort
        ? RestText.Decode(endpoint.Name, keepsSlash: true) ?? endpoint.Name
        : "";
}
