using Google.Protobuf;
using Google.Protobuf.WellKnownTypes;
using ProtoRpc.Benchmarks.Messages;

namespace ProtoRpc.Benchmarks.Codec;

/// <summary>Messages of many records, made new from values that were drawn before: generated, dynamic by
/// fields, and dynamic by names.</summary>
/// <param name="Name">What the table calls the records.</param>
/// <param name="Parser">Reads the generated message.</param>
/// <param name="Type">The dynamic message's type.</param>
/// <param name="Generated">Makes a generated message of so many records.</param>
/// <param name="Dynamic">Makes a dynamic message by fields.</param>
/// <param name="Named">Makes a dynamic message by the names of fields.</param>
internal sealed record CodecRecords(
    string Name, MessageParser Parser, RpcMessageInfo Type,
    Func<int, IMessage> Generated, Func<int, DynamicMessage> Dynamic, Func<int, DynamicMessage> Named)
{
    private static readonly DateTime Start = new(2011, 10, 16, 0, 0, 0, DateTimeKind.Utc);

    /// <summary>Records whose time is a number, all fields required.</summary>
    public static CodecRecords Flat(RecordValues values)
    {
        RpcMessageInfo type = SampleData.LoadSchema().GetMessage("Benchmark.SampleRequest");
        RpcFieldInfo data = type.Fields[0];
        RpcMessageInfo record = data.MessageType!;
        RpcFieldInfo[] fields = [.. record.Fields];
        return new CodecRecords("flat", SampleRequest.Parser, type, MakeGenerated, MakeDynamic, MakeNamed);

        IMessage MakeGenerated(int count)
        {
            SampleRequest request = new();
            for (int i = 0; i < count; i++)
            {
                request.Data.Add(new SampleProtoData
                {
                    Bytes = ByteString.CopyFrom(values.Bytes[i]),
                    Text = values.Texts[i],
                    Number = i * 1000,
                    Float = values.Floats[i],
                    Time = Start.Ticks + i,
                });
            }

            return request;
        }

        DynamicMessage MakeDynamic(int count) => Fill(type, data, count, i =>
        {
            DynamicMessage item = new(record);
            item.Set(fields[0], (byte[])values.Bytes[i].Clone());
            item.Set(fields[1], values.Texts[i]);
            item.Set(fields[2], i * 1000);
            item.Set(fields[3], values.Floats[i]);
            item.Set(fields[4], Start.Ticks + i);
            return item;
        });

        DynamicMessage MakeNamed(int count) => Fill(type, data, count, i => new DynamicMessage(record)
        {
            ["bytes"] = values.Bytes[i].Clone(),
            ["text"] = values.Texts[i],
            ["number"] = i * 1000,
            ["float"] = values.Floats[i],
            ["time"] = Start.Ticks + i,
        });
    }

    /// <summary>Records whose time is a google.protobuf.Timestamp, no field required.</summary>
    public static CodecRecords Timed(RecordValues values)
    {
        RpcMessageInfo type = SampleData.LoadSchema("timed.proto").GetMessage("Benchmark.TimedRequest");
        RpcFieldInfo data = type.Fields[0];
        RpcMessageInfo record = data.MessageType!;
        RpcFieldInfo[] fields = [.. record.Fields];
        RpcMessageInfo time = fields[4].MessageType!;
        RpcFieldInfo[] parts = [.. time.Fields];
        long start = Timestamp.FromDateTime(Start).Seconds;
        return new CodecRecords("timed", TimedRequest.Parser, type, MakeGenerated, MakeDynamic, MakeNamed);

        IMessage MakeGenerated(int count)
        {
            TimedRequest request = new();
            for (int i = 0; i < count; i++)
            {
                request.Data.Add(new TimedRecord
                {
                    Bytes = ByteString.CopyFrom(values.Bytes[i]),
                    Text = values.Texts[i],
                    Number = i * 1000,
                    Float = values.Floats[i],
                    Time = new Timestamp { Seconds = start + i, Nanos = i * 100 },
                });
            }

            return request;
        }

        DynamicMessage MakeDynamic(int count) => Fill(type, data, count, i =>
        {
            DynamicMessage when = new(time);
            when.Set(parts[0], start + i);
            when.Set(parts[1], i * 100);
            DynamicMessage item = new(record);
            item.Set(fields[0], (byte[])values.Bytes[i].Clone());
            item.Set(fields[1], values.Texts[i]);
            item.Set(fields[2], i * 1000);
            item.Set(fields[3], values.Floats[i]);
            item.Set(fields[4], when);
            return item;
        });

        DynamicMessage MakeNamed(int count) => Fill(type, data, count, i => new DynamicMessage(record)
        {
            ["bytes"] = values.Bytes[i].Clone(),
            ["text"] = values.Texts[i],
            ["number"] = i * 1000,
            ["float"] = values.Floats[i],
            ["time"] = new DynamicMessage(time) { ["seconds"] = start + i, ["nanos"] = i * 100 },
        });
    }

    private static DynamicMessage Fill(
        RpcMessageInfo type, RpcFieldInfo data, int count, Func<int, DynamicMessage> make)
    {
        List<DynamicMessage> records = [];
        for (int i = 0; i < count; i++)
        {
            records.Add(make(i));
        }

        DynamicMessage request = new(type);
        request.Set(data, records);
        return request;
    }
}
