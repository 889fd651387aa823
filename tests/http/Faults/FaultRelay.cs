using System.Net;
using System.Net.Sockets;

namespace ProtoRpc.Http.Tests.Faults;

/// <summary>Passes connections on to a server, each with the fault that is set when it comes.</summary>
internal sealed class FaultRelay : IDisposable
{
    private static readonly TimeSpan Pause = TimeSpan.FromMilliseconds(50);
    private readonly Socket _listener;
    private readonly CancellationTokenSource _end = new();
    private readonly EndPoint _server;
    private readonly EndPoint? _source;
    private readonly long[] _most = new long[2];

    /// <param name="server">Where connections go.</param>
    /// <param name="own">Where they come from; on TCP with the port 0.</param>
    /// <param name="source">The address from which the server sees them; null for any.</param>
    public FaultRelay(EndPoint server, EndPoint own, EndPoint? source = null)
    {
        _server = server;
        _source = source;
        _listener = NewSocket(own);
        _listener.Bind(own);
        _listener.Listen(16);
        _ = AcceptAsync();
    }

    /// <summary>Its port, on TCP.</summary>
    public int Port => ((IPEndPoint)_listener.LocalEndPoint!).Port;

    /// <summary>What happens to connections from now on; null for nothing.</summary>
    public Fault? Fault { get; set; }

    /// <summary>The most octets that went in a direction of a connection.</summary>
    public long MostOf(bool toServer) => Interlocked.Read(ref _most[toServer ? 1 : 0]);

    public void Dispose()
    {
        _end.Cancel();
        _listener.Dispose();
        _end.Dispose();
    }

    /// <summary>A socket for a place.</summary>
    public static Socket NewSocket(EndPoint of)
    {
        bool isTcp = of is IPEndPoint;
        Socket socket = new(
            of.AddressFamily, SocketType.Stream, isTcp ? ProtocolType.Tcp : ProtocolType.Unspecified);
        if (isTcp)
        {
            socket.NoDelay = true;
        }

        return socket;
    }

    private async Task AcceptAsync()
    {
        try
        {
            while (true)
            {
                Socket client = await _listener.AcceptAsync(_end.Token);
                _ = RelayAsync(client, Fault);
            }
        }
        catch (Exception e)
            when (e is OperationCanceledException or SocketException or ObjectDisposedException)
        {
            // It is disposed.
        }
    }

    private async Task RelayAsync(Socket client, Fault? fault)
    {
        using Socket near = client;
        using Socket server = NewSocket(_server);
        using CancellationTokenSource end = CancellationTokenSource.CreateLinkedTokenSource(_end.Token);
        try
        {
            if (_source is { } source)
            {
                server.Bind(source);
            }

            await server.ConnectAsync(_server, end.Token);
            Task[] both =
            [
                CopyAsync(near, server, fault is { ToServer: true } ? fault : null, true, end.Token),
                CopyAsync(server, near, fault is { ToServer: false } ? fault : null, false, end.Token),
            ];
            await Task.WhenAny(both).Unwrap();
            await Task.WhenAll(both);
        }
        catch (Exception e) when (e is OperationCanceledException or SocketException)
        {
            if (fault?.Kind == FaultKind.Reset)
            {
                near.LingerState = server.LingerState = new LingerOption(true, 0);
            }

            await end.CancelAsync();
        }
    }

    private async Task CopyAsync(
        Socket from, Socket to, Fault? fault, bool toServer, CancellationToken cancellation)
    {
        byte[] buffer = new byte[4096];
        long sum = 0;
        int count;
        while ((count = await from.ReceiveAsync(buffer, cancellation)) > 0)
        {
            Memory<byte> bytes = buffer.AsMemory(0, count);
            if (fault is { } there && there.Offset >= sum && there.Offset < sum + count)
            {
                await HarmAsync(to, bytes, (int)(there.Offset - sum), there.Kind, cancellation);
            }
            else
            {
                await to.SendAsync(bytes, cancellation);
            }

            sum += count;
            long most = MostOf(toServer);
            Interlocked.Exchange(ref _most[toServer ? 1 : 0], Math.Max(most, sum));
        }

        to.Shutdown(SocketShutdown.Send);
    }

    private static async Task HarmAsync(
        Socket to, Memory<byte> bytes, int at, FaultKind kind, CancellationToken cancellation)
    {
        switch (kind)
        {
            case FaultKind.Flip:
                bytes.Span[at] ^= (byte)(1 << (at % 8));
                await to.SendAsync(bytes, cancellation);
                break;
            case FaultKind.Drop:
                await to.SendAsync(bytes[..at], cancellation);
                await to.SendAsync(bytes[(at + 1)..], cancellation);
                break;
            case FaultKind.Duplicate:
                await to.SendAsync(bytes[..(at + 1)], cancellation);
                await to.SendAsync(bytes[at..], cancellation);
                break;
            case FaultKind.Swap:
                if (bytes.Length > 1)
                {
                    bytes.Span.Slice(Math.Min(at, bytes.Length - 2), 2).Reverse();
                }

                await to.SendAsync(bytes, cancellation);
                break;
            case FaultKind.Delay:
                await to.SendAsync(bytes[..at], cancellation);
                await Task.Delay(Pause, cancellation);
                await to.SendAsync(bytes[at..], cancellation);
                break;
            case FaultKind.Drip:
                for (int i = 0; i < bytes.Length; i++)
                {
                    await to.SendAsync(bytes.Slice(i, 1), cancellation);
                }

                break;
            default:
                await to.SendAsync(bytes[..at], cancellation);
                if (kind == FaultKind.Stall)
                {
                    await Task.Delay(Timeout.Infinite, cancellation);
                }

                // As the network: both directions are over.
                throw new OperationCanceledException();
        }
    }
}
