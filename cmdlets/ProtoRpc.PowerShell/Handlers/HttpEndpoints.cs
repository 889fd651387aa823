using System.Management.Automation;
using System.Management.Automation.Runspaces;
using System.Net;
using System.Runtime.CompilerServices;
using System.Security.Cryptography.X509Certificates;

namespace ProtoRpc.PowerShell.Handlers;

/// <summary>Brings HTTP endpoints to a listener that has some,
/// and ASP.NET Core into the process only then.</summary>
internal sealed class HttpEndpoints : IDisposable
{
    private const int MaxChecks = 4;

    private Dictionary<ScriptBlock, ScriptSource> _checks = [];
    private Lazy<RunspacePool>? _runspaces;

    // Endpoints that a listener gets later share the ports of those that it has.
    private RpcServerOptions? _added;

    public bool AllowUnencrypted { get; init; }

    public string[] AllowedOrigins { get; init; } = [];

    public string[] AllowedHosts { get; init; } = [];

    public bool AllowGet { get; init; }

    public RpcReplyCompression ReplyCompression { get; init; }

    public bool EnableReflection { get; init; }

    public bool EnableHealth { get; init; }

    public ScriptBlock? Basic { get; init; }

    public ScriptBlock? Bearer { get; init; }

    public ScriptBlock? ClientCertificate { get; init; }

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
        _checks = new[] { Basic, Bearer, ClientCertificate }.OfType<ScriptBlock>()
            .ToDictionary(script => script, script => environment.AddPlain(script, "A check"));
        _runspaces = new Lazy<RunspacePool>(() => Open(environment.State));
        return _added = Add(options);
    }

    public void Dispose()
    {
        if (_runspaces is { IsValueCreated: true })
        {
            _runspaces.Value.Dispose();
        }
    }

    // When the first caller is checked: most listeners check none.
    private static RunspacePool Open(InitialSessionState state)
    {
        RunspacePool runspaces = RunspaceFactory.CreateRunspacePool(state);
        runspaces.SetMaxRunspaces(MaxChecks);
        runspaces.Open();
        return runspaces;
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
                Basic, "Basic", c => new PSCredential(c.UserName, c.SecurePassword), c => c.UserName),
            Bearer = Check<string>(Bearer, "Bearer", token => token, _ => "bearer"),
            ClientCertificate = Check<X509Certificate2>(
                ClientCertificate,
                "Certificate",
                certificate => certificate,
                certificate => certificate.Subject),
            AllowAnonymous = AllowAnonymous,
        },
    });

    private HttpCallerCheck<TProof>? Check<TProof>(
        ScriptBlock? script, string type, Func<TProof, object> argument, Func<TProof, string> name)
    {
        if (script is null)
        {
            return null;
        }

        CallerCheckScript check = new(_runspaces!, _checks[script], type, CheckFailed);
        return (proof, cancellation) => check.CheckAsync(argument(proof), name(proof), cancellation);
    }
}
