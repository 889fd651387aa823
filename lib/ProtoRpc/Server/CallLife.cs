using System.Diagnostics;
using ProtoRpc.Server.AccessLogs;

namespace ProtoRpc.Server;

/// <summary>The life of a call on a server, the same on every face: it begins, is served or fails, is
/// answered, and ends.</summary>
/// <remarks>A face says how a call is read and how a reply and a failure are written. Nothing that happens
/// in a call leaves it as an exception, unless the failure itself cannot be written.</remarks>
internal abstract class CallLife(CallMonitor monitor)
{
    private Activity? _activity;
    private bool _hasStarted;

    /// <summary>Runs the call and answers it, also when it fails.</summary>
    public async ValueTask RunAsync()
    {
        RpcStatusCode status = RpcStatusCode.Cancelled;
        long began = monitor.IsTimed ? Stopwatch.GetTimestamp() : 0;
        monitor.Begin();
        try
        {
            status = await ServeAsync().ConfigureAwait(false);
        }
        catch (Exception e)
        {
            await CloseAsync().ConfigureAwait(false);
            if (!IsAbandoned)
            {
                StartUnknown(began);
                SetCurrentActivity();
                status = await FailAsync(e).ConfigureAwait(false);
            }
        }
        finally
        {
            Release();
            monitor.End(status);
            Report(status, began);
        }
    }

    /// <summary>Counts and logs the calls of the server.</summary>
    protected CallMonitor Monitor => monitor;

    /// <summary>Whether the caller no longer waits, so that the transport sends no reply.</summary>
    protected virtual bool IsAbandoned => false;

    /// <summary>Reads the request, has it handled and writes the reply.</summary>
    /// <returns>The status that the caller gets.</returns>
    protected abstract ValueTask<RpcStatusCode> ServeAsync();

    /// <summary>Answers a call that failed.</summary>
    /// <returns>The status that the caller gets.</returns>
    protected abstract ValueTask<RpcStatusCode> FailAsync(Exception error);

    /// <summary>Ends what a handler that was given up still reads or writes.</summary>
    protected virtual ValueTask CloseAsync() => default;

    /// <summary>Gives back what the call holds.</summary>
    protected virtual void Release()
    {
    }

    /// <summary>What is called, as far as it is known.</summary>
    protected abstract CallTarget Target { get; }

    /// <summary>Who calls.</summary>
    protected abstract PeerIdentity Caller { get; }

    /// <summary>What the caller named, where that is not the method that is called; null where it named
    /// nothing.</summary>
    protected virtual string? CalledName => null;

    /// <summary>The bytes of the requests that came.</summary>
    protected abstract long BytesIn { get; }

    /// <summary>The bytes of the replies that went.</summary>
    protected abstract long BytesOut { get; }

    /// <summary>What the call is part of; the default for a call on its own.</summary>
    protected virtual ActivityContext ReadParent() => default;

    /// <summary>Begins the activity of the call, where somebody listens and once the target is
    /// known.</summary>
    protected void StartActivity()
    {
        _hasStarted = true;
        if (CallTelemetry.IsTraced)
        {
            _activity = CallTelemetry.Start(Target, ReadParent());
        }
    }

    // A call that failed before its target was known.
    private void StartUnknown(long began)
    {
        if (_hasStarted || began == 0 || !CallTelemetry.IsTraced)
        {
            return;
        }

        TimeSpan time = Stopwatch.GetElapsedTime(began);
        CallTarget target = Target;
        _activity = target.Method == CallTarget.UnknownMethod
            ? CallTelemetry.StartUnknown(target, CalledName, ReadParent())
            : CallTelemetry.Start(target, ReadParent());
        _activity?.SetStartTime(DateTime.UtcNow - time);
    }

    // What is current in ServeAsync ends with it; the log of a failure also belongs to the call.
    private void SetCurrentActivity()
    {
        if (_activity is not null)
        {
            Activity.Current = _activity;
        }
    }

    private void Report(RpcStatusCode status, long began)
    {
        if (_activity is not null)
        {
            CallTelemetry.Stop(_activity, status);
        }

        if (began != 0)
        {
            Note(status, Stopwatch.GetElapsedTime(began));
        }
    }

    private void Note(RpcStatusCode status, TimeSpan time)
    {
        CallTarget target = Target;
        if (CallTelemetry.IsMeasured)
        {
            CallTelemetry.Measure(target, status, time);
        }

        monitor.Sink?.Add(new RpcAccessLogEntry
        {
            Time = DateTimeOffset.UtcNow - time,
            Peer = AccessLogText.Of(Caller),
            User = AccessLogText.NameOf(Caller),
            Transport = target.Endpoint.Transport,
            Endpoint = target.Endpoint,
            Method = target.Method == CallTarget.UnknownMethod
                ? AccessLogText.Of(CalledName ?? target.Method)
                : target.Method,
            Status = status,
            Milliseconds = time.TotalMilliseconds,
            BytesIn = BytesIn,
            BytesOut = BytesOut,
            TraceId = _activity?.TraceId.ToHexString(),
        });
    }
}
