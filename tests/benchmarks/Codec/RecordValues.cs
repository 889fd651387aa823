namespace ProtoRpc.Benchmarks.Codec;

/// <summary>What the records hold, the same in every run: drawing random bytes and writing base64 take longer
/// than a codec does.</summary>
internal sealed class RecordValues
{
    private const int BytesPerRecord = 32;

    public RecordValues(int records)
    {
        Random random = new(1);
        Bytes = new byte[records][];
        Texts = new string[records];
        Floats = new double[records];
        for (int i = 0; i < records; i++)
        {
            random.NextBytes(Bytes[i] = new byte[BytesPerRecord]);
            Texts[i] = Convert.ToBase64String(Bytes[i]);
            Floats[i] = i + (0.0001 * i);
        }
    }

    public byte[][] Bytes { get; }

    public string[] Texts { get; }

    public double[] Floats { get; }
}
