using Google.Protobuf;
using ProtoRpc.PowerShell.Cmdlets;
using ProtoRpc.PowerShell.Connections;
using ProtoRpc.PowerShell.Handlers;
using ProtoRpc.PowerShell.Parameters;

namespace ProtoRpc;

/// <summary>The base of cmdlets whose script blocks answer calls. Creates the workers that run the blocks,
/// with what they use of the caller's session.</summary>
public abstract class RpcHandlersCommand : RpcCmdlet
{
    private protected RpcHandlersCommand()
    {
    }

    [Parameter]
    [ValidateNotNull]
    [ListenerOptionTable]
    [ArgumentCompleter(typeof(ListenerOptionCompleter))]
    public RpcListenerOption? ListenerOption { get; set; }

    private protected RpcListenerOption Option => ListenerOption ??= new();

    /// <summary>The names of the given parameters and settings.</summary>
    private protected IEnumerable<string> Given => MyInvocation.BoundParameters.Keys
        .Where(name => name != nameof(ListenerOption))
        .Concat(Option.Given);

    /// <summary>A parameter or setting as the user wrote it, for errors.</summary>
    private protected string NameOf(string name) =>
        Option.IsGiven(name) ? ListenerSettings.NameOf(name) : $"-{name}";

    /// <summary>Checks that the parameter that another one depends on is given.</summary>
    /// <exception cref="RpcException">InvalidArgument: it is missing.</exception>
    private protected void CheckNeeded(string name, string? missing) =>
        EndpointParameters.CheckNeeded(Given, name, missing, NameOf(name));

    // Checked when the listener starts, instead of failing at the first call.
    private protected void RequireImpersonation()
    {
        if (Option.Impersonate && !OperatingSystem.IsWindows())
        {
            throw new RpcException(
                RpcStatusCode.Unimplemented, RpcErrorIds.ImpersonationNotSupported,
                $"{NameOf(nameof(Option.Impersonate))} works only on Windows, where a thread can act as "
                + "another user. Check what callers may do with -Authorization, or with $RpcContext.User in "
                + "the handler.");
        }
    }

    // Starts the workers, warns, and then starts the services. If any of it fails, the pool is disposed: a
    // warning fails with -WarningAction Stop, and on Ctrl+C.
    private protected void StartServing(HandlerPool? pool, Action? serve = null)
    {
        try
        {
            // A listener whose handlers are all fixed replies needs no worker.
            if (pool?.Scripts.Count > 0 || Option.InitializationScript is not null
                || Option.Module.Length > 0)
            {
                pool?.Start();
            }

            if (pool is not null)
            {
                WarnOfUnset(pool.Environment);
            }

            serve?.Invoke();
        }
        catch (Exception e)
        {
            pool?.Dispose();
            if (e is IContainsErrorRecord failed
                and not (ActionPreferenceStopException or PipelineStoppedException))
            {
                ThrowTerminatingError(failed.ErrorRecord);
            }

            throw;
        }
    }

    /// <summary>Warns once of variables of the session that the workers do not have.</summary>
    private protected void WarnOfUnset(HandlerEnvironment environment)
    {
        if (environment.Unset.Warning(environment.OpenRunspace) is { } warning)
        {
            WriteWarning(warning);
        }
    }

    private protected HandlerPool CreatePool(
        HandlerEnvironment environment, RpcLimits limits, bool hasFilters) =>
        new(environment, CreateStreams(), Option.WorkerCount, limits)
        {
            HasFilters = hasFilters,
            Impersonates = Option.Impersonate,
        };

    private protected RpcGatewayOptions CreateGateway() =>
        new() { ForwardHeaders = Option.ForwardHeader, BlockHeaders = Option.BlockHeader };

    /// <summary>The HTTP endpoints, with the settings of -ListenerOption. Anonymous callers must be allowed
    /// explicitly, even if checks are given.</summary>
    private protected HttpEndpoints CreateHttp(
        HandlerPool pool, CheckScripts? checks = null, bool allowAnonymous = false,
        bool allowUnencrypted = false) => new()
        {
            AllowUnencrypted = allowUnencrypted,
            AllowedOrigins = Option.AllowedOrigin,
            AllowedHosts = Option.AllowedHost,
            AllowGet = Option.AllowGet,
            ReplyCompression = Option.ReplyCompression,
            EnableReflection = !Option.NoReflection,
            EnableHealth = !Option.NoHealth,
            ClientAuthorities = Option.ClientCACertificate.Length == 0
                ? null
                : [.. Option.ClientCACertificate.SelectMany(source => source.ReadAll(ResolveLiteral))],
            Checks = checks ?? new(),
            AllowAnonymous = allowAnonymous,
            Streams = pool.Streams,
        };

    private protected static List<ScriptFilter> CreateFilters(
        IEnumerable<ScriptBlock> filters, HandlerEnvironment environment, HandlerPool pool)
    {
        List<ScriptFilter> created = [];
        foreach (ScriptBlock filter in filters)
        {
            ScriptSource script = environment.Add(filter);
            pool.Scripts.Add(script);
            created.Add(new ScriptFilter(pool, script));
        }

        return created;
    }

    private protected HandlerEnvironment CreateEnvironment()
    {
        HandlerEnvironment environment = new(this, RunspaceStore.ForgetContexts);
        foreach (string name in new[] { "Information", "Verbose", "Warning", "Debug" })
        {
            environment.SetVariable($"{name}Preference", PreferenceOf(name));
        }

        foreach (string module in Option.Module)
        {
            environment.AddModule(PathOfModule(module));
        }

        if (Option.InitializationScript is { } initialization)
        {
            environment.SetInitialization(
                initialization, ListenerSettings.NameOf(nameof(Option.InitializationScript)));
        }

        return environment;
    }

    // Every worker finds a module's name on the module path, but a path is relative to the caller's location.
    private string PathOfModule(string module) =>
        module.AsSpan().ContainsAny('/', '\\') || module.EndsWith(".psm1", StringComparison.OrdinalIgnoreCase)
            || module.EndsWith(".psd1", StringComparison.OrdinalIgnoreCase)
            ? ResolveLiteral(module)
            : module;

    // The common parameters set the preferences of the handlers, and show their records immediately.
    private HandlerStreams CreateStreams()
    {
        bool information = Shows("Information");
        bool warning = Shows("Warning");
        bool verbose = Shows("Verbose");
        bool debug = Shows("Debug");
        return new HandlerStreams(Host, record => record switch
        {
            InformationRecord => information,
            WarningRecord => warning,
            VerboseRecord => verbose,
            DebugRecord => debug,
            _ => false,
        })
        {
            IgnoresInformation = PreferenceOf("Information") == ActionPreference.Ignore,
        };
    }

    // Only if -Debug is given: the session's $DebugPreference applies to its own cmdlets.
    private protected RpcTrace? CreateTrace(HandlerPool pool) => Shows("Debug")
        ? RpcTrace.To(entry => pool.Streams.Add(new DebugRecord(entry.ToString())))
        : null;

    private bool Shows(string name) => GivenPreference(name)
        is ActionPreference.Continue or ActionPreference.Inquire or ActionPreference.Stop;

    private ActionPreference PreferenceOf(string name) => GivenPreference(name)
        ?? LanguagePrimitives.ConvertTo<ActionPreference>(GetVariableValue($"{name}Preference"));

    private ActionPreference? GivenPreference(string name)
    {
        if (MyInvocation.BoundParameters.TryGetValue($"{name}Action", out object? action))
        {
            return LanguagePrimitives.ConvertTo<ActionPreference>(action);
        }

        return MyInvocation.BoundParameters.TryGetValue(name, out object? given)
            ? LanguagePrimitives.IsTrue(given) ? ActionPreference.Continue : ActionPreference.SilentlyContinue
            : null;
    }
}

/// <summary>Runs a script block around every call of a listener. The handler runs in the filter's worker, so
/// that a call never uses two workers.</summary>
internal sealed class ScriptFilter(HandlerPool pool, ScriptSource script)
    : IRpcInterceptor, IRpcRawInterceptor
{
    /// <inheritdoc/>
    public ValueTask<IMessage> InvokeAsync(RpcServerCallContext context, IMessage request, RpcHandler next) =>
        pool.HandleAsync(context, request, script, next);

    /// <inheritdoc/>
    public ValueTask<ReadOnlyMemory<byte>?> InvokeAsync(
        RpcRawContext client, ReadOnlyMemory<byte> request, RpcRawHandler next) =>
        pool.HandleAsync(client, request, script, next);
}
