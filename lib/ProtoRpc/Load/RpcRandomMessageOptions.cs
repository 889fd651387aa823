namespace ProtoRpc;

/// <summary>How random messages are made.</summary>
public sealed record RpcRandomMessageOptions
{
    /// <summary>Different requests that are made.</summary>
    internal const int Requests = 100;

    private const int MaxStreamLength = 100_000;

    /// <summary>The same seed makes the same messages of the same type: 0.</summary>
    public int Seed { get; set; }

    /// <summary>The largest message, in bytes, 0 to 4 MiB: 1,024. Most are smaller.</summary>
    public int MaxBytes { get; set; } = 1024;

    /// <summary>Messages of a call of a method that takes a stream, 1 to 100,000: 10.</summary>
    public int StreamLength { get; set; } = 10;

    /// <exception cref="RpcException">InvalidArgument: a value is out of range.</exception>
    internal void Check()
    {
        int most = RpcLimits.Default.MaxMessageBytes;
        if (MaxBytes < 0 || MaxBytes > most)
        {
            throw Invalid(nameof(MaxBytes), MaxBytes, $"0 to {most:N0} bytes");
        }

        if (StreamLength is < 1 or > MaxStreamLength)
        {
            throw Invalid(nameof(StreamLength), StreamLength, $"1 to {MaxStreamLength:N0} messages");
        }
    }

    private static RpcException Invalid(string name, int value, string range) => new(
        RpcStatusCode.InvalidArgument,
        $"{nameof(RpcRandomMessageOptions)}.{name} is {value}. It takes {range}.")
    {
        ErrorId = RpcErrorIds.InvalidLoadTest,
    };
}
