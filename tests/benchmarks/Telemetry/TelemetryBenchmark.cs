using System.Diagnostics;
using System.Diagnostics.Metrics;
using System.Globalization;
using Google.Protobuf;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Logging.Abstractions;
using ProtoRpc.Client;
using ProtoRpc.Server.Calls;

namespace ProtoRpc.Benchmarks.Telemetry;

/// <summary>What logs, activities and measurements cost a call: client and server in this process, one
/// caller, the variants in turns.</summary>
/// <remarks>CPU time and allocated bytes of the process, not rates: they hold on a machine that has other
/// work.</remarks>
internal static class TelemetryBenchmark
{
    private const int CallsAtATime = 200;
    private const int FlagReads = 20_000_000;

    public static void Run(BenchmarkOptions options)
    {
        Console.WriteLine(string.Create(
            CultureInfo.InvariantCulture,
            $"Client and server in one process on TCP, 1 caller, {options.WarmUp.TotalSeconds} s warm-up "
            + $"each, then {options.Rounds} x {options.Round.TotalSeconds} s in turns, medians of both "
            + $"sides together"));
        string log = Path.GetTempFileName();
        try
        {
            using Pair plain = new(new RpcServerOptions(), new RpcClientOptions());
            using Pair logged = new(
                new RpcServerOptions { AccessLog = RpcAccessLog.ToFile(log) }, new RpcClientOptions());
            using Pair informed = new(
                new RpcServerOptions { LoggerFactory = Quiet },
                new RpcClientOptions { LoggerFactory = Quiet });
            (string Name, Pair Pair, Func<IDisposable?> Listen)[] variants =
            [
                ("nobody listens", plain, () => null),
                ("nobody, again", plain, () => null),
                ("ILoggerFactory, Information", informed, () => null),
                ("access log", logged, () => null),
                ("MeterListener", plain, Measure),
                ("ActivityListener", plain, Trace),
            ];
            Run(options, variants);
        }
        finally
        {
            File.Delete(log);
        }

        Console.WriteLine(string.Create(
            CultureInfo.InvariantCulture,
            $"The flags that a call reads while nobody listens: {NanosecondsOfFlags():0.0} ns"));
    }

    private static ILoggerFactory Quiet { get; } = new InformationOnly();

    private static void Run(
        BenchmarkOptions options, (string Name, Pair Pair, Func<IDisposable?> Listen)[] variants)
    {
        List<(double Micros, double Bytes)>[] rounds =
            [.. variants.Select(_ => new List<(double, double)>())];
        for (int round = -1; round < options.Rounds; round++)
        {
            for (int i = 0; i < variants.Length; i++)
            {
                using IDisposable? listener = variants[i].Listen();
                (double, double) cost = variants[i].Pair.Call(round < 0 ? options.WarmUp : options.Round);
                if (round >= 0)
                {
                    rounds[i].Add(cost);
                }
            }
        }

        ResultTable table = new(
            "variant                    ", "CPU us/call", "lowest..highest", "bytes/call");
        for (int i = 0; i < variants.Length; i++)
        {
            double[] micros = [.. rounds[i].Select(round => round.Micros)];
            table.Row(
                variants[i].Name,
                Number(ResultTable.Median(micros)),
                $"{Number(micros.Min())}..{Number(micros.Max())}",
                ResultTable.Rate(ResultTable.Median(rounds[i].Select(round => round.Bytes))));
        }
    }

    // What RpcClient and ServerCall ask before and after each call.
    private static double NanosecondsOfFlags()
    {
        CallMonitor monitor = new();
        RpcEndpoint endpoint = RpcEndpoint.Parse("tcp://127.0.0.1:1");
        int found = 0;
        double best = double.MaxValue;
        for (int round = 0; round < 5; round++)
        {
            long start = Stopwatch.GetTimestamp();
            for (int i = 0; i < FlagReads; i++)
            {
                found += ClientTelemetry.Begin("protorpc", "x", endpoint, null, null) is null ? 0 : 1;
                found += monitor.IsTimed || CallTelemetry.IsTraced ? 1 : 0;
            }

            best = Math.Min(best, Stopwatch.GetElapsedTime(start).TotalNanoseconds / FlagReads);
        }

        return found == 0 ? best : double.NaN;
    }

    private static MeterListener Measure()
    {
        MeterListener listener = new()
        {
            InstrumentPublished = static (instrument, listener) =>
            {
                if (instrument.Meter.Name == RpcDiagnostics.MeterName)
                {
                    listener.EnableMeasurementEvents(instrument);
                }
            },
        };
        listener.SetMeasurementEventCallback<double>(static (_, _, _, _) => { });
        listener.Start();
        return listener;
    }

    private static ActivityListener Trace()
    {
        ActivityListener listener = new()
        {
            ShouldListenTo = static source => source.Name == RpcDiagnostics.ActivitySourceName,
            Sample = static (ref ActivityCreationOptions<ActivityContext> _) =>
                ActivitySamplingResult.AllDataAndRecorded,
        };
        ActivitySource.AddActivityListener(listener);
        return listener;
    }

    private static string Number(double value) => value.ToString("0.0", CultureInfo.InvariantCulture);

    /// <summary>A client and its server.</summary>
    private sealed class Pair : IDisposable
    {
        private readonly RpcServer _server;
        private readonly RpcClient _client;
        private readonly RpcMethodInfo _method;
        private readonly DynamicMessage _request;

        public Pair(RpcServerOptions server, RpcClientOptions client)
        {
            RpcSchema schema = SampleData.LoadSchema();
            DynamicMessage reply = SampleData.Dynamic(schema.GetMethod("Test").ReplyType, 0);
            _server = RpcServer.Create(schema, options: server)
                .Handle("Test", (_, _) => new ValueTask<IMessage>(reply))
                .AddEndpoint("tcp://127.0.0.1:0")
                .StartListening();
            _client = RpcClient.Connect(_server.Endpoints[0], schema, client);
            _method = _client.GetMethod("Test");
            _request = SampleData.Dynamic(_method.RequestType, 0);
        }

        /// <summary>Calls for a while.</summary>
        /// <returns>Microseconds of CPU time and allocated bytes of a call.</returns>
        public (double Micros, double Bytes) Call(TimeSpan time)
        {
            long calls = 0;
            long bytes = GC.GetTotalAllocatedBytes();
            TimeSpan used = Environment.CpuUsage.TotalTime;
            long start = Stopwatch.GetTimestamp();
            while (Stopwatch.GetElapsedTime(start) < time)
            {
                for (int i = 0; i < CallsAtATime; i++)
                {
                    _client.Invoke(_method, _request);
                }

                calls += CallsAtATime;
            }

            return (
                (Environment.CpuUsage.TotalTime - used).TotalMicroseconds / calls,
                (double)(GC.GetTotalAllocatedBytes() - bytes) / calls);
        }

        public void Dispose()
        {
            _client.Dispose();
            _server.Dispose();
        }
    }

    /// <summary>The level of most hosts: calls that succeed are not logged.</summary>
    private sealed class InformationOnly : ILoggerFactory, ILogger
    {
        public ILogger CreateLogger(string categoryName) => this;

        public void AddProvider(ILoggerProvider provider) => throw new NotSupportedException();

        public bool IsEnabled(LogLevel logLevel) => logLevel >= LogLevel.Information;

        public IDisposable? BeginScope<TState>(TState state)
            where TState : notnull => null;

        public void Log<TState>(
            LogLevel logLevel, EventId eventId, TState state, Exception? exception,
            Func<TState, Exception?, string> formatter) => NullLogger.Instance.Log(
                logLevel, eventId, state, exception, formatter);

        public void Dispose()
        {
        }
    }
}
