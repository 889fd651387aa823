using Google.Protobuf;
using Google.Protobuf.Reflection;

namespace ProtoRpc.Messages.Binary;

/// <summary>A message in its binary form that was not decoded: one that a gateway forwards, or a reply that
/// was encoded before its call.</summary>
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

    /// <inheritdoc/>
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
                $"The forwarded message is not a {type.FullName}: {e.Message}",
                e)
            {
                ErrorId = RpcErrorIds.BadReply,
                MayHaveExecuted = true,
            };
        }
    }

    /// <inheritdoc/>
    public int CalculateSize() => bytes.Length;

    /// <inheritdoc/>
    public void WriteTo(CodedOutputStream output) => ToDynamic().WriteTo(output);

    /// <inheritdoc/>
    public void MergeFrom(CodedInputStream input) =>
        throw new NotSupportedException("A message that was not decoded cannot be changed.");
}
