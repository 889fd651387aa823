using System.Threading.Channels;
using ProtoRpc.Protocols.Headers;

namespace ProtoRpc.Protocols.InProcess;

/// <summary>A call between two sides of one process: the headers of the native protocol, and messages as
/// bytes, so that neither side sees what the other does to its objects later.</summary>
/// <remarks>A side that sends more than the other reads waits after a few messages.</remarks>
internal sealed class InProcessCall(string service, RpcRequestHeader header, CancellationToken aborted)
{
    private const int MaxWaiting = 8;

    /// <summary>The full name of the service that is called.</summary>
    public string Service { get; } = service;

    public RpcRequestHeader Header { get; } = header.Clone();

    /// <summary>Cancelled when the caller does not want the reply any more.</summary>
    public CancellationToken Aborted { get; } = aborted;

    public Channel<byte[]> Requests { get; } = Channel.CreateBounded<byte[]>(MaxWaiting);

    /// <summary>The replies; the channel ends after the one that is the last.</summary>
    public Channel<InProcessReply> Replies { get; } = Channel.CreateBounded<InProcessReply>(MaxWaiting);
}

/// <summary>What a server sends.</summary>
/// <param name="Header">With the first message the headers, and in the end how the call ended; null
/// between.</param>
/// <param name="Body">A message; null where none comes with the header.</param>
/// <param name="IsLast">Whether the call has ended.</param>
internal readonly record struct InProcessReply(RpcResponseHeader? Header, byte[]? Body, bool IsLast);
