using ProtoRpc.Protocols.Dce;
using ProtoRpc.Transports;

namespace ProtoRpc.Client.Native;

/// <summary>Asks a server to cancel the calls that their callers gave up, if it is one of ours.</summary>
internal sealed class MessageCancel(IMessageTransport transport, RpcEndpoint endpoint)
{
    // The call may still wait for a thread of the server, so that it is not known there yet.
    private const int Tries = 8;
    private static readonly TimeSpan FirstPause = TimeSpan.FromMilliseconds(10);

    /// <summary>Whether the server cancels calls; blocks until it has answered.</summary>
    public bool IsOffered() => Ask(Guid.Empty);

    /// <summary>Asks for a call that was given up.</summary>
    public void Begin(MessageWork work)
    {
        try
        {
            // The server answers at its leisure, and blocks the thread until then.
            new Thread(() => Cancel(work)) { IsBackground = true, Name = "ProtoRpc cancel" }.Start();
        }
        catch (OutOfMemoryException)
        {
            // Without a thread, the call ends with its handler.
        }
    }

    private void Cancel(MessageWork work)
    {
        try
        {
            TimeSpan pause = FirstPause;
            for (int i = 0; i < Tries && !work.HasEnded && !Ask(work.CallId); i++)
            {
                Thread.Sleep(pause);
                pause *= 2;
            }
        }
        catch (Exception)
        {
            // An exception of this thread would end the process. The call ends with its handler.
        }
    }

    private bool Ask(Guid call)
    {
        try
        {
            using IMessageConnection connection = transport.Open(endpoint, CancelStub.InterfaceId);
            Request request = new(call);
            return connection.Call(request) == 0 && request.IsAccepted;
        }
        catch (RpcException)
        {
            return false;
        }
    }

    private sealed class Request(Guid call) : IOutgoingMessage
    {
        public bool IsAccepted { get; private set; }

        public int Length => CancelStub.RequestSize;

        public bool TryWrite(Span<byte> stub)
        {
            CancelStub.WriteRequest(stub, call);
            return true;
        }

        // A server chooses the size of its reply. An answer has no payload.
        public void Take(ReadOnlySpan<byte> stub, bool isLittleEndian) =>
            IsAccepted = stub.Length <= CancelStub.ResponseSize
                && ExecStub.TryReadResponse(
                    stub.ToArray(), isLittleEndian, allowTrailing: true, out _, out uint code)
                && code == 0;
    }
}
