using Google.Protobuf;
using ProtoRpc.Benchmarks.Messages;

namespace ProtoRpc.Benchmarks;

/// <summary>The messages of the benchmark: any number of records of about 100 bytes.</summary>
internal static class SampleData
{
    /// <summary>Loads a schema of the benchmarks.</summary>
    /// <param name="file">The name of its file.</param>
    public static RpcSchema LoadSchema(string file = "benchmark.proto") =>
        RpcSchema.Load([Path.Combine(AppContext.BaseDirectory, "protos", file)]);

    public static SampleRequest Request(int records)
    {
        // The same bytes in every run and process.
        Random random = new(1);
        SampleRequest request = new();
        for (int i = 0; i < records; i++)
        {
            byte[] bytes = new byte[32];
            random.NextBytes(bytes);
            request.Data.Add(new SampleProtoData
            {
                Bytes = ByteString.CopyFrom(bytes),
                Text = Convert.ToBase64String(bytes),
                Number = i * 1000,
                Float = i + (0.0001 * i),
                Time = new DateTime(2011, 10, 16, 0, 0, 0, DateTimeKind.Utc).Ticks + i,
            });
        }

        return request;
    }

    public static DynamicMessage Dynamic(RpcMessageInfo type, int records) =>
        DynamicMessage.Parse(type, Request(records).ToByteArray());
}
