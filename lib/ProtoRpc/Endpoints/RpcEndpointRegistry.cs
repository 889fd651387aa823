using System.IO.Enumeration;
using System.Text.Json.Nodes;
using ProtoRpc.Endpoints;

namespace ProtoRpc;

/// <summary>The named endpoints of a user, in a JSON file. Safe for many threads and processes.</summary>
/// <remarks>
/// Each call reads the file. A change locks the file against other processes and replaces it in one step, so
/// that readers see either the old or the new file. Members that this version does not use are kept. On Unix,
/// the file is written with mode 0600, and rejected if others can write to it.
/// </remarks>
/// <param name="path">The file, which may not exist yet.</param>
public sealed class RpcEndpointRegistry(string path)
{
    /// <summary>The environment variable with the path of another file.</summary>
    public const string PathVariable = "PROTORPC_ENDPOINTS";

    private const int Listed = 10;

    private readonly EndpointFile _file = new(System.IO.Path.GetFullPath(path));

    /// <summary>The registry of this user: <c>$PROTORPC_ENDPOINTS</c>, otherwise
    /// <c>$XDG_CONFIG_HOME/ProtoRpc/endpoints.json</c> or <c>~/.config/ProtoRpc/endpoints.json</c>; on
    /// Windows <c>%APPDATA%\ProtoRpc\endpoints.json</c>.</summary>
    public static RpcEndpointRegistry OfUser => new(
        Environment.GetEnvironmentVariable(PathVariable) is { Length: > 0 } given
            ? given
            : System.IO.Path.Combine(
                Environment.GetFolderPath(
                    Environment.SpecialFolder.ApplicationData, Environment.SpecialFolderOption.DoNotVerify),
                "ProtoRpc",
                "endpoints.json"));

    /// <summary>The path of the file.</summary>
    public string Path => _file.Path;

    /// <summary>All endpoints, by name.</summary>
    /// <exception cref="RpcException">FailedPrecondition or PermissionDenied: the file is damaged, from a
    /// newer version, or writable by others.</exception>
    public IReadOnlyList<RpcNamedEndpoint> Read() =>
        [.. _file.Read().Endpoints.OrderBy(endpoint => endpoint.Name, StringComparer.OrdinalIgnoreCase)];

    /// <summary>Finds the endpoints whose name matches a pattern and that have a tag.</summary>
    /// <param name="pattern">A name, or a pattern with <c>*</c> and <c>?</c>; case-insensitive.</param>
    /// <param name="tag">The tag, which may also contain wildcards; null for any.</param>
    /// <exception cref="RpcException">See <see cref="Read"/>.</exception>
    public IReadOnlyList<RpcNamedEndpoint> Find(string pattern, string? tag = null)
    {
        ArgumentNullException.ThrowIfNull(pattern);
        return
        [
            .. Read().Where(endpoint => Matches(pattern, endpoint.Name)
                && (tag is null || endpoint.Tag.Any(own => Matches(tag, own)))),
        ];
    }

    /// <summary>Finds the endpoints for a name or a pattern; at least one.</summary>
    /// <exception cref="RpcException">InvalidArgument: the text is neither a registered name nor an endpoint.
    /// NotFound: no name matches the pattern. For others, see <see cref="Read"/>.</exception>
    /// <param name="text">The text.</param>
    /// <param name="all">The result of <see cref="Read"/>, which is read once for many texts.</param>
    internal IReadOnlyList<RpcNamedEndpoint> Resolve(string text, Lazy<IReadOnlyList<RpcNamedEndpoint>> all)
    {
        IReadOnlyList<RpcNamedEndpoint> found = RpcNamedEndpoint.MayBeName(text)
            ? [.. all.Value.Where(endpoint => Matches(text, endpoint.Name))]
            : [];
        return found.Count > 0 ? found
            : RpcNamedEndpoint.IsPattern(text) ? throw NotFound(text)
            : throw NotAnEndpoint(text);
    }

    /// <summary>The error for a name that is not registered.</summary>
    internal RpcException NotFound(string name) => new(
        RpcStatusCode.NotFound,
        $"No endpoint is registered as '{TerminalText.Neutralize(name)}'. {Known(name)}")
    {
        ErrorId = RpcErrorIds.EndpointNameNotFound,
    };

    /// <summary>Adds an endpoint, or replaces the one with the same name.</summary>
    /// <param name="endpoint">The endpoint.</param>
    /// <param name="replace">Whether to replace an endpoint with the same name. Its members that this version
    /// does not use are kept.</param>
    /// <exception cref="RpcException">AlreadyExists: the name is registered. InvalidArgument: a secret is not
    /// a reference. For others, see <see cref="Read"/>.</exception>
    public void Register(RpcNamedEndpoint endpoint, bool replace = false)
    {
        ArgumentNullException.ThrowIfNull(endpoint);
        EndpointEntry.Check(endpoint);
        _file.Change(content =>
        {
            JsonObject? old = content.Remove(endpoint.Name);
            if (old is not null && !replace)
            {
                throw new RpcException(
                    RpcStatusCode.AlreadyExists,
                    $"'{Path}' already has an endpoint with the name '{endpoint.Name}'.")
                {
                    ErrorId = RpcErrorIds.EndpointNameTaken,
                };
            }

            content.Add(endpoint, old);
            return true;
        });
    }

    /// <summary>Removes an endpoint.</summary>
    /// <returns>Whether the endpoint was registered.</returns>
    /// <exception cref="RpcException">See <see cref="Read"/>.</exception>
    public bool Unregister(string name)
    {
        ArgumentNullException.ThrowIfNull(name);
        return File.Exists(Path) && _file.Change(content => content.Remove(name) is not null);
    }

    private static bool Matches(string pattern, string text) =>
        FileSystemName.MatchesSimpleExpression(pattern, text, ignoreCase: true);

    private RpcException NotAnEndpoint(string text)
    {
        try
        {
            RpcEndpoint.Parse(text);
            return NotFound(text);
        }
        catch (RpcException e)
        {
            return RpcNamedEndpoint.MayBeName(text)
                ? new(e.Code, $"{e.Message} It is not a registered name either. {Known(text)}", e)
                {
                    ErrorId = e.ErrorId,
                }
                : e;
        }
    }

    private string Known(string text)
    {
        IReadOnlyList<string> names = [.. Read().Select(endpoint => endpoint.Name)];
        return names.Count == 0 ? $"'{Path}' has no endpoints."
            : NearestName.Hint(text, names) is { Length: > 0 } hint ? hint.TrimStart()
            : $"'{Path}' has {string.Join(", ", names.Take(Listed))}{(names.Count > Listed ? ", ..." : ".")}";
    }
}
