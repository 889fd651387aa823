using System.Diagnostics;
using System.Management.Automation;
using ProtoRpc.PowerShell.Cmdlets;

namespace ProtoRpc;

[Cmdlet(VerbsLifecycle.Wait, "RpcEndpoint", DefaultParameterSetName = ByConnection)]
[OutputType(typeof(RpcPingResult))]
public sealed class WaitRpcEndpointCommand : RpcPingCommand
{
    private const int MaxPings = 256;
    private static readonly TimeSpan FirstPause = TimeSpan.FromMilliseconds(50);
    private static readonly TimeSpan LongestPause = TimeSpan.FromSeconds(1);

    // A server that restarts may never answer what was sent to it before.
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
                CheckParameters(target, isRaw: schema is null && Service is null);
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

    // At the same time, because a server that accepts the connection and does not answer must not use up the
    // time of the others.
    private void Ask(PendingEndpoint[] endpoints, TimeSpan left, WaitProgress progress)
    {
        TimeSpan time = left < LongestPing ? left : LongestPing;
        Task<RpcPingResult>[] pings =
        [
            .. endpoints.Select(endpoint => Task.Factory.StartNew(
                () => endpoint.Ping(time),
                CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default)),
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
        RpcStatusCode.DeadlineExceeded,
        $"'{endpoint.Name}' was not ready within {Timeout.TotalSeconds:0.###} s. {endpoint.Last?.Message} "
        + "Increase -Timeout, or check why the service does not start.",
        endpoint.Last)
    {
        ErrorId = RpcErrorIds.EndpointNotReady,
        Endpoint = endpoint.Last?.Endpoint,
    };

    private sealed class PendingEndpoint(string name, Func<TimeSpan, RpcPingResult> ping)
    {
        public string Name => name;

        public RpcException? Last { get; set; }

        public RpcPingResult Ping(TimeSpan left) =>
            ping(left > TimeSpan.Zero ? left : TimeSpan.FromMilliseconds(1));
    }
}
