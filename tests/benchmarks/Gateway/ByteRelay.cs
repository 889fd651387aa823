using System.Buffers.Binary;
using ProtoRpc.Transports;

namespace ProtoRpc.Benchmarks.Gateway;

/// <summary>The yardstick of a gateway: passes bytes on over the transports of the library, and only reads
/// where a message ends. No gateway can be faster.</summary>
/// <remarks>One thread for each connection, as the gateway has it.</remarks>
internal sealed class ByteRelay : IDisposable
{
    // Of the header that all PDUs have: its flags, among them that of the last fragment, and its length.
    private const int HeaderSize = 16;
    private const int FlagsAt = 3;
    private const int LengthAt = 8;
    private const byte LastFragment = 0x02;
    private const int BufferSize = 64 * 1024;

    private readonly TransportListener _listener;
    private readonly RpcEndpoint _target;
    private readonly CancellationTokenSource _end = new();
    private readonly Task _accepting;

    private ByteRelay(string target, string endpoint)
    {
        _target = RpcEndpoint.Parse(target);
        RpcEndpoint own = RpcEndpoint.Parse(endpoint);
        _listener = NativeTransports.Get(own).Listen(own);
        _accepting = AcceptAsync();
    }

    /// <summary>The address as bound.</summary>
    public string Address => _listener.Endpoint.ToString();

    /// <summary>Listens, and passes the bytes of each connection on to the target.</summary>
    public static ByteRelay Serve(string target, string endpoint) => new(target, endpoint);

    public void Dispose()
    {
        _end.Cancel();
        _listener.Dispose();
        _accepting.ContinueWith(_ => { }, TaskScheduler.Default).Wait();
        _end.Dispose();
    }

    private async Task AcceptAsync()
    {
        while (true)
        {
            TransportConnection caller = await _listener.AcceptAsync(_end.Token);
            new Thread(() => Relay(caller)) { IsBackground = true }.Start();
        }
    }

    private void Relay(TransportConnection caller)
    {
        using (caller)
        {
            using TransportConnection target = NativeTransports.Get(_target)
                .Connect(_target, null, RpcLimits.Default.ConnectTimeout, CancellationToken.None);
            byte[] buffer = new byte[BufferSize];
            try
            {
                while (PassMessage(caller, target, buffer) && PassMessage(target, caller, buffer))
                {
                }
            }
            catch (Exception e) when (TransportConnection.IsBroken(e))
            {
                // The measurement is over.
            }
        }
    }

    // False when the sender closed.
    private static bool PassMessage(TransportConnection from, TransportConnection to, byte[] buffer)
    {
        int unread = 0;
        int pduLeft = 0;
        bool isLast = false;
        while (true)
        {
            int count = from.Receive(buffer.AsMemory(unread));
            if (count == 0)
            {
                return false;
            }

            to.Send(buffer.AsMemory(unread, count));
            int end = unread + count;
            int at = 0;
            while (true)
            {
                int part = Math.Min(pduLeft, end - at);
                at += part;
                pduLeft -= part;
                if (pduLeft == 0 && isLast)
                {
                    return true;
                }

                if (pduLeft > 0 || end - at < HeaderSize)
                {
                    break;
                }

                isLast = (buffer[at + FlagsAt] & LastFragment) != 0;
                pduLeft = BinaryPrimitives.ReadUInt16LittleEndian(buffer.AsSpan(at + LengthAt));
            }

            // A header that is cut stays until the rest of it is there.
            unread = end - at;
            buffer.AsSpan(at, unread).CopyTo(buffer);
        }
    }
}
