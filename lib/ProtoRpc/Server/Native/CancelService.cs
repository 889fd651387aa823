using System.Collections.Concurrent;
using ProtoRpc.Protocols.Dce;
using ProtoRpc.Transports;

namespace ProtoRpc.Server.Native;

/// <summary>Cancels running calls for the clients that made them, where requests come whole.</summary>
/// <remarks>The runtime of the system serves an interface for the whole process, so that there is one
/// table.</remarks>
internal static class CancelService
{
    private static readonly ConcurrentDictionary<Guid, WholeCall> Running = [];

    /// <summary>Serves it on an endpoint until the result is disposed.</summary>
    /// <exception cref="RpcException">As of <see cref="IMessageTransport.Listen"/>.</exception>
    public static IDisposable Serve(IMessageTransport transport, RpcEndpoint endpoint) =>
        transport.Listen(endpoint, CancelStub.InterfaceId, CancelStub.RequestSize, Answer);

    /// <summary>Lets a call be cancelled from now on.</summary>
    /// <returns>False if it has no id, or the id of another one.</returns>
    public static bool TryAdd(Guid id, WholeCall call) => id != Guid.Empty && Running.TryAdd(id, call);

    /// <summary>The call has ended.</summary>
    public static void Remove(Guid id) => Running.TryRemove(id, out _);

    private static void Answer(IIncomingMessage message)
    {
        Span<byte> reply = stackalloc byte[ExecStub.ResponsePrefix + ExecStub.ResponseSuffix];
        message.Reply(reply[..ExecStub.WriteResponse(reply, 0, Cancel(message))]);
    }

    private static uint Cancel(IIncomingMessage message)
    {
        if (!CancelStub.TryReadRequest(message.Stub, message.IsLittleEndian, out Guid id))
        {
            return WindowsStatus.BadStubData;
        }

        if (id == Guid.Empty)
        {
            return 0;
        }

        if (!Running.TryGetValue(id, out WholeCall? call)
            || call.Peer.ProcessId != message.ReadPeer().ProcessId)
        {
            return WindowsStatus.NotFound;
        }

        call.Cancel();
        return 0;
    }
}
