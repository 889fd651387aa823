using System.Diagnostics;
using System.Security.Principal;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Rest;
using ProtoRpc.Server.Calls;
using ProtoRpc.Server.Native;
using ProtoRpc.Transports.Lrpc;

namespace ProtoRpc.Server;

/// <summary>A listening server as its protocols see it: services, options, sessions,
/// and the one place where failures are judged.</summary>
internal sealed class ServerHost
{
    // A schema may have thousands of methods with invalid HTTP rules; more warnings would fill the log.
    private const int MaxWarnings = 20;

    private readonly long _started = Stopwatch.GetTimestamp();

    // Weak references, because the objects of closed endpoints must be collected.
    private readonly List<WeakReference<IIntercepted>> _builtIns = [];
    private readonly SessionTable? _sessions;
    private readonly Lazy<RestRoutes> _httpRules;

    public ServerHost(
        IReadOnlyList<ServerService> services, RpcServerOptions options, CallMonitor? monitor = null)
    {
        Services = services;
        Options = options;
        Interceptors = options.Interceptors;
        Monitor = monitor ?? new CallMonitor();
        Memory = new RequestMemory(options.Limits.MaxMemoryBytes);
        Admission = new CallAdmission(options.Limits, Monitor);
        Transfers = new TransferTable(options.Limits, Memory);
        _sessions = options.EnableSessions ? new SessionTable(options.Limits) : null;
        _httpRules = new Lazy<RestRoutes>(ReadHttpRules);
    }

    /// <summary>The messages that are coming in parts.</summary>
    public TransferTable Transfers { get; }

    /// <summary>The requests that are received and handled.</summary>
    public RequestMemory Memory { get; }

    /// <summary>Lets calls into handlers.</summary>
    public CallAdmission Admission { get; }

    public IReadOnlyList<ServerService> Services { get; }

    /// <summary>The routes of the HTTP rules of all methods. The first use warns of rules that cannot be
    /// served.</summary>
    public RestRoutes HttpRules => _httpRules.Value;

    public RpcServerOptions Options { get; set; }

    /// <summary>The current interceptors of every call.</summary>
    public IReadOnlyList<IRpcInterceptor> Interceptors { get; private set; }

    public TimeSpan Uptime => Stopwatch.GetElapsedTime(_started);

    public CallMonitor Monitor { get; }

    /// <summary>Adds the interceptors to a built-in method or service, and updates them whenever they are
    /// replaced.</summary>
    public TIntercepted Intercept<TIntercepted>(TIntercepted builtIn)
        where TIntercepted : class, IIntercepted
    {
        lock (_builtIns)
        {
            (builtIn as ServerService)?.Complete(Interceptors);
            builtIn.Intercept(Interceptors);
            _builtIns.RemoveAll(known => !known.TryGetTarget(out _));
            _builtIns.Add(new WeakReference<IIntercepted>(builtIn));
        }

        return builtIn;
    }

    /// <summary>Serves calls that begin later with other methods and interceptors.</summary>
    /// <param name="methods">The methods of each service.</param>
    /// <param name="interceptors">The interceptors.</param>
    public void Publish(
        IReadOnlyDictionary<ServerService, Dictionary<string, ServerMethod>> methods,
        IReadOnlyList<IRpcInterceptor> interceptors)
    {
        lock (_builtIns)
        {
            foreach ((ServerService service, Dictionary<string, ServerMethod> served) in methods)
            {
                service.Publish(served);
            }

            Interceptors = interceptors;
            foreach (WeakReference<IIntercepted> known in _builtIns)
            {
                if (known.TryGetTarget(out IIntercepted? builtIn))
                {
                    builtIn.Intercept(interceptors);
                }
            }
        }
    }

    /// <summary>The current sessions.</summary>
    public IReadOnlyList<RpcSession> Sessions => _sessions?.Sessions ?? [];

    /// <summary>The table of sessions.</summary>
    /// <exception cref="RpcException">FailedPrecondition when the server keeps none.</exception>
    public SessionTable RequireSessions() => _sessions
        ?? throw new RpcException(
            RpcStatusCode.FailedPrecondition, "This server keeps no sessions; enable them in its options.");

    /// <summary>A caller's session for the length of a call, or null.</summary>
    /// <exception cref="RpcException">PermissionDenied: the session belongs to another caller.</exception>
    public RpcSession? FindSession(Guid id, string owner) => _sessions?.Find(id, owner);

    /// <summary>Ends the session with the id that a caller sent, if it belongs to the caller.</summary>
    public void CloseSession(RpcServerCallContext context)
    {
        if (context.SessionId is { } id)
        {
            _sessions?.Close(id, context.Owner);
        }
    }

    /// <summary>Ends a session of any caller.</summary>
    public bool RemoveSession(Guid id) => _sessions?.Remove(id) == true;

    /// <summary>How much of exceptions a caller receives. This depends on the peer, not on the endpoint,
    /// because a Windows pipe can be reached from another machine.</summary>
    public RpcErrorDetail DetailFor(PeerIdentity peer) => Options.ErrorDetail
        ?? (peer.IsLocal && !IsOfOtherAccount(peer) ? RpcErrorDetail.Full : RpcErrorDetail.None);

    /// <summary>The failure for the caller, after the server has logged it.</summary>
    /// <param name="context">The call; null if it failed before its context was created.</param>
    /// <param name="peer">The caller.</param>
    /// <param name="error">The failure.</param>
    public CallFailure Fail(RpcServerCallContext? context, PeerIdentity peer, Exception error)
    {
        error = context?.Clock.Explain(error) ?? error;
        if (error is RpcException { ErrorId: RpcErrorIds.ServerBusy, IsByProtoRpc: true, IsForwarded: false })
        {
            Monitor.CountRefusal();
        }

        if (error is OperationCanceledException
            && context is { Clock.Aborted.IsCancellationRequested: true })
        {
            // The callback for failed calls does not record this error: the caller receives that the server
            // is stopping.
            return CallFailure.OfRequest(
                new OperationCanceledException(
                    "The server stopped the call before its handler ended.", error));
        }

        if (context is not { RunsHandler: true })
        {
            CallFailure early = error is CallerCheckFailure check
                ? CallFailure.OfUnexpected(check.Error, DetailFor(peer))
                : CallFailure.From(error, DetailFor(peer));
            if (!early.IsForCaller)
            {
                Record(early, context);
            }

            return early;
        }

        CallFailure failure = CallFailure.OfHandler(error, DetailFor(peer), context);
        if (!context.Clock.Aborted.IsCancellationRequested)
        {
            Record(failure, context);
        }

        return failure;
    }

    // The caller is neither the server's account nor root, so it must not receive stack traces.
    private static bool IsOfOtherAccount(PeerIdentity peer) => OperatingSystem.IsWindows()
        ? peer.User is WindowsIdentity caller && caller.User != ProcessToken.User
        : peer.UserId is { } id && id != 0 && id != UnixAccounts.EffectiveUserId;

    /// <summary>Ends all sessions, and drops messages whose parts are incomplete.</summary>
    public void Stop()
    {
        _sessions?.Dispose();
        Transfers.Dispose();
    }

    private RestRoutes ReadHttpRules()
    {
        List<string> problems = [];
        RestRoutes routes = RestRoutes.Create(Services.SelectMany(service => service.Info.Methods), problems);
        foreach (string problem in problems.Take(MaxWarnings))
        {
            Monitor.Warn(problem);
        }

        if (problems.Count > MaxWarnings)
        {
            Monitor.Warn($"{problems.Count - MaxWarnings} more HTTP rules of the schema are ignored.");
        }

        return routes;
    }

    private void Record(CallFailure failure, RpcServerCallContext? context)
    {
        Monitor.Log(context?.Method.FullName, context?.Endpoint, failure);
        try
        {
            Options.CallFailed?.Invoke(
                new RpcFailedCall(failure.Error, failure.Code, failure.CorrelationId, context));
        }
        catch (Exception)
        {
            // A failure to write the record must not fail the call.
        }
    }
}
