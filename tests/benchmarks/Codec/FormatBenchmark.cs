using System.Buffers;
using System.Diagnostics;
using System.Globalization;
using Google.Protobuf;
using ProtoRpc.Benchmarks.Messages;

namespace ProtoRpc.Benchmarks.Codec;

/// <summary>Each text format with generated messages and with dynamic ones, in turns, and what it allocates;
/// JSON also with System.Text.Json.</summary>
internal static class FormatBenchmark
{
    private const int DefaultRecords = 100;
    private const int Pieces = 4096;

    // Short, so that all see the same weather.
    private static readonly TimeSpan Turn = TimeSpan.FromMilliseconds(100);

    public static void Run(BenchmarkOptions options)
    {
        RpcSchema schema = SampleData.LoadSchema();
        Console.WriteLine(string.Create(
            CultureInfo.InvariantCulture,
            $"Formats, {options.WarmUp.TotalSeconds} s warm-up each, "
            + $"then {options.Rounds} x {options.Round.TotalSeconds} s "
            + $"in turns of {Turn.TotalMilliseconds} ms, medians"));
        ResultTable table = new(
            "operation", "records", "bytes", "dynamic us", "dynamic KB", "generated us", "generated KB",
            "STJ us  ", "STJ KB  ");
        foreach (int records in options.RecordsOr(DefaultRecords))
        {
            SampleRequest request = SampleData.Request(records);
            foreach (MessageFormat format in
                (MessageFormat[])[MessageFormats.Json, MessageFormats.Xml, MessageFormats.Text])
            {
                Compare(options, table, format, schema, request, () => new SampleRequest());
            }
        }

        // A form holds no messages.
        Compare(
            options, table, MessageFormats.Form, schema,
            SampleData.Request(1).Data[0], () => new SampleProtoData());
    }

    private static void Compare(
        BenchmarkOptions options, ResultTable table, MessageFormat format, RpcSchema schema,
        IMessage generated, Func<IMessage> make)
    {
        DynamicMessage dynamic = DynamicMessage.Parse(
            schema.GetMessage(generated.Descriptor.FullName), generated.ToByteArray());
        byte[] text = format.ToArray(generated);
        ArrayBufferWriter<byte> buffer = new(text.Length + 4096);
        ReadOnlySequence<byte> whole = new(text);
        ReadOnlySequence<byte> pieces = Piece.Of(text, Pieces);
        string records = generated is SampleRequest request
            ? request.Data.Count.ToString(CultureInfo.InvariantCulture)
            : "-";
        JsonMessage? compared = format == MessageFormats.Json ? SystemTextJson.Read(whole) : null;
        Action[] Reads(ReadOnlySequence<byte> input) => compared is null
            ? [() => format.Read(dynamic.Type, input), () => format.Read(input, make())]
            : [() => format.Read(dynamic.Type, input), () => format.Read(input, make()),
                () => SystemTextJson.Read(input)];
        Row(
            "write",
            [
                () => Write(dynamic), () => Write(generated),
                .. compared is null ? [] : (Action[])[WriteCompared],
            ]);
        Row("read", Reads(whole));
        Row("pieces", Reads(pieces));

        void WriteCompared()
        {
            buffer.ResetWrittenCount();
            SystemTextJson.Write(compared, buffer);
        }

        void Write(IMessage message)
        {
            buffer.ResetWrittenCount();
            format.Write(message, buffer);
        }

        void Row(string operation, params Action[] actions)
        {
            List<double>[] times = Array.ConvertAll(actions, _ => new List<double>());
            Array.ForEach(actions, action => Time(action, options.WarmUp));
            int turns = Math.Max(3, (int)(options.Rounds * options.Round / Turn));
            for (int i = 0; i < turns * actions.Length; i++)
            {
                times[i % actions.Length].Add(Time(actions[i % actions.Length], Turn));
            }

            string[] figures = [.. actions.SelectMany((action, i) => (string[])
            [
                ResultTable.Median(times[i]).ToString("0.0", CultureInfo.InvariantCulture),
                (Allocations.Of(action) / 1024.0).ToString("0.0", CultureInfo.InvariantCulture),
            ])];
            table.Row(
                [$"{format.Name} {operation}", records,
                    text.Length.ToString(CultureInfo.InvariantCulture), .. figures]);
        }
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

    private sealed class Piece : ReadOnlySequenceSegment<byte>
    {
        public static ReadOnlySequence<byte> Of(byte[] bytes, int size)
        {
            Piece start = new() { Memory = bytes.AsMemory(0, Math.Min(size, bytes.Length)) };
            Piece end = start;
            for (int offset = size; offset < bytes.Length; offset += size)
            {
                Piece next = new()
                {
                    Memory = bytes.AsMemory(offset, Math.Min(size, bytes.Length - offset)),
                    RunningIndex = offset,
                };
                end.Next = next;
                end = next;
            }

            return new ReadOnlySequence<byte>(start, 0, end, end.Memory.Length);
        }
    }
}
