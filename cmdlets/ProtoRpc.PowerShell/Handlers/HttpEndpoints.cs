using System.Net;
using System.Runtime.CompilerServices;
using System.Security.Cryptography.X509Certificates;

namespace ProtoRpc.PowerShell.Handlers;

/// <summary>Adds HTTP endpoints to a listener. Loads ASP.NET Core only if there are such endpoints.</summary>
internal sealed class HttpEndpoints : IDisposable
{
    private readonly Dictionary<string, CallerCheck> _checks = [];

    // Endpoints that are added later share the ports of the existing ones.
    private RpcServerOptions? _added;

    public bool AllowUnencrypted { get; init; }

    public string[] AllowedOrigins { get; init; } = [];

    public string[] AllowedHosts { get; init; } = [];

    public bool AllowGet { get; init; }

    public RpcReplyCompression ReplyCompression { get; init; }

    public bool EnableReflection { get; init; }

    public bool EnableHealth { get; init; }

    /// <summary>The authorities of client certificates; null for none.</summary>
    public X509Certificate2Collection? ClientAuthorities { get; init; }

    /// <summary>The scripts that authenticate callers.</summary>
    public CheckScripts Checks { get; init; } = new();

    public bool AllowAnonymous { get; init; }

    /// <summary>Receives the output of check scripts, and the error records of those that fail.</summary>
    public required HandlerStreams Streams { get; init; }

    /// <summary>Adds HTTP support to a server's options if any endpoint needs it.</summary>
    /// <exception cref="RpcException">FailedPrecondition: ASP.NET Core is not on this machine.</exception>
    public RpcServerOptions AddTo(
        RpcServerOptions options, IEnumerable<RpcEndpoint> endpoints, HandlerEnvironment environment)
    {
        if (_added is not null || !endpoints.Any(endpoint => endpoint.Has(EndpointFeatures.AspNetCore)))
        {
            return _added ?? options;
        }

        ModuleLoadContext.RequireAspNetCore();
        foreach ((string type, ScriptBlock script) in Checks.Given)
        {
            CallerCheck check = new(type, Streams);
            check.Set(environment.AddPlain(script, "A check"), environment);
            _checks.Add(type, check);
        }

        return _added = Add(options);
    }

    /// <summary>Prepares to replace the scripts of checks.</summary>
    /// <param name="scripts">The new scripts; other checks stay unchanged.</param>
    /// <param name="environment">The parts of the caller's session that the scripts use.</param>
    /// <returns>An action that replaces the scripts.</returns>
    /// <exception cref="RpcException">FailedPrecondition: the listener was started without this
    /// check.</exception>
    public Action Replace(CheckScripts scripts, HandlerEnvironment environment)
    {
        List<(CallerCheck Check, ScriptSource Script)> changes = [];
        foreach ((string type, ScriptBlock script) in scripts.Given)
        {
            // Only an existing check can be replaced: binding an endpoint decides how it authenticates
            // callers, and whether it allows anonymous ones.
            changes.Add((
                _checks.GetValueOrDefault(type) ?? throw new RpcException(
                    RpcStatusCode.FailedPrecondition, RpcErrorIds.NoSuchCheck,
                    $"The listener has no -{type}Check to replace. Stop it, and start it with -{type}Check "
                    + "on an HTTP or gRPC endpoint."),
                environment.AddPlain(script, "A check")));
        }

        return () => changes.ForEach(change => change.Check.Set(change.Script, environment));
    }

    public void Dispose()
    {
        foreach (CallerCheck check in _checks.Values)
        {
            check.Dispose();
        }
    }

    // A separate method, so that the runtime loads ASP.NET Core only after its folder is known.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private RpcServerOptions Add(RpcServerOptions options) => options.WithHttp(new HttpServerOptions
    {
        AllowUnencrypted = AllowUnencrypted,
        AllowedOrigins = AllowedOrigins,
        AllowedHosts = AllowedHosts,
        AllowGet = AllowGet,
        ReplyCompression = ReplyCompression,
        EnableReflection = EnableReflection,
        EnableHealth = EnableHealth,
        Security = new HttpServerSecurity
        {
            // The shell has no credentials without a user name.
            Basic = Check<NetworkCredential>(
                "Basic", c => c.UserName.Length > 0 ? new PSCredential(c.UserName, c.SecurePassword) : null,
                c => c.UserName),
            Bearer = Check<string>("Bearer", token => token, _ => null),
            ClientCertificate = Check<X509Certificate2>(
                "Certificate", certificate => certificate, certificate => certificate.Subject),
            ClientCaCertificates = ClientAuthorities,
            AllowAnonymous = AllowAnonymous,
        },
    });

    private HttpCallerCheck<TProof>? Check<TProof>(
        string type, Func<TProof, object?> argument, Func<TProof, string?> name) =>
        _checks.TryGetValue(type, out CallerCheck? check)
            ? (proof, cancellation) => argument(proof) is { } value
                ? check.CheckAsync(value, name(proof), cancellation)
                : default
            : null;
}
