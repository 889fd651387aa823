using System.Collections.Concurrent;
using System.Management.Automation.Runspaces;
using System.Net;
using System.Runtime.CompilerServices;
using System.Security.Cryptography.X509Certificates;
using System.Security.Principal;
using Shell = System.Management.Automation.PowerShell;

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

    /// <summary>The scripts that authenticate callers.</summary>
    public CheckScripts Checks { get; init; } = new();

    public bool AllowAnonymous { get; init; }

    /// <summary>Receives the records of checks that fail.</summary>
    public required Action<ErrorRecord> CheckFailed { get; init; }

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
            CallerCheck check = new(type, CheckFailed);
            check.Set(environment.AddPlain(script, "A check"), environment);
            _checks.Add(type, check);
        }

        return _added = Add(options);
    }

    /// <summary>Prepares to replace the scripts of checks.</summary>
    /// <param name="scripts">The new scripts; other checks stay unchanged.</param>
    /// <param name="environment">What they use of the caller's session.</param>
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
            Bearer = Check<string>("Bearer", token => token, _ => "bearer"),
            ClientCertificate = Check<X509Certificate2>(
                "Certificate", certificate => certificate, certificate => certificate.Subject),
            AllowAnonymous = AllowAnonymous,
        },
    });

    private HttpCallerCheck<TProof>? Check<TProof>(
        string type, Func<TProof, object?> argument, Func<TProof, string> name) =>
        _checks.TryGetValue(type, out CallerCheck? check)
            ? (proof, cancellation) => argument(proof) is { } value
                ? check.CheckAsync(value, name(proof), cancellation)
                : default
            : null;
}

/// <summary>The scripts that authenticate callers.</summary>
/// <param name="Basic">Checks a name and a password.</param>
/// <param name="Bearer">Checks a bearer token.</param>
/// <param name="Certificate">Checks a client certificate.</param>
internal sealed record CheckScripts(
    ScriptBlock? Basic = null, ScriptBlock? Bearer = null, ScriptBlock? Certificate = null)
{
    /// <summary>The given scripts, with the names of their parameters without <c>Check</c>.</summary>
    public IEnumerable<(string Type, ScriptBlock Script)> Given =>
        new (string Type, ScriptBlock? Script)[]
        {
            (nameof(Basic), Basic), (nameof(Bearer), Bearer), (nameof(Certificate), Certificate),
        }
        .Where(check => check.Script is not null)
        .Select(check => (check.Type, check.Script!));
}

/// <summary>A check that authenticates callers of a listener. Its script can be replaced while checks
/// run.</summary>
/// <param name="authenticationType">The authentication type of the identities that it returns.</param>
/// <param name="failed">Receives the records of scripts that fail.</param>
internal sealed class CallerCheck(string authenticationType, Action<ErrorRecord> failed) : IDisposable
{
    private CallerCheckScript? _script;

    /// <summary>Sets the script for new checks. Checks that are running finish with the previous
    /// script.</summary>
    /// <param name="script">The script.</param>
    /// <param name="environment">What it uses of the caller's session.</param>
    public void Set(ScriptSource script, HandlerEnvironment environment) => Interlocked
        .Exchange(ref _script, new CallerCheckScript(environment, script, authenticationType, failed))?
        .Dispose();

    /// <inheritdoc cref="CallerCheckScript.CheckAsync"/>
    public async ValueTask<IIdentity?> CheckAsync(object proof, string name, CancellationToken cancellation)
    {
        while (Volatile.Read(ref _script) is { } script)
        {
            if (script.TryEnter())
            {
                try
                {
                    return await script.CheckAsync(proof, name, cancellation).ConfigureAwait(false);
                }
                finally
                {
                    script.Leave();
                }
            }
        }

        // The listener has stopped, so the caller is rejected.
        return null;
    }

    public void Dispose() => Interlocked.Exchange(ref _script, null)?.Dispose();
}

/// <summary>A script block that authenticates a caller by the presented credentials. It returns a name, or
/// whether the credentials are valid.</summary>
internal sealed class CallerCheckScript(
    HandlerEnvironment environment, ScriptSource script, string authenticationType,
    Action<ErrorRecord> failed)
    : IDisposable
{
    private const int MaxChecks = 4;

    private readonly string _script = script.Parse().ToString();

    // Opened by the first checks, because most listeners check no callers.
    private readonly ConcurrentBag<Runspace> _idle = [];
    private readonly SemaphoreSlim _free = new(MaxChecks, MaxChecks);
    private readonly Lock _gate = new();
    private int _running;
    private bool _isEnded;

    /// <summary>Begins a check.</summary>
    /// <returns>False if this was disposed.</returns>
    public bool TryEnter()
    {
        lock (_gate)
        {
            _running += _isEnded ? 0 : 1;
            return !_isEnded;
        }
    }

    /// <summary>Ends what <see cref="TryEnter"/> began.</summary>
    public void Leave()
    {
        lock (_gate)
        {
            _running--;
            if (!_isEnded || _running > 0)
            {
                return;
            }
        }

        Close();
    }

    /// <summary>Rejects new checks. The last running check closes the runspaces.</summary>
    public void Dispose()
    {
        lock (_gate)
        {
            if (_isEnded)
            {
                return;
            }

            _isEnded = true;
            if (_running > 0)
            {
                return;
            }
        }

        Close();
    }

    /// <summary>Runs the script to check a caller.</summary>
    /// <param name="proof">The script's argument: the presented credentials.</param>
    /// <param name="name">The caller's name if the script returns true.</param>
    /// <param name="cancellation">Cancelled when the caller disconnects.</param>
    /// <returns>The caller; null to reject the caller. If the script fails, the caller is rejected, and the
    /// listener gets a record.</returns>
    public async ValueTask<IIdentity?> CheckAsync(object proof, string name, CancellationToken cancellation)
    {
        await _free.WaitAsync(cancellation).ConfigureAwait(false);
        Runspace? runspace = null;
        try
        {
            runspace = _idle.TryTake(out Runspace? idle) ? idle : environment.OpenRunspace();
            return await RunAsync(runspace, proof, name, cancellation).ConfigureAwait(false);
        }
        finally
        {
            if (runspace is not null)
            {
                _idle.Add(runspace);
            }

            _free.Release();
        }
    }

    private async Task<IIdentity?> RunAsync(
        Runspace runspace, object proof, string name, CancellationToken cancellation)
    {
        // The sessions on other servers that the previous caller's check began are not for this one.
        environment.Forget(runspace);
        using Shell shell = Shell.Create();
        shell.Runspace = runspace;

        // In a scope of its own: the next caller must not find the variables of this one.
        shell.AddScript(_script, useLocalScope: true).AddArgument(proof);
        using CancellationTokenRegistration gone =
            cancellation.UnsafeRegister(_ => shell.BeginStop(null, null), null);
        try
        {
            PSDataCollection<PSObject> output =
                await Task.Factory.FromAsync(shell.BeginInvoke(), shell.EndInvoke).ConfigureAwait(false);
            return output.LastOrDefault()?.BaseObject switch
            {
                string { Length: > 0 } user => new GenericIdentity(user, authenticationType),
                true => new GenericIdentity(name, authenticationType),
                _ => null,
            };
        }
        catch (RuntimeException) when (cancellation.IsCancellationRequested)
        {
            // The caller disconnected, which stopped the script.
            return null;
        }
        catch (RuntimeException e)
        {
            failed(FailureRecord.Create(e, authenticationType));
            return null;
        }
    }

    private void Close()
    {
        while (_idle.TryTake(out Runspace? runspace))
        {
            runspace.Dispose();
        }

        _free.Dispose();
    }
}
