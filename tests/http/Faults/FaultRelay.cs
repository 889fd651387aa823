using System.Net;
using System.Net.Sockets;

namespace ProtoRpc.Http.Tests.Faults;

/// <summary>Passes connections on to a server, each with the fault that is set when it comes.</summary>
internal sealed class FaultRelay : IDisposable
{
    private readonly Socket _listener = NewSocket();
    private readonly CancellationTokenSource _end = new();
    private readonly int _serverPort;
    private readonly IPAddress _source;
    private readonly long[] _most = new long[2];

    /// <param name="serverPort">The server's port.</param>
    /// <param name="source">The address from which the server sees the connections; null for
    /// 127.0.0.1.</param>
    public FaultRelay(int serverPort, IPAddress? source = null)
    {
        _serverPort = serverPort;
        _source = source ?? IPAddress.Loopback;
        _listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        _listener.Listen();
        _ = AcceptAsync();
    }

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

    private static Socket NewSocket() =>
        new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };

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
        using Socket server = NewSocket();
        using CancellationTokenSource end = CancellationTokenSource.CreateLinkedTokenSource(_end.Token);
        try
        {
            server.Bind(new IPEndPoint(_source, 0));
            await server.ConnectAsync(IPAddress.Loopback, _serverPort, end.Token);
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
