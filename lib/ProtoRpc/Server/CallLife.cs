using System.Diagnostics;
using ProtoRpc.Server.AccessLogs;

namespace ProtoRpc.Server;

/// <summary>The life cycle of a call on a server, for every protocol: it begins, is served or fails, is
/// answered, and ends.</summary>
/// <remarks>Derived classes read the call, and write the reply or the failure. No exception of a call
/// escapes, unless the failure itself cannot be written.</remarks>
internal abstract class CallLife(CallMonitor monitor)
{
    private Activity? _activity;
    private bool _hasStarted;

    /// <summary>Runs the call and sends its reply or failure.</summary>
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

    /// <summary>Reads the request, runs the handler and writes the reply.</summary>
    /// <returns>The status that the caller receives.</returns>
    protected abstract ValueTask<RpcStatusCode> ServeAsync();

    /// <summary>Answers a call that failed.</summary>
    /// <returns>The status that the caller receives.</returns>
    protected abstract ValueTask<RpcStatusCode> FailAsync(Exception error);

    /// <summary>Ends reads and writes of a handler that has not stopped.</summary>
    protected virtual ValueTask CloseAsync() => default;

    /// <summary>Releases the resources of the call.</summary>
    protected virtual void Release()
    {
    }

    /// <summary>The called method, as far as it is known.</summary>
    protected abstract CallTarget Target { get; }

    /// <summary>The caller.</summary>
    protected abstract PeerIdentity Caller { get; }

    /// <summary>The name that the caller sent, if it differs from the called method; null if it sent
    /// none.</summary>
    protected virtual string? CalledName => null;

    /// <summary>The number of received request bytes.</summary>
    protected abstract long BytesIn { get; }

    /// <summary>The number of sent reply bytes.</summary>
    protected abstract long BytesOut { get; }

    /// <summary>The trace context that the call belongs to; the default for none.</summary>
    protected virtual ActivityContext ReadParent() => default;

    /// <summary>Starts the call's activity, if there is a listener and the target is known.</summary>
    protected void StartActivity()
    {
        _hasStarted = true;
        if (CallTelemetry.IsTraced)
        {
            _activity = CallTelemetry.Start(Target, ReadParent());
        }
    }

    // Starts the activity of a call that failed before its target was known.
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

    // ServeAsync restores the previous activity when it returns, but the log entry of a failure also belongs
    // to the call.
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
