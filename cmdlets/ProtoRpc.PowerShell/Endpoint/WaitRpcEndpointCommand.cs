using System.Diagnostics;
using Google.Protobuf;
using ProtoRpc.Messages;
using ProtoRpc.PowerShell.Cmdlets;
using ProtoRpc.PowerShell.Completion;
using ProtoRpc.PowerShell.Connections;
using ProtoRpc.PowerShell.Objects;
using ProtoRpc.Protocols.Native;
using static System.FormattableString;

namespace ProtoRpc;

/// <summary>The base of cmdlets that ping connections, endpoints, or the endpoints of listeners.</summary>
public abstract class RpcPingCommand : RpcEndpointCommand
{
    protected const string ByConnection = "Connection";

    /// <summary>The number of endpoints that are pinged at the same time.</summary>
    private protected const int MaxPings = 256;

    private protected RpcPingCommand()
    {
    }

    [Parameter(Mandatory = true, Position = 0, ValueFromPipeline = true, ParameterSetName = ByEndpoint)]
    [ValidateNotNullOrEmpty]
    [NoConnection]
    [FilledLines]
    [ArgumentCompleter(typeof(EndpointCompleter))]
    public override string[] Endpoint
    {
        get => base.Endpoint;
        set => base.Endpoint = value;
    }

    [Parameter(ValueFromPipeline = true, ParameterSetName = ByConnection)]
    [ValidateNotNull]
    [ArgumentCompleter(typeof(ConnectionCompleter))]
    public RpcConnection? Connection { get; set; }

    /// <summary>The given connection, or the only open one.</summary>
    private protected RpcClient FindClient() => RunspaceStore.Current.Resolve(Connection, "-Endpoint").Client;

    /// <summary>Connects to an endpoint, and pings it.</summary>
    /// <param name="endpoint">The endpoint.</param>
    /// <param name="schema">The schema of its services; null if unknown.</param>
    /// <param name="options">The options for connecting.</param>
    /// <param name="deadline">The time for connecting and the ping together; null for the defaults.</param>
    /// <param name="compares">Whether to compare the schema with the schema that the server publishes, if it
    /// publishes one.</param>
    /// <param name="request">The request to its ping handlers; null for none.</param>
    /// <exception cref="RpcException">The endpoint does not reply, or does not serve the requested
    /// service.</exception>
    private protected RpcPingResult Ping(
        RpcEndpoint endpoint, RpcSchema? schema, RpcClientOptions options, TimeSpan? deadline,
        bool compares = false,
        IMessage? request = null)
    {
        // Without a schema, the client cannot look up the service, but the server can check its name.
        RpcClientOptions known = schema is null ? options with { Service = null } : options;
        Stopwatch watch = Stopwatch.StartNew();
        using RpcClient client = RpcClient.Connect(endpoint, schema, Within(known, deadline), Cancellation);
        RpcPingResult result = client.Ping(
            new RpcPingOptions
            {
                Service = options.Service,
                Timeout = Left(deadline, watch.Elapsed),
                Request = request,
            },
            Cancellation);
        return !compares || schema is null
            ? result
            : result with { SchemaDifferences = client.CompareSchema(GivenService, Cancellation) ?? [] };
    }

    /// <summary>Starts a ping on a thread that waits for the server.</summary>
    private protected static Task<T> StartPing<T>(Func<T> ping) => Task.Factory.StartNew(
        ping, CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default);

    /// <summary>The request for the server's ping handlers; null for none.</summary>
    /// <exception cref="RpcException">InvalidArgument: the message does not fit the type of ping
    /// requests.</exception>
    private protected static IMessage? ToRequest(RpcSchema? schema, object? message) => message is null
        ? null
        : ShellMapper.Create(asHashtable: false).ToMessage(PingProtocol.InfoIn(schema).RequestType, message);

    /// <summary>Whether a server is healthy. A server that reports another health status than Serving is
    /// not.</summary>
    private protected static bool IsWell(RpcPingResult result) => result.Health is "" or "Serving";

    private static RpcClientOptions Within(RpcClientOptions options, TimeSpan? deadline) =>
        deadline is { } time && time > TimeSpan.Zero && time < options.Limits.ConnectTimeout
            ? options with { Limits = options.Limits with { ConnectTimeout = time } }
            : options;

    private static TimeSpan? Left(TimeSpan? deadline, TimeSpan elapsed)
    {
        if (deadline is not { } time || time == Timeout.InfiniteTimeSpan)
        {
            return deadline;
        }

        return time > elapsed ? time - elapsed : TimeSpan.FromMilliseconds(1);
    }
}

[Cmdlet(VerbsDiagnostic.Test, "RpcEndpoint", DefaultParameterSetName = ByConnection)]
[OutputType(typeof(RpcPingResult), typeof(bool))]
public sealed class TestRpcEndpointCommand : RpcPingCommand
{
    // Written in the order of the endpoints, so that a table of results can be compared with the list of
    // endpoints.
    private readonly Queue<PendingPing> _pending = [];

    [Parameter]
    [Deadline]
    public TimeSpan? Deadline { get; set; }

    [Parameter]
    [ValidateNotNull]
    [ArgumentCompleter(typeof(PingMessageCompleter))]
    public object? Message { get; set; }

    [Parameter]
    public SwitchParameter Quiet { get; set; }

    protected override void Process()
    {
        if (ParameterSetName == ByConnection)
        {
            RpcClient client = FindClient();
            RpcPingOptions ping = new() { Timeout = Deadline, Request = ToRequest(client.Schema, Message) };
            Start(client.Endpoint, () => client.Ping(ping, Cancellation));
            return;
        }

        RpcSchema? schema = FindSchema();
        foreach (EndpointTarget target in FindTargets())
        {
            Guard(target.Name, () => Ping(target, SchemaOf(target, schema)));
        }
    }

    // A wrong parameter says nothing about the endpoint, so it is an error even with -Quiet.
    private void Ping(EndpointTarget target, RpcSchema? schema)
    {
        RpcEndpoint endpoint = target.Require();
        CheckParameters(target, isRaw: schema is null && GivenService is null);
        RpcClientOptions options = CreateOptions();
        IMessage? request = ToRequest(schema, Message);
        Start(endpoint, () => Ping(endpoint, schema, options, Deadline, compares: true, request));
    }

    protected override void End() => Take(atLeast: _pending.Count);

    protected override void Dispose(bool disposing)
    {
        if (disposing)
        {
            // Pings may still be running, for example after Select-Object -First.
            StopProcessing();
        }

        base.Dispose(disposing);
    }

    // Started in parallel, because each unreachable host takes the whole timeout.
    private void Start(RpcEndpoint endpoint, Func<RpcPingResult> ping)
    {
        Take(atLeast: _pending.Count < MaxPings ? 0 : 1);
        _pending.Enqueue(new(endpoint, StartPing(() => Run(ping))));
    }

    // Writes the next results, and all further ones that are already complete.
    private void Take(int atLeast)
    {
        for (int left = atLeast;
            _pending.TryPeek(out PendingPing? next) && (left > 0 || next.Outcome.IsCompleted);
            left--)
        {
            while (Task.WaitAny([next.Outcome], WaitProgress.Period) < 0)
            {
                WritePendingRetries();
            }

            _pending.Dequeue();
            Cancellation.ThrowIfCancellationRequested();
            Write(next.Endpoint, next.Outcome.GetAwaiter().GetResult());
        }
    }

    private static PingOutcome Run(Func<RpcPingResult> ping)
    {
        long start = Stopwatch.GetTimestamp();
        try
        {
            return new(ping(), Error: null, Stopwatch.GetElapsedTime(start));
        }
        catch (RpcException e)
        {
            return new(Result: null, e, Stopwatch.GetElapsedTime(start));
        }
    }

    private void Write(RpcEndpoint endpoint, PingOutcome outcome)
    {
        RpcException? error = outcome.Error;
        string text = Invariant(
            $"Ping of {endpoint}: {error?.Code ?? RpcStatusCode.OK}")
            + Invariant($" in {outcome.Time.TotalMilliseconds:0.###} ms");
        if (outcome.Result is { } result)
        {
            WriteVerbose(
                text + Invariant($", the ping itself {result.Latency.TotalMilliseconds:0.###} ms")
                + (result.Health.Length == 0 ? "" : $", {TerminalText.Neutralize(result.Health)}"));
            Report(result);
            return;
        }

        WriteVerbose(text);
        if (Quiet)
        {
            WriteObject(false);
            return;
        }

        WriteError(RpcErrors.ToRecord(error!, endpoint.ToString()));

        // An error is also written as a row, so that a table has all endpoints.
        WriteObject(new RpcPingResult(endpoint, outcome.Time, "", "", Array.Empty<string>(), null)
        {
            Error = error,
        });
    }

    private sealed record PendingPing(RpcEndpoint Endpoint, Task<PingOutcome> Outcome);

    private sealed record PingOutcome(RpcPingResult? Result, RpcException? Error, TimeSpan Time);

    // Converts the reply to the object that the shell shows for messages.
    private static object ToShell(RpcPingResult result)
    {
        if (result.Reply is not { } reply)
        {
            return result;
        }

        PSObject shown = new(result);
        shown.Properties.Add(new PSNoteProperty(
            nameof(result.Reply), ShellMapper.Create(asHashtable: false).ToObject(reply)));
        return shown;
    }

    private void Report(RpcPingResult result)
    {
        foreach (string difference in result.SchemaDifferences)
        {
            WriteWarning($"The schema of '{result.Endpoint}' differs from -Schema: {difference}");
        }

        if (GivenService is { } service && result is { Health: "", Services.Count: 0 })
        {
            WriteWarning(
                $"'{result.Endpoint}' answers, but does not list its services, so '{service}' may "
                + "be missing.");
        }

        WriteObject(Quiet ? IsWell(result) && result.SchemaDifferences.Count == 0 : ToShell(result));
    }
}

[Cmdlet(VerbsLifecycle.Wait, "RpcEndpoint", DefaultParameterSetName = ByConnection)]
[OutputType(typeof(RpcPingResult))]
public sealed class WaitRpcEndpointCommand : RpcPingCommand
{
    private static readonly TimeSpan FirstPause = TimeSpan.FromMilliseconds(50);
    private static readonly TimeSpan LongestPause = TimeSpan.FromSeconds(1);

    // A server that restarts may never reply to a ping that was sent before.
    private static readonly TimeSpan LongestPing = TimeSpan.FromSeconds(5);

    private readonly List<PendingEndpoint> _pending = [];

    [Parameter]
    [Deadline]
    public TimeSpan Timeout { get; set; } = TimeSpan.FromSeconds(60);

    protected override void Process()
    {
        if (ParameterSetName == ByConnection)
        {
            RpcClient client = FindClient();
            _pending.Add(new(
                client.Endpoint.ToString(),
                left => client.Ping(new() { Service = Service, Timeout = left }, Cancellation)));
            return;
        }

        RpcSchema? given = FindSchema();
        foreach (EndpointTarget target in FindTargets())
        {
            Guard(target.Name, () =>
            {
                RpcEndpoint endpoint = target.Require();
                RpcSchema? schema = SchemaOf(target, given);
                CheckParameters(target, isRaw: schema is null && GivenService is null);
                RpcClientOptions options = CreateOptions();
                _pending.Add(new(target.Name, left => Ping(endpoint, schema, options, left)));
            });
        }
    }

    protected override void End()
    {
        Stopwatch watch = Stopwatch.StartNew();
        using WaitProgress progress = new("Waiting for endpoints", WriteProgress);
        TimeSpan pause = FirstPause;
        while (_pending.Count > 0 && !Stopping)
        {
            foreach (PendingEndpoint[] some in _pending.Chunk(MaxPings).ToArray())
            {
                Ask(some, Remaining(watch), progress);
            }

            if (_pending.Count == 0 || Remaining(watch) <= TimeSpan.Zero)
            {
                break;
            }

            TimeSpan left = Remaining(watch);
            Cancellation.WaitHandle.WaitOne(pause < left ? pause : left);
            pause = pause * 2 < LongestPause ? pause * 2 : LongestPause;
        }

        foreach (PendingEndpoint endpoint in _pending.Where(_ => !Stopping))
        {
            WriteError(RpcErrors.ToRecord(NotReady(endpoint), endpoint.Name));
        }
    }

    // Pinged in parallel, because a server that accepts the connection but does not reply must not use up the
    // time of the others.
    private void Ask(PendingEndpoint[] endpoints, TimeSpan left, WaitProgress progress)
    {
        TimeSpan time = left < LongestPing ? left : LongestPing;
        Task<RpcPingResult>[] pings =
        [
            .. endpoints.Select(endpoint => StartPing(() => endpoint.Ping(time))),
        ];
        foreach ((PendingEndpoint endpoint, Task<RpcPingResult> ping) in endpoints.Zip(pings))
        {
            do
            {
                progress.Report(() => $"{endpoint.Name}: {endpoint.Last?.Message ?? "no answer yet"}");
            }
            while (Task.WaitAny([ping], WaitProgress.Period) < 0);

            Take(endpoint, ping, left);
        }
    }

    private void Take(PendingEndpoint endpoint, Task<RpcPingResult> ping, TimeSpan left)
    {
        try
        {
            RpcPingResult result = ping.GetAwaiter().GetResult();
            if (IsWell(result))
            {
                _pending.Remove(endpoint);
                WriteObject(result);
                return;
            }

            endpoint.Last = new RpcException(
                RpcStatusCode.Unavailable,
                $"'{endpoint.Name}' answers, but its health is {result.Health}.");
        }
        catch (RpcException e) when (IsTemporary(e))
        {
            // If the last ping had little time left, its timeout says less than the previous error.
            if (endpoint.Last is null || left >= LongestPing || e.Code is not RpcStatusCode.DeadlineExceeded)
            {
                endpoint.Last = e;
            }
        }
        catch (RpcException e)
        {
            _pending.Remove(endpoint);
            if (!Stopping)
            {
                WriteError(RpcErrors.ToRecord(e, endpoint.Name));
            }
        }
    }

    // Retrying does not help if the server rejects the caller, or if its certificate is not trusted. A
    // service that is not served yet may start later.
    private static bool IsTemporary(RpcException e) =>
        e.ErrorId is not (RpcErrorIds.CertificateNotTrusted or RpcErrorIds.TlsHandshakeFailed)
        && e.Code is RpcStatusCode.Unavailable or RpcStatusCode.DeadlineExceeded or RpcStatusCode.NotFound
            or RpcStatusCode.Unimplemented or RpcStatusCode.ResourceExhausted or RpcStatusCode.Internal
            or RpcStatusCode.Unknown;

    private TimeSpan Remaining(Stopwatch watch)
    {
        if (Timeout == System.Threading.Timeout.InfiniteTimeSpan)
        {
            return LongestPing;
        }

        // Each endpoint is pinged at least once.
        TimeSpan left = Timeout - watch.Elapsed;
        return left > TimeSpan.Zero ? left : TimeSpan.Zero;
    }

    private RpcException NotReady(PendingEndpoint endpoint) => new(
        RpcStatusCode.DeadlineExceeded, RpcErrorIds.EndpointNotReady,
        $"'{endpoint.Name}' was not ready within {Timeout.TotalSeconds:0.###} s. {endpoint.Last?.Message} "
        + "Increase -Timeout, or check why the service does not start.",
        endpoint.Last?.Endpoint, endpoint.Last);

    private sealed class PendingEndpoint(string name, Func<TimeSpan, RpcPingResult> ping)
    {
        public string Name => name;

        public RpcException? Last { get; set; }

        public RpcPingResult Ping(TimeSpan left) =>
            ping(left > TimeSpan.Zero ? left : TimeSpan.FromMilliseconds(1));
    }
}

/// <summary>Offers the request of a ping, with the extensions that the schema declares.</summary>
internal sealed class PingMessageCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound) => Types(bound)
        .Select(type => Candidate.OfScript(
            ScriptLiteral.Format(ShellMapper.Create(asHashtable: true).Template(type)), type.FullName));

    internal override HashtableShape? TableOf(IDictionary bound) => HashtableShape.OfMessage(Types(bound));

    private static IEnumerable<RpcMessageInfo> Types(IDictionary bound) => SchemasOf(bound)
        .Cast<RpcSchema?>()
        .DefaultIfEmpty(null)
        .Select(schema => PingProtocol.InfoIn(schema).RequestType);
}
