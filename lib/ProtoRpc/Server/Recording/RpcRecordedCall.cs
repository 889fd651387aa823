using Google.Protobuf;
using ProtoRpc.Protocols.Native;
using ProtoRpc.Server.Recording;

namespace ProtoRpc;

/// <summary>A call as a server saw it: who called what, with what, and how it ended.</summary>
/// <remarks>Safe for many threads. A call that still runs is filled while it runs.</remarks>
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

    /// <summary>The method that was called.</summary>
    public RpcMethodInfo Method { get; }

    /// <summary>When the call came.</summary>
    public DateTimeOffset Time { get; }

    /// <summary>The caller's name; empty for an anonymous caller.</summary>
    public string User { get; }

    /// <summary>The caller's address and port; empty on local endpoints.</summary>
    public string Peer { get; }

    /// <summary>What came beside the request. Empty in records for files, which have no headers.</summary>
    public RpcMetadata Headers { get; }

    /// <summary>The requests that the handler read: one, or those of a stream. Each time new
    /// messages.</summary>
    public IReadOnlyList<DynamicMessage> Requests => _requests.Read();

    /// <summary>The replies: one, or those of a stream; none of a call that failed before its reply. Each
    /// time new messages.</summary>
    public IReadOnlyList<DynamicMessage> Replies => _replies.Read();

    /// <summary>How the call ended; null while it runs.</summary>
    public RpcStatusCode? Status => Volatile.Read(ref _outcome)?.Status;

    /// <summary>What the handler said of its failure; empty for none.</summary>
    public string Message => Volatile.Read(ref _outcome)?.Message ?? "";

    /// <summary>How long the handler took; null while it runs.</summary>
    public TimeSpan? Duration => Volatile.Read(ref _outcome)?.Duration;

    /// <summary>Whether messages are missing, because the call had more of them, or larger ones, than are
    /// kept.</summary>
    public bool IsTruncated => _requests.IsTruncated || _replies.IsTruncated;

    /// <summary>What the handler added to its failure, as messages.</summary>
    internal IReadOnlyList<IMessage> Details => Volatile.Read(ref _outcome)?.Details ?? [];

    /// <summary>Texts of the call that no record may have.</summary>
    internal IReadOnlyList<string> Secrets => Volatile.Read(ref _outcome)?.Secrets ?? [];

    /// <summary>Bytes of the messages that are kept.</summary>
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

    /// <summary>The method's name, and how the call ended.</summary>
    public override string ToString() => $"{Method.FullName}: {Status?.ToString() ?? "running"}";

    private void End(Outcome outcome) => Volatile.Write(
        ref _outcome, outcome with { Duration = System.Diagnostics.Stopwatch.GetElapsedTime(_began) });

    private sealed record Outcome(
        RpcStatusCode Status, string Message, IReadOnlyList<IMessage> Details, IReadOnlyList<string> Secrets)
    {
        public TimeSpan Duration { get; init; }
    }
}
