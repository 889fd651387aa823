using ProtoRpc.Protocols.Dce;
using ProtoRpc.Transports;

namespace ProtoRpc.Tests.Transports.Messages;

/// <summary>A transport of whole messages within the test, with callers that the test names. As with the
/// runtime of Windows, an interface is served on all endpoints, and the first of several handlers gets the
/// calls.</summary>
internal sealed class MemoryMessages(PeerIdentity? caller = null) : IMessageTransport
{
    private readonly Lock _gate = new();
    private readonly HashSet<RpcEndpoint> _opened = [];
    private readonly List<(RpcEndpoint Endpoint, Guid Id, IncomingMessageHandler Handler)> _served = [];

    public bool IsOfThisSystem => true;

    public PeerIdentity? Caller { get; set; } = caller;

    public IDisposable Listen(
        RpcEndpoint endpoint, Guid interfaceId, int maxRequest, IncomingMessageHandler handler)
    {
        lock (_gate)
        {
            _opened.Add(endpoint);
            _served.Add((endpoint, interfaceId, handler));
        }

        return new Registration(() => Remove((endpoint, interfaceId, handler)));
    }

    public IMessageConnection Open(RpcEndpoint endpoint, Guid interfaceId) =>
        new Connection(this, endpoint, interfaceId);

    /// <summary>Sends a stub of the test's own.</summary>
    /// <returns>The payload and the code of the reply.</returns>
    public (byte[] Payload, uint Code) Send(
        RpcEndpoint endpoint, Guid interfaceId, byte[] stub, bool isLittleEndian = true)
    {
        Incoming incoming = new(stub, isLittleEndian, Caller);
        Find(endpoint, interfaceId, out IncomingMessageHandler? handler);
        handler!(incoming);
        Assert.True(ExecStub.TryReadResponse(
            incoming.Answer, littleEndian: true, allowTrailing: false, out ReadOnlyMemory<byte> payload,
            out uint code));
        return (payload.ToArray(), code);
    }

    private uint Find(RpcEndpoint endpoint, Guid interfaceId, out IncomingMessageHandler? handler)
    {
        lock (_gate)
        {
            handler = _opened.Contains(endpoint)
                ? _served.FirstOrDefault(served => served.Id == interfaceId).Handler
                : null;
            return handler is not null ? 0
                : _opened.Contains(endpoint) ? WindowsStatus.UnknownInterface
                : WindowsStatus.ServerUnavailable;
        }
    }

    private void Remove((RpcEndpoint Endpoint, Guid Id, IncomingMessageHandler Handler) served)
    {
        lock (_gate)
        {
            Assert.True(_served.Remove(served));
        }
    }

    private sealed class Connection(MemoryMessages owner, RpcEndpoint endpoint, Guid id) : IMessageConnection
    {
        public uint Reach() => owner.Find(endpoint, id, out _);

        public uint Call(IOutgoingMessage message)
        {
            byte[] stub = new byte[message.Length];
            if (!message.TryWrite(stub))
            {
                return WindowsStatus.CallCancelled;
            }

            uint status = owner.Find(endpoint, id, out IncomingMessageHandler? handler);
            if (status != 0)
            {
                return status;
            }

            Incoming incoming = new(stub, IsLittleEndian: true, owner.Caller);
            handler!(incoming);
            message.Take(incoming.Answer, isLittleEndian: true);
            return 0;
        }

        public void Dispose()
        {
        }
    }

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
