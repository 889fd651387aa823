using System.Buffers;
using System.Diagnostics;
using System.Globalization;
using Google.Protobuf;

namespace ProtoRpc.Benchmarks.Codec;

/// <summary>DynamicMessage against the classes that protoc generates, in turns: messages made new, encoded
/// and decoded, and the bytes that each allocates.</summary>
internal static class CodecBenchmark
{
    private const int DefaultRecords = 100;
    private const int Batch = 5;
    private const string Goal = "1.00";

    // Shorter than a system's time slice, so that most turns are not interrupted on a busy machine, and both
    // see the same weather.
    private static readonly TimeSpan Turn = TimeSpan.FromMilliseconds(2);

    public static void Run(BenchmarkOptions options)
    {
        Console.WriteLine(string.Create(
            CultureInfo.InvariantCulture,
            $"Codec, dynamic and generated, {options.WarmUp.TotalSeconds} s warm-up each, "
            + $"then {options.Rounds} x {options.Round.TotalSeconds} s "
            + $"in turns of {Turn.TotalMilliseconds} ms, the fastest tenth"));
        ResultTable table = new(
            "operation", "records", "bytes", "generated us", "dynamic us", "ratio", "generated B",
            "dynamic B", "goal");
        foreach (int records in options.RecordsOr(DefaultRecords))
        {
            RecordValues values = new(records);
            Compare(options, table, records, CodecRecords.Flat(values));
            Compare(options, table, records, CodecRecords.Timed(values));
        }
    }

    private static void Compare(
        BenchmarkOptions options, ResultTable table, int records, CodecRecords kind)
    {
        IMessage generated = kind.Generated(records);
        DynamicMessage made = kind.Dynamic(records);
        byte[] bytes = generated.ToByteArray();
        DynamicMessage decoded = DynamicMessage.Parse(kind.Type, bytes);
        ArrayBufferWriter<byte> buffer = new(bytes.Length + 16);

        Row("encode", Goal, Encode(() => generated), EncodeDynamic(() => made));
        Row("encode decoded", Goal, Encode(() => generated), EncodeDynamic(() => decoded));
        Row("encode IMessage", "", Encode(() => generated), Encode(() => made));
        Row("size IMessage", "", () => generated.CalculateSize(), () => made.CalculateSize());
        Row("decode", Goal,
            () => kind.Parser.ParseFrom(bytes), () => DynamicMessage.Parse(kind.Type, bytes));
        Row("make", "", () => kind.Generated(records), () => kind.Dynamic(records));
        Row("make named", "", () => kind.Generated(records), () => kind.Named(records));
        Row("make, encode", "",
            Encode(() => kind.Generated(records)), EncodeDynamic(() => kind.Dynamic(records)));

        Action Encode(Func<IMessage> message) => () =>
        {
            buffer.ResetWrittenCount();
            message().WriteTo(buffer);
        };

        // By its own method, as its static type has it; as an IMessage, it goes through Google.Protobuf.
        Action EncodeDynamic(Func<DynamicMessage> message) => () =>
        {
            buffer.ResetWrittenCount();
            message().WriteTo(buffer);
        };

        void Row(string operation, string goal, Action first, Action second)
        {
            (double generatedTime, double dynamicTime, double ratio) = Race(options, first, second);
            table.Row(
                $"{kind.Name} {operation}",
                records.ToString(CultureInfo.InvariantCulture),
                bytes.Length.ToString(CultureInfo.InvariantCulture),
                Microseconds(generatedTime),
                Microseconds(dynamicTime),
                ratio.ToString("0.00", CultureInfo.InvariantCulture),
                Allocations.Of(first).ToString(CultureInfo.InvariantCulture),
                Allocations.Of(second).ToString(CultureInfo.InvariantCulture),
                goal);
        }
    }

    private static (double Generated, double Dynamic, double Ratio) Race(
        BenchmarkOptions options, Action generated, Action dynamic)
    {
        Time(generated, options.WarmUp);
        Time(dynamic, options.WarmUp);
        List<double> generatedTimes = [];
        List<double> dynamicTimes = [];
        int turns = Math.Max(3, (int)(options.Rounds * options.Round / (2 * Turn)));
        for (int i = 0; i < turns; i++)
        {
            generatedTimes.Add(Time(generated, Turn));
            dynamicTimes.Add(Time(dynamic, Turn));
        }

        double first = Fast(generatedTimes);
        double second = Fast(dynamicTimes);
        return (first, second, second / first);
    }

    // The time that a tenth of the turns keeps: what is above it, other programs took.
    private static double Fast(List<double> times) => times.Order().ElementAt(times.Count / 10);

    // Microseconds for one operation.
    private static double Time(Action operation, TimeSpan time)
    {
        long start = Stopwatch.GetTimestamp();
        long count = 0;
        TimeSpan elapsed;
        do
        {
            // Reading the clock takes as long as a small message.
            for (int i = 0; i < Batch; i++)
            {
                operation();
            }

            count += Batch;
            elapsed = Stopwatch.GetElapsedTime(start);
        }
        while (elapsed < time);
        return elapsed.TotalMicroseconds / count;
    }

    private static string Microseconds(double value) => value.ToString("0.0", CultureInfo.InvariantCulture);
}
