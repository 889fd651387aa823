using System.Management.Automation;
using System.Net;
using System.Runtime.CompilerServices;
using System.Security.Cryptography.X509Certificates;

namespace ProtoRpc.PowerShell.Handlers;

/// <summary>Brings HTTP endpoints to a listener that has some,
/// and ASP.NET Core into the process only then.</summary>
internal sealed class HttpEndpoints : IDisposable
{
    private readonly Dictionary<string, CallerCheck> _checks = [];

    // Endpoints that a listener gets later share the ports of those that it has.
    private RpcServerOptions? _added;

    public bool AllowUnencrypted { get; init; }

    public string[] AllowedOrigins { get; init; } = [];

    public string[] AllowedHosts { get; init; } = [];

    public bool AllowGet { get; init; }

    public RpcReplyCompression ReplyCompression { get; init; }

    public bool EnableReflection { get; init; }

    public bool EnableHealth { get; init; }

    /// <summary>The checks of callers.</summary>
    public CheckScripts Checks { get; init; } = new();

    public bool AllowAnonymous { get; init; }

    /// <summary>Takes the records of checks that fail.</summary>
    public required Action<ErrorRecord> CheckFailed { get; init; }

    /// <summary>Gives the options HTTP endpoints when there are some.</summary>
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
            CallerCheck check = new(type, CheckFailed);
            check.Set(environment.AddPlain(script, "A check"), environment.State);
            _checks.Add(type, check);
        }

        return _added = Add(options);
    }

    /// <summary>Prepares to replace scripts of checks.</summary>
    /// <param name="scripts">The new ones; a check without one stays as it is.</param>
    /// <param name="environment">What they take from the caller's session.</param>
    /// <returns>Replaces them.</returns>
    /// <exception cref="RpcException">FailedPrecondition: the listener was started without such a
    /// check.</exception>
    public Action Replace(CheckScripts scripts, HandlerEnvironment environment)
    {
        List<(CallerCheck Check, ScriptSource Script)> changes = [];
        foreach ((string type, ScriptBlock script) in scripts.Given)
        {
            // What callers are asked for, anonymous ones above all, is decided when an endpoint is bound.
            changes.Add((
                _checks.GetValueOrDefault(type) ?? throw new RpcException(
                    RpcStatusCode.FailedPrecondition,
                    $"The listener has no -{type}Check to replace. Stop it, and start it with -{type}Check "
                    + "on an HTTP or gRPC endpoint.")
                {
                    ErrorId = RpcErrorIds.NoSuchCheck,
                },
                environment.AddPlain(script, "A check")));
        }

        return () => changes.ForEach(change => change.Check.Set(change.Script, environment.State));
    }

    public void Dispose()
    {
        foreach (CallerCheck check in _checks.Values)
        {
            check.Dispose();
        }
    }

    // On its own, so that nothing of ASP.NET Core is looked for before it is known where it is.
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
            Basic = Check<NetworkCredential>(
                "Basic", c => new PSCredential(c.UserName, c.SecurePassword), c => c.UserName),
            Bearer = Check<string>("Bearer", token => token, _ => "bearer"),
            ClientCertificate = Check<X509Certificate2>(
                "Certificate", certificate => certificate, certificate => certificate.Subject),
            AllowAnonymous = AllowAnonymous,
        },
    });

    private HttpCallerCheck<TProof>? Check<TProof>(
        string type, Func<TProof, object> argument, Func<TProof, string> name) =>
        _checks.TryGetValue(type, out CallerCheck? check)
            ? (proof, cancellation) => check.CheckAsync(argument(proof), name(proof), cancellation)
            : null;
}

/// <summary>The scripts that say who callers are.</summary>
/// <param name="Basic">By a name and a password.</param>
/// <param name="Bearer">By a token.</param>
/// <param name="Certificate">By a client's certificate.</param>
internal sealed record CheckScripts(
    ScriptBlock? Basic = null, ScriptBlock? Bearer = null, ScriptBlock? Certificate = null)
{
    /// <summary>Those that are given, by the name of their parameter without <c>Check</c>.</summary>
    public IEnumerable<(string Type, ScriptBlock Script)> Given =>
        new (string Type, ScriptBlock? Script)[]
        {
            (nameof(Basic), Basic), (nameof(Bearer), Bearer), (nameof(Certificate), Certificate),
        }
        .Where(check => check.Script is not null)
        .Select(check => (check.Type, check.Script!));
}
