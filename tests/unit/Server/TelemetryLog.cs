using System.Collections.Concurrent;
using System.Diagnostics;
using System.Diagnostics.Metrics;

namespace ProtoRpc.Tests.Server;

/// <summary>Listens to what ProtoRpc reports in this process: that of other tests, too.</summary>
internal sealed class TelemetryLog : IDisposable
{
    private readonly ConcurrentQueue<Activity> _activities = [];
    private readonly ConcurrentQueue<Measurement> _measured = [];
    private readonly ActivityListener _activityListener;
    private readonly MeterListener _meterListener = new();

    public TelemetryLog()
    {
        _activityListener = new ActivityListener
        {
            ShouldListenTo = source => source.Name == RpcDiagnostics.ActivitySourceName,
            Sample = (ref ActivityCreationOptions<ActivityContext> _) =>
                ActivitySamplingResult.AllDataAndRecorded,
            ActivityStopped = _activities.Enqueue,
        };
        ActivitySource.AddActivityListener(_activityListener);
        _meterListener.InstrumentPublished = (instrument, listener) =>
        {
            if (instrument.Meter.Name == RpcDiagnostics.MeterName)
            {
                listener.EnableMeasurementEvents(instrument);
            }
        };
        _meterListener.SetMeasurementEventCallback<double>((instrument, value, tags, _) =>
            _measured.Enqueue(new(instrument.Name, value, new(tags.ToArray()))));
        _meterListener.Start();
    }

    /// <summary>The activities that have stopped, in the order of their ends.</summary>
    public IEnumerable<Activity> Activities => _activities;

    /// <summary>Those of servers.</summary>
    public IEnumerable<Activity> Served =>
        _activities.Where(activity => activity.Kind == ActivityKind.Server);

    public IEnumerable<Measurement> Measured => _measured;

    public void Dispose()
    {
        _activityListener.Dispose();
        _meterListener.Dispose();
    }

    internal sealed record Measurement(string Name, double Value, Dictionary<string, object?> Tags);
}
