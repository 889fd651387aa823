using Google.Protobuf;
using ProtoRpc.Calls.Headers;

namespace ProtoRpc.Calls.MultiPart;

/// <summary>A message that is coming in parts.</summary>
internal sealed class Transfer(string owner, string method, int totalBytes, int memoryBytes) : IDisposable
{
    private readonly Lock _gate = new();

    /// <summary>Who sends it.</summary>
    public string Owner { get; } = owner;

    /// <summary>The method that it is for.</summary>
    public string Method { get; } = method;

    /// <summary>The bytes that the sender announced; nothing is set aside for them.</summary>
    public int TotalBytes { get; } = totalBytes;

    /// <summary>What has come.</summary>
    public SpillStream Body { get; } = new(memoryBytes);

    /// <summary>Milliseconds of the system's uptime when the last part came.</summary>
    public long LastPart { get; private set; } = Environment.TickCount64;

    /// <summary>Takes the next part.</summary>
    /// <exception cref="RpcException">InvalidArgument for a part that does not follow.</exception>
    public void Append(RpcMultiPartRequest part)
    {
        lock (_gate)
        {
            ByteString payload = part.PayloadBytes;
            if (part.CurrentPosition != Body.Length)
            {
                throw Wrong($"it begins at {part.CurrentPosition} and {Body.Length} bytes have come");
            }

            if (part.TotalBytes != TotalBytes || part.MethodName != Method)
            {
                throw Wrong("its total or its method is not that of the first part");
            }

            if (part.BytesSent != payload.Length || payload.Length > TotalBytes - Body.Length)
            {
                throw Wrong(
                    $"it has {payload.Length} bytes, says {part.BytesSent}, "
                    + $"and {TotalBytes - Body.Length} are left");
            }

            Body.Write(payload.Span);
            LastPart = Environment.TickCount64;
        }
    }

    /// <summary>Ends it.</summary>
    /// <exception cref="RpcException">InvalidArgument when bytes are missing.</exception>
    public void RequireComplete()
    {
        if (Body.Length != TotalBytes)
        {
            throw Wrong($"it is the last, and {TotalBytes - Body.Length} bytes are missing");
        }

        Body.Position = 0;
    }

    /// <inheritdoc/>
    public void Dispose()
    {
        lock (_gate)
        {
            Body.Dispose();
        }
    }

    private RpcException Wrong(string why) => new(
        RpcStatusCode.InvalidArgument,
        $"A part of a message for {Method} is refused: {why}. Send the message anew.")
    {
        ErrorId = "BadPart",
    };
}
