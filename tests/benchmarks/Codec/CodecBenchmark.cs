using System.Buffers;
using System.Globalization;
using Google.Protobuf;

namespace ProtoRpc.Benchmarks.Codec;

/// <summary>DynamicMessage against the classes that protoc generates: messages made new, encoded and
/// decoded.</summary>
internal static class CodecBenchmark
{
    private const int DefaultRecords = 100;

    /// <summary>Measures and prints a table for each kind of records.</summary>
    public static void Run(BenchmarkOptions options)
    {
        Console.WriteLine(MicroRace.Describe(options));
        foreach (MicroGroup group in Measure(options))
        {
            Console.WriteLine();
            Console.WriteLine(group.Name);
            ResultTable table = new(group.Headings);
            foreach (string[] row in group.Cells)
            {
                table.Row(row);
            }
        }
    }

    /// <summary>Measures messages of records with a plain number as time, and with a nested
    /// message.</summary>
    public static IEnumerable<MicroGroup> Measure(BenchmarkOptions options)
    {
        foreach (int records in options.RecordsOr(DefaultRecords))
        {
            RecordValues values = new(records);
            yield return Compare(options, records, CodecRecords.Flat(values));
            yield return Compare(options, records, CodecRecords.Timed(values));
        }
    }

    private static MicroGroup Compare(BenchmarkOptions options, int records, CodecRecords kind)
    {
        IMessage generated = kind.Generated(records);
        DynamicMessage made = kind.Dynamic(records);
        byte[] bytes = generated.ToByteArray();
        DynamicMessage decoded = DynamicMessage.Parse(kind.Type, bytes);
        ArrayBufferWriter<byte> buffer = new(bytes.Length + 16);
        return new MicroGroup(
            string.Create(
                CultureInfo.InvariantCulture,
                $"A message of {records} {kind.Name} records, {bytes.Length:N0} bytes"),
            ["generated", "dynamic"],
            [
                Row("encode", Encode(() => generated), EncodeDynamic(() => made)),
                Row("encode decoded", Encode(() => generated), EncodeDynamic(() => decoded)),
                Row("encode IMessage", Encode(() => generated), Encode(() => made)),
                Row("size IMessage", () => generated.CalculateSize(), () => made.CalculateSize()),
                Row("decode",
                    () => kind.Parser.ParseFrom(bytes), () => DynamicMessage.Parse(kind.Type, bytes)),
                Row("make", () => kind.Generated(records), () => kind.Dynamic(records)),
                Row("make by names", () => kind.Generated(records), () => kind.Named(records)),
                Row("make and encode",
                    Encode(() => kind.Generated(records)), EncodeDynamic(() => kind.Dynamic(records))),
            ]);

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

        (string Operation, MicroTime[] Times) Row(string operation, Action first, Action second) =>
            (operation, MicroRace.Run(options, first, second));
    }
}
