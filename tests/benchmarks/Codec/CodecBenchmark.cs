using System.Buffers;
using System.Diagnostics;
using System.Globalization;
using Google.Protobuf;
using ProtoRpc.Benchmarks.Messages;

namespace ProtoRpc.Benchmarks.Codec;

/// <summary>DynamicMessage against the classes that protoc generates, in turns.</summary>
internal static class CodecBenchmark
{
    private const int DefaultRecords = 100;

    // Short, so that both see the same weather; a turn of a hundred microsecond operations still times well.
    private static readonly TimeSpan Turn = TimeSpan.FromMilliseconds(100);

    public static void Run(BenchmarkOptions options)
    {
        RpcMessageInfo type = SampleData.LoadSchema().GetMessage("Benchmark.SampleRequest");
        Console.WriteLine(string.Create(
            CultureInfo.InvariantCulture,
            $"Codec, dynamic and generated, {options.WarmUp.TotalSeconds} s warm-up each, "
            + $"then {options.Rounds} x {options.Round.TotalSeconds} s "
            + $"in turns of {Turn.TotalMilliseconds} ms, medians"));
        ResultTable table = new(
            "operation", "records", "bytes", "generated us", "dynamic us", "ratio", "goal");
        foreach (int records in options.Records is [0] ? [DefaultRecords] : options.Records)
        {
            SampleRequest generated = SampleData.Request(records);
            byte[] bytes = generated.ToByteArray();
            DynamicMessage message = DynamicMessage.Parse(type, bytes);
            ArrayBufferWriter<byte> buffer = new(bytes.Length + 16);
            string goal = records == DefaultRecords ? "<= 2.0" : "";

            Compare(
                options, table, "encode", records, bytes.Length, goal,
                Encode(generated, buffer), Encode(message, buffer));
            Compare(
                options, table, "decode", records, bytes.Length, goal,
                () => SampleRequest.Parser.ParseFrom(bytes), () => DynamicMessage.Parse(type, bytes));
        }
    }

    private static Action Encode(IMessage message, ArrayBufferWriter<byte> buffer) => () =>
    {
        buffer.ResetWrittenCount();
        message.WriteTo(buffer);
    };

    private static void Compare(
        BenchmarkOptions options, ResultTable table, string name, int records, int bytes, string goal,
        Action generated, Action dynamic)
    {
        Time(generated, options.WarmUp);
        Time(dynamic, options.WarmUp);
        List<double> generatedTimes = [];
        List<double> dynamicTimes = [];
        int turns = Math.Max(3, (int)(options.Rounds * options.Round / Turn));
        for (int i = 0; i < turns; i++)
        {
            generatedTimes.Add(Time(generated, Turn));
            dynamicTimes.Add(Time(dynamic, Turn));
        }

        double ratio = ResultTable.Median(generatedTimes.Zip(dynamicTimes, (g, d) => d / g));
        table.Row(
            name,
            records.ToString(CultureInfo.InvariantCulture),
            bytes.ToString(CultureInfo.InvariantCulture),
            Microseconds(ResultTable.Median(generatedTimes)),
            Microseconds(ResultTable.Median(dynamicTimes)),
            ratio.ToString("0.00", CultureInfo.InvariantCulture),
            goal);
    }

    // Microseconds for one operation.
    private static double Time(Action operation, TimeSpan time)
    {
        long start = Stopwatch.GetTimestamp();
        long count = 0;
        TimeSpan elapsed;
        do
        {
            operation();
            count++;
            elapsed = Stopwatch.GetElapsedTime(start);
        }
        while (elapsed < time);
        return elapsed.TotalMicroseconds / count;
    }

    private static string Microseconds(double value) => value.ToString("0.0", CultureInfo.InvariantCulture);
}
