using Google.Protobuf;
using ProtoRpc.Messages.Binary;

namespace ProtoRpc.Server.Recording;

/// <summary>The messages of a call in one direction, as bytes: their owners may change or free the messages
/// when the call has ended.</summary>
/// <param name="type">The messages' type.</param>
/// <param name="limits">How much is kept.</param>
internal sealed class RecordedMessages(RpcMessageInfo type, RecordingLimits limits)
{
    private readonly Lock _gate = new();
    private readonly List<byte[]> _messages = [];

    /// <summary>Bytes that are kept.</summary>
    public int Bytes { get; private set; }

    /// <summary>Whether messages came that are not kept.</summary>
    public bool IsTruncated { get; private set; }

    /// <summary>Keeps a message, if there is room for it. A message that cannot be written fails its call
    /// elsewhere, and never here.</summary>
    public void Add(IMessage message)
    {
        lock (_gate)
        {
            if (IsTruncated || _messages.Count == limits.MaxMessages)
            {
                IsTruncated = true;
                return;
            }

            try
            {
                using EncodedMessage encoded =
                    EncodedMessage.Of(message, limits.MaxBytes - Bytes, "recorded message");
                _messages.Add(encoded.ToArray());
                Bytes += encoded.Length;
            }
            catch (Exception e) when (e is RpcException or InvalidOperationException or OutOfMemoryException)
            {
                IsTruncated = true;
            }
        }
    }

    /// <summary>Notes that a message came which is not kept.</summary>
    public void Skip()
    {
        lock (_gate)
        {
            IsTruncated = true;
        }
    }

    /// <summary>The messages. What the schema does not know stays in them as unknown fields.</summary>
    public IReadOnlyList<DynamicMessage> Read()
    {
        byte[][] messages;
        lock (_gate)
        {
            messages = [.. _messages];
        }

        return Array.ConvertAll(messages, bytes =>
        {
            DynamicMessage message = new(type);
            message.MergeFrom(bytes);
            return message;
        });
    }
}

/// <summary>What is kept of one call, in each direction.</summary>
/// <param name="MaxMessages">The most messages of a stream.</param>
/// <param name="MaxBytes">The most bytes of all messages.</param>
internal sealed record RecordingLimits(int MaxMessages = 10_000, int MaxBytes = 16 * 1024 * 1024);
