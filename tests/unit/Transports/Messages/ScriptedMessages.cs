using ProtoRpc.Protocols.Dce;
using ProtoRpc.Transports;

namespace ProtoRpc.Tests.Transports.Messages;

/// <summary>A transport whose connections do what the test says.</summary>
internal sealed class ScriptedMessages(Func<IOutgoingMessage, uint> call, Func<uint>? reach = null)
    : IMessageTransport
{
    private int _opened;
    private int _closed;

    public bool IsOfThisSystem => true;

    public int Opened => Volatile.Read(ref _opened);

    public int Closed => Volatile.Read(ref _closed);

    public IDisposable Listen(
        RpcEndpoint endpoint, Guid interfaceId, int maxRequest, IncomingMessageHandler handler) =>
        throw new NotSupportedException();

    public IMessageConnection Open(RpcEndpoint endpoint, Guid interfaceId)
    {
        if (interfaceId == CancelStub.InterfaceId)
        {
            return new NoInterface();
        }

        Interlocked.Increment(ref _opened);
        return new Connection(this);
    }

    private uint Reach() => reach?.Invoke() ?? 0;

    private uint Call(IOutgoingMessage message) => call(message);

    // As the server of another program, which does not cancel calls.
    private sealed class NoInterface : IMessageConnection
    {
        public uint Reach() => WindowsStatus.UnknownInterface;

        public uint Call(IOutgoingMessage message) => WindowsStatus.UnknownInterface;

        public void Dispose()
        {
        }
    }

    private sealed class Connection(ScriptedMessages owner) : IMessageConnection
    {
        public uint Reach() => owner.Reach();

        public uint Call(IOutgoingMessage message) => owner.Call(message);

        public void Dispose() => Interlocked.Increment(ref owner._closed);
    }
}
