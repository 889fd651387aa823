using Google.Protobuf;
using ProtoRpc.Benchmarks.Messages;

namespace ProtoRpc.Benchmarks.Transport;

/// <summary>Messages with new content for each call: 32 random bytes, their base64, a number, a double and a
/// time in each record. Safe for use by many threads.</summary>
internal static class FreshRecords
{
    private const int RandomBytes = 32;

    /// <summary>Adds records to a generated message.</summary>
    public static void Fill(ICollection<SampleProtoData> data, int records)
    {
        for (int i = 0; i < records; i++)
        {
            (byte[] bytes, string text, long time) = Next();
            data.Add(new SampleProtoData
            {
                Bytes = UnsafeByteOperations.UnsafeWrap(bytes),
                Text = text,
                Number = i,
                Float = i * 1.5,
                Time = time,
            });
        }
    }

    /// <summary>The fields of a message, as scripts write them.</summary>
    public static Dictionary<string, object?> Fields(int records)
    {
        Dictionary<string, object?>[] data = new Dictionary<string, object?>[records];
        for (int i = 0; i < records; i++)
        {
            (byte[] bytes, string text, long time) = Next();
            data[i] = new Dictionary<string, object?>
            {
                ["bytes"] = bytes,
                ["text"] = text,
                ["number"] = i,
                ["float"] = i * 1.5,
                ["time"] = time,
            };
        }

        return new Dictionary<string, object?> { ["data"] = data };
    }

    /// <summary>The content of one record.</summary>
    public static (byte[] Bytes, string Text, long Time) Next()
    {
        byte[] bytes = new byte[RandomBytes];
        Random.Shared.NextBytes(bytes);
        return (bytes, Convert.ToBase64String(bytes), DateTime.UtcNow.Ticks);
    }
}
