using System.Collections.Concurrent;
using ProtoRpc.Protocols.Dce;
using ProtoRpc.Transports;

namespace ProtoRpc.Tests.Transports.Messages;

/// <summary>A transport of whole messages within the test, with callers that the test names.</summary>
internal sealed class MemoryMessages(PeerIdentity? caller = null) : IMessageTransport
{
    private readonly ConcurrentDictionary<(RpcEndpoint, Guid), IncomingMessageHandler> _served = [];

    public bool IsOfThisSystem => true;

    public IDisposable Listen(
        RpcEndpoint endpoint, Guid interfaceId, int maxRequest, IncomingMessageHandler handler)
    {
        Assert.True(_served.TryAdd((endpoint, interfaceId), handler));
        return new Registration(() => Assert.True(_served.TryRemove((endpoint, interfaceId), out _)));
    }

    public IMessageConnection Open(RpcEndpoint endpoint, Guid interfaceId) =>
        new Connection(this, endpoint, interfaceId);

    /// <summary>Sends a stub of the test's own.</summary>
    /// <returns>The payload and the code of the reply.</returns>
    public (byte[] Payload, uint Code) Send(
        RpcEndpoint endpoint, Guid interfaceId, byte[] stub, bool isLittleEndian = true)
    {
        Incoming incoming = new(stub, isLittleEndian, caller);
        _served[(endpoint, interfaceId)](incoming);
        Assert.True(ExecStub.TryReadResponse(
            incoming.Answer, littleEndian: true, allowTrailing: false, out ReadOnlyMemory<byte> payload,
            out uint code));
        return (payload.ToArray(), code);
    }

    private sealed class Connection(MemoryMessages owner, RpcEndpoint endpoint, Guid id) : IMessageConnection
    {
        public uint Reach() => owner._served.ContainsKey((endpoint, id)) ? 0
            : owner._served.Keys.Any(key => key.Item1.Equals(endpoint)) ? WindowsStatus.UnknownInterface
            : WindowsStatus.ServerUnavailable;

        public uint Call(IOutgoingMessage message)
        {
            byte[] stub = new byte[message.Length];
            if (!message.TryWrite(stub))
            {
                return WindowsStatus.CallCancelled;
            }

            if (!owner._served.TryGetValue((endpoint, id), out IncomingMessageHandler? handler))
            {
                return WindowsStatus.UnknownInterface;
            }

            Incoming incoming = new(stub, IsLittleEndian: true, owner.Caller);
            handler(incoming);
            message.Take(incoming.Answer, isLittleEndian: true);
            return 0;
        }

        public void Dispose()
        {
        }
    }

    private PeerIdentity? Caller => caller;

    private sealed record Incoming(byte[] Bytes, bool IsLittleEndian, PeerIdentity? Caller) : IIncomingMessage
    {
        public byte[] Answer { get; private set; } = [];

        public ReadOnlySpan<byte> Stub => Bytes;

        public PeerIdentity ReadPeer() => Caller ?? PeerIdentity.Anonymous("");

        public void Reply(ReadOnlySpan<byte> stub) => Answer = stub.ToArray();
    }

    private sealed class Registration(Action end) : IDisposable
    {
        public void Dispose() => end();
    }
}
