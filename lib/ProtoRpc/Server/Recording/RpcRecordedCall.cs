using ProtoRpc.Messages.Binary;
using ProtoRpc.Protocols.Native;

namespace ProtoRpc;

/// <summary>A recorded call of a server: the caller, the method, the messages and the status.</summary>
/// <remarks>Thread-safe. The properties of a running call are filled while it runs.</remarks>
public sealed class RpcRecordedCall
{
    private readonly RecordedMessages _requests;
    private readonly RecordedMessages _replies;
    private readonly long _began;
    private Outcome? _outcome;

    internal RpcRecordedCall(RpcServerCallContext context, RpcMetadata headers, RecordingLimits limits)
    {
        _began = System.Diagnostics.Stopwatch.GetTimestamp();
        Method = context.Method;
        Time = DateTimeOffset.Now;
        User = context.User.Name ?? "";
        Peer = context.ClientAddress;
        Headers = headers;
        _requests = new RecordedMessages(context.Method.RequestType, limits);
        _replies = new RecordedMessages(context.Method.ReplyType, limits);
    }

    /// <summary>The called method.</summary>
    public RpcMethodInfo Method { get; }

    /// <summary>When the server received the call.</summary>
    public DateTimeOffset Time { get; }

    /// <summary>The caller's name; empty for an anonymous caller.</summary>
    public string User { get; }

    /// <summary>The caller's address and port; empty on local endpoints.</summary>
    public string Peer { get; }

    /// <summary>The headers of the request; empty in recorded files, which contain no headers.</summary>
    public RpcMetadata Headers { get; }

    /// <summary>The requests that the handler read: one, or those of a stream. Each access returns new
    /// messages.</summary>
    public IReadOnlyList<DynamicMessage> Requests => _requests.Read();

    /// <summary>The replies: one, or those of a stream; empty if the call failed before its reply. Each
    /// access returns new messages.</summary>
    public IReadOnlyList<DynamicMessage> Replies => _replies.Read();

    /// <summary>The status of the call; null while it runs.</summary>
    public RpcStatusCode? Status => Volatile.Read(ref _outcome)?.Status;

    /// <summary>The handler's error text; empty for none.</summary>
    public string Message => Volatile.Read(ref _outcome)?.Message ?? "";

    /// <summary>The duration of the handler; null while it runs.</summary>
    public TimeSpan? Duration => Volatile.Read(ref _outcome)?.Duration;

    /// <summary>Whether messages are missing, because the call had too many or too large ones.</summary>
    public bool IsTruncated => _requests.IsTruncated || _replies.IsTruncated;

    /// <summary>The details that the handler added to its failure.</summary>
    internal IReadOnlyList<IMessage> Details => Volatile.Read(ref _outcome)?.Details ?? [];

    /// <summary>Texts of the call that must not be recorded.</summary>
    internal IReadOnlyList<string> Secrets => Volatile.Read(ref _outcome)?.Secrets ?? [];

    /// <summary>The size of the kept messages in bytes.</summary>
    internal int Bytes => _requests.Bytes + _replies.Bytes;

    internal void AddRequest(IMessage request) => _requests.Add(request);

    internal void SkipRequest() => _requests.Skip();

    internal void AddReply(IMessage reply) => _replies.Add(reply);

    internal void Succeed() => End(new Outcome(RpcStatusCode.OK, "", [], []));

    internal void Fail(RpcServerCallContext context, Exception error, IReadOnlyList<string> secrets)
    {
        Exception explained = context.Clock.Explain(error);
        RpcStatusCode code = ExceptionInfoCodec.StatusOf(explained);
        End(new Outcome(
            code == RpcStatusCode.OK || !Enum.IsDefined(code) ? RpcStatusCode.Unknown : code,
            TerminalText.Neutralize(explained.Message),
            explained is RpcException rpc ? [.. rpc.Details.OfType<IMessage>()] : [],
            secrets));
    }

    /// <summary>The method's name, and the status of the call.</summary>
    public override string ToString() => $"{Method.FullName}: {Status?.ToString() ?? "running"}";

    private void End(Outcome outcome) => Volatile.Write(
        ref _outcome, outcome with { Duration = System.Diagnostics.Stopwatch.GetElapsedTime(_began) });

    private sealed record Outcome(
        RpcStatusCode Status, string Message, IReadOnlyList<IMessage> Details, IReadOnlyList<string> Secrets)
    {
        public TimeSpan Duration { get; init; }
    }
}

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

    /// <summary>Whether messages arrived that were not kept.</summary>
    public bool IsTruncated { get; private set; }

    /// <summary>Keeps a message, if the limits allow it. Does not throw for a message that cannot be encoded,
    /// because the call itself fails.</summary>
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
                    EncodedMessage.From(message, limits.MaxBytes - Bytes, "recorded message");
                _messages.Add(encoded.ToArray());
                Bytes += encoded.Length;
            }
            catch (Exception e) when (e is RpcException or InvalidOperationException or OutOfMemoryException)
            {
                IsTruncated = true;
            }
        }
    }

    /// <summary>Records that a message was not kept.</summary>
    public void Skip()
    {
        lock (_gate)
        {
            IsTruncated = true;
        }
    }

    /// <summary>The messages. Fields that the schema does not declare are unknown fields.</summary>
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

/// <summary>The limits for the messages of one call, in each direction.</summary>
/// <param name="MaxMessages">The most messages of a stream.</param>
/// <param name="MaxBytes">The most bytes of all messages.</param>
internal sealed record RecordingLimits(int MaxMessages = 10_000, int MaxBytes = 16 * 1024 * 1024);
