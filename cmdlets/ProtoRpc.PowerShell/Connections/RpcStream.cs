using ProtoRpc.PowerShell.Connections;
using ProtoRpc.PowerShell.Objects;

namespace ProtoRpc;

/// <summary>A streaming call that is open, as the shell shows it. Messages are sent with Send-RpcStream, and
/// replies are received with Receive-RpcStream.</summary>
/// <remarks>Thread-safe: jobs and other runspaces may send and receive at the same time. If no script refers
/// to the object any more, the call is cancelled. New-MockObject makes an object that has no call.</remarks>
public sealed class RpcStream : IDisposable
{
    private readonly StreamConversation? _talk;

    internal RpcStream(StreamConversation talk) => _talk = talk;

    /// <summary>Cancels the call of an object that was forgotten.</summary>
    ~RpcStream() => _talk?.Close(StreamConversation.ByUser);

    /// <summary>The full name of the method.</summary>
    public string Method => _talk?.Method.FullName ?? "";

    /// <summary>The endpoint; of a connection to several servers, the one that the call goes to.</summary>
    public RpcEndpoint? Endpoint => _talk?.Endpoint;

    /// <summary><c>Open</c>; <c>HalfClosed</c> after the last request; <c>Ended</c> when the server has ended
    /// the call, with replies that may be left to receive; or <c>Closed</c>.</summary>
    public string State => _talk?.State ?? "";

    /// <summary>How the call ended; null until it has, and until its replies are received.</summary>
    public RpcStatusCode? Status => _talk?.Status;

    /// <summary>Why the call failed; null if it did not.</summary>
    public RpcException? Error => _talk?.Error;

    /// <summary>The number of messages that the server accepted.</summary>
    public long Sent => _talk?.Sent ?? 0;

    /// <summary>The number of replies that were received.</summary>
    public long Received => _talk?.Received ?? 0;

    /// <summary>The headers of the reply, once they have arrived.</summary>
    public IDictionary Headers => HeaderMapping.ToHashtable(_talk?.Info.Headers ?? new RpcMetadata());

    /// <summary>The trailers, once the call has ended.</summary>
    public IDictionary Trailers => HeaderMapping.ToHashtable(_talk?.Info.Trailers ?? new RpcMetadata());

    /// <summary>The call.</summary>
    /// <exception cref="RpcException">FailedPrecondition: the object was made for a test, and has no
    /// call.</exception>
    internal StreamConversation Talk => _talk ?? throw new RpcException(
        RpcStatusCode.FailedPrecondition, RpcErrorIds.StreamClosed,
        "The stream has no call. Open one with Open-RpcStream.");

    /// <summary>The method, for completion; null for an object without a call.</summary>
    internal RpcMethodInfo? MethodInfo => _talk?.Method;

    /// <summary>Cancels the call, if it has not ended.</summary>
    public void Dispose()
    {
        GC.SuppressFinalize(this);
        _talk?.Close(StreamConversation.ByUser);
    }

    /// <inheritdoc/>
    public override string ToString() => Method;
}
