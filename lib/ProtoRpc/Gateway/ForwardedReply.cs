using System.Buffers;
using Google.Protobuf;
using ProtoRpc.Messages.Binary;

namespace ProtoRpc.Gateway;

/// <summary>The reply of another server in pooled memory, until the call that it answers has ended.</summary>
internal sealed class ForwardedReply : IDisposable
{
    private byte[] _bytes = [];

    /// <summary>Copies a reply, which lies in memory of the connection.</summary>
    public IMessage Keep(RpcMessageInfo type, ReadOnlySpan<byte> body)
    {
        Dispose();
        _bytes = ArrayPool<byte>.Shared.Rent(body.Length);
        body.CopyTo(_bytes);
        return new OpaqueMessage(type, _bytes.AsMemory(0, body.Length));
    }

    /// <inheritdoc/>
    public void Dispose()
    {
        byte[] bytes = Interlocked.Exchange(ref _bytes, []);
        if (bytes.Length > 0)
        {
            ArrayPool<byte>.Shared.Return(bytes);
        }
    }
}
