using System.Runtime.InteropServices;
using Google.Protobuf.Reflection;

namespace ProtoRpc.Messages.Binary;

/// <summary>A message that is encoded once. Its size decides how it is sent, and then the same bytes are
/// sent.</summary>
/// <remarks>The size of a dynamic message is only known after encoding, so its bytes are stored in pooled
/// memory. A generated message computes its size, and is written directly to its target. The bytes of an
/// opaque message are sent unchanged. Required fields are not checked here: the sender has checked them. Not
/// thread-safe; dispose it.</remarks>
internal sealed class EncodedMessage : IDisposable
{
    private IMessage? _generated;
    private byte[] _pooled = [];
    private ReadOnlyMemory<byte> _bytes;

    private EncodedMessage(IMessage? generated, ReadOnlyMemory<byte> bytes, int length)
    {
        _generated = generated;
        _bytes = bytes;
        Length = length;
    }

    /// <summary>Bytes of the message.</summary>
    public int Length { get; }

    /// <summary>Encodes a message of any size.</summary>
    /// <exception cref="RpcException">InvalidArgument: the message is nested too deeply.</exception>
    public static EncodedMessage From(IMessage message) => From(message, Array.MaxLength, "message");

    /// <summary>Encodes a message, and stops if it exceeds the limit.</summary>
    /// <param name="message">The message, dynamic, generated or opaque.</param>
    /// <param name="maxBytes">The largest.</param>
    /// <param name="what">The kind of message for the error: request or reply.</param>
    /// <exception cref="RpcException">ResourceExhausted: the message is over the limit. InvalidArgument: it
    /// is nested too deeply.</exception>
    public static EncodedMessage From(IMessage message, int maxBytes, string what)
    {
        if (message is DynamicMessage dynamic)
        {
            WireWriter writer = dynamic.Encode(maxBytes, what);
            int length = writer.Length;
            byte[] pooled = writer.Detach(out int start);
            return new EncodedMessage(null, pooled.AsMemory(start, length), length) { _pooled = pooled };
        }

        int size = message.CalculateSize();
        MessageChecks.RequireSize(size, maxBytes, what);
        return message is OpaqueMessage opaque
            ? new EncodedMessage(null, opaque.Bytes, size)
            : new EncodedMessage(message, default, size);
    }

    /// <summary>Encodes a message into memory, also a generated one, to be sent more than once.</summary>
    /// <inheritdoc cref="From(IMessage, int, string)"/>
    public static EncodedMessage Keep(IMessage message, int maxBytes, string what)
    {
        EncodedMessage encoded = From(message, maxBytes, what);
        if (encoded._generated is not null)
        {
            encoded.Own();
        }

        return encoded;
    }

    /// <summary>The same bytes, for one who disposes of them; valid until this is disposed.</summary>
    public EncodedMessage Lend() => new(_generated, _bytes, Length);

    /// <summary>The bytes in memory that only this has: no later change of the message is seen. Valid until
    /// this is disposed.</summary>
    public ReadOnlyMemory<byte> Own()
    {
        if (_pooled.Length == 0 && Length > 0)
        {
            byte[] pooled = ArrayPool<byte>.Shared.Rent(Length);
            CopyTo(pooled.AsSpan(0, Length));
            (_generated, _pooled, _bytes) = (null, pooled, pooled.AsMemory(0, Length));
        }

        return _bytes;
    }

    public void WriteTo(IBufferWriter<byte> output)
    {
        Span<byte> target = output.GetSpan(Length)[..Length];
        CopyTo(target);
        output.Advance(Length);
    }

    /// <summary>Writes the bytes to memory of exactly their length.</summary>
    public void CopyTo(Span<byte> target)
    {
        if (_generated is { } message)
        {
            message.WriteTo(target);
        }
        else
        {
            _bytes.Span.CopyTo(target);
        }
    }

    /// <summary>The bytes in memory of their own.</summary>
    public byte[] ToArray()
    {
        byte[] bytes = new byte[Length];
        CopyTo(bytes);
        return bytes;
    }

    /// <summary>The bytes as a stream, which is read before this is disposed.</summary>
    public Stream OpenRead() =>
        _generated is null && MemoryMarshal.TryGetArray(_bytes, out ArraySegment<byte> array)
            ? new MemoryStream(array.Array!, array.Offset, array.Count, writable: false)
            : new MemoryStream(ToArray(), writable: false);

    /// <summary>Gives the memory back.</summary>
    public void Dispose()
    {
        byte[] pooled = _pooled;
        _pooled = [];
        _bytes = default;
        if (pooled.Length > 0)
        {
            ArrayPool<byte>.Shared.Return(pooled);
        }
    }
}

/// <summary>A message in binary form that is not decoded: a gateway forwards it, or it is a reply that was
/// encoded before its call.</summary>
/// <remarks>Its bytes do not change, so that many threads may send it. Only <see cref="EncodedMessage"/> and
/// the formats take it; everything else reads it first.</remarks>
/// <param name="type">The message's type.</param>
/// <param name="bytes">The message, valid for as long as the call that it belongs to.</param>
internal sealed class OpaqueMessage(RpcMessageInfo type, ReadOnlyMemory<byte> bytes) : IMessage
{
    /// <summary>The message's type.</summary>
    public RpcMessageInfo Type => type;

    /// <summary>The message as protobuf writes it.</summary>
    public ReadOnlyMemory<byte> Bytes => bytes;

    public MessageDescriptor Descriptor => type.Descriptor;

    /// <summary>Reads the message.</summary>
    /// <param name="maxElements">The maximum number of elements.</param>
    /// <exception cref="RpcException">Internal: the bytes of the server are not a message of the type.
    /// ResourceExhausted: the message has more elements than the limit.</exception>
    public DynamicMessage ToDynamic(int maxElements = int.MaxValue)
    {
        try
        {
            return DynamicMessage.Parse(type, bytes.Span, maxElements);
        }
        catch (RpcException e)
        {
            throw new RpcException(
                e.Code == RpcStatusCode.ResourceExhausted ? e.Code : RpcStatusCode.Internal,
                $"The forwarded message is not of the type {type.FullName}: {e.Message}",
                e)
            {
                ErrorId = RpcErrorIds.BadReply,
                MayHaveExecuted = true,
            };
        }
    }

    public int CalculateSize() => bytes.Length;

    public void WriteTo(CodedOutputStream output) => ToDynamic().WriteTo(output);

    public void MergeFrom(CodedInputStream input) =>
        throw new NotSupportedException("A message that was not decoded cannot be changed.");
}
