namespace ProtoRpc;

/// <summary>The options of random messages.</summary>
public sealed record RpcRandomMessageOptions
{
    /// <summary>The number of different requests.</summary>
    internal const int Requests = 100;

    private const int MaxStreamLength = 100_000;

    /// <summary>The seed; the same seed creates the same messages of a type. The default is 0.</summary>
    public int Seed { get; set; }

    /// <summary>The maximum size of a message in bytes, 0 to 4 MiB: 1,024. Most messages are
    /// smaller.</summary>
    public int MaxBytes { get; set; } = 1024;

    /// <summary>The number of messages in a call of a client-streaming method, 1 to 100,000: 10.</summary>
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
