using System.Buffers;
using ProtoRpc.Protocols;

namespace ProtoRpc.Server.Native;

/// <summary>One call of the raw layer on the server: bytes in, bytes out.</summary>
/// <remarks>Valid until the handler's task ends, then used for the connection's next call.</remarks>
internal abstract class ExecCall
{
    /// <summary>The request; the memory is the connection's and is used again after the call.</summary>
    public abstract ReadOnlyMemory<byte> Request { get; }

    /// <summary>Where the reply is written.</summary>
    public abstract IBufferWriter<byte> Reply { get; }

    /// <summary>The bytes that were written to <see cref="Reply"/>.</summary>
    public abstract int ReplyLength { get; }

    /// <summary>The interface's return code: 0 for success. Another code sends no reply bytes.</summary>
    public int ReturnCode { get; set; }

    /// <summary>Whether the server was too busy to run the call, so that the caller receives this instead of
    /// a return code.</summary>
    public bool IsTooBusy { get; set; }

    /// <summary>Where the request counts; null for nowhere.</summary>
    public abstract RequestMemory.Share? Memory { get; }

    /// <summary>Who calls.</summary>
    public abstract PeerIdentity Peer { get; }

    /// <summary>The listener's endpoint that the call came in on.</summary>
    public abstract RpcEndpoint Endpoint { get; }

    /// <summary>Cancelled when the caller cancels or vanishes,
    /// or the listener's drain time is over.</summary>
    public abstract CancellationToken Cancellation { get; }

    /// <summary>Throws away what was written to <see cref="Reply"/>,
    /// for a handler that fails half way.</summary>
    public abstract void ResetReply();
}
