using System.Net;
using System.Net.Sockets;

namespace ProtoRpc.Transports;

/// <summary>A bound stream socket.</summary>
/// <param name="socket">Bound and listening.</param>
/// <param name="endpoint">The bound endpoint.</param>
/// <param name="secondaryAddress">As bind_ack names it.</param>
/// <param name="close">Closes the socket and what belongs to it.</param>
internal sealed class SocketListener(
    Socket socket, RpcEndpoint endpoint, string secondaryAddress, Action<Socket> close)
    : TransportListener
{
    private readonly Socket _socket = socket;

    public override RpcEndpoint Endpoint { get; } = endpoint;

    public override string SecondaryAddress { get; } = secondaryAddress;

    public override async ValueTask<TransportConnection> AcceptAsync(CancellationToken cancellation)
    {
        Socket socket = await AcceptSocketAsync(cancellation).ConfigureAwait(false);
        while (!SpareHandles.AreLeftBy(socket))
        {
            socket.Dispose();
            HandleMissing?.Invoke();
            socket = await AcceptSocketAsync(cancellation).ConfigureAwait(false);
        }

        try
        {
            return new SocketConnection(socket);
        }
        catch (SocketException)
        {
            // The client has already disconnected.
            socket.Dispose();
            throw;
        }
    }

    private async ValueTask<Socket> AcceptSocketAsync(CancellationToken cancellation)
    {
        try
        {
            return await _socket.AcceptAsync(cancellation).ConfigureAwait(false);
        }
        catch (SocketException e) when (e.SocketErrorCode == SocketError.TooManyOpenSockets)
        {
            HandleMissing?.Invoke();
            throw;
        }
    }

    public override void Dispose() => close(_socket);
}

/// <summary>Connects a socket with a blocking call that a timer and a token can end.</summary>
internal static class SocketDialer
{
    // How often a thread that connects to a Unix socket checks for cancellation and the timeout.
    private const int SliceMilliseconds = 50;

    /// <summary>Connects, and disposes the socket when that fails.</summary>
    /// <exception cref="SocketException">The connection failed.</exception>
    /// <exception cref="OperationCanceledException">The token was cancelled, or the time is over.</exception>
    public static void Connect(
        Socket socket, EndPoint address, TimeSpan timeout, CancellationToken cancellation)
    {
        // ConnectAsync would make the socket non-blocking permanently. So a blocking connect is ended by
        // disposing the socket.
        using CancellationTokenSource end = CancellationTokenSource.CreateLinkedTokenSource(cancellation);
        end.CancelAfter(timeout);
        bool connected = false;
        try
        {
            if (socket.AddressFamily == AddressFamily.Unix)
            {
                ConnectUnix(socket, address, end.Token);
            }
            else
            {
                using (end.Token.UnsafeRegister(static state => ((Socket)state!).Dispose(), socket))
                {
                    socket.Connect(address);
                }
            }

            end.Token.ThrowIfCancellationRequested();
            connected = true;
        }
        catch (Exception e) when (end.IsCancellationRequested && e is not OperationCanceledException)
        {
            throw new OperationCanceledException("Connecting was ended.", e, end.Token);
        }
        finally
        {
            if (!connected)
            {
                socket.Dispose();
            }
        }
    }

    // If a server's backlog is full, Linux blocks connect, and disposing the socket does not end it. The send
    // timeout ends it, and keeps the socket blocking.
    private static void ConnectUnix(Socket socket, EndPoint address, CancellationToken end)
    {
        socket.SendTimeout = SliceMilliseconds;
        while (true)
        {
            end.ThrowIfCancellationRequested();
            try
            {
                socket.Connect(address);
                socket.SendTimeout = 0;
                return;
            }
            catch (SocketException e) when (e.SocketErrorCode == SocketError.WouldBlock)
            {
                // The backlog is still full.
            }
        }
    }
}

/// <summary>Keeps some of the process's file handles free of connections. A runtime that finds none cannot
/// start threads or load assemblies any more, and ends the process.</summary>
internal static class SpareHandles
{
    private const string Limits = "/proc/self/limits";
    private const string OpenFiles = "Max open files";
    private const int Spare = 32;

    // An eighth of a small limit stays free.
    private const int Part = 8;

    private static readonly Lazy<long> Most = new(FindMost);

    /// <summary>Whether file handles are left after a connection was accepted. The system assigns the lowest
    /// free number, so a high number means that all lower ones are in use.</summary>
    public static bool AreLeftBy(Socket accepted) => accepted.SafeHandle.DangerousGetHandle() < Most.Value;

    /// <summary>The first number that connections do not get.</summary>
    /// <param name="limits">The lines of /proc/self/limits.</param>
    internal static long MostOf(IEnumerable<string> limits)
    {
        string? line = limits.FirstOrDefault(line => line.StartsWith(OpenFiles, StringComparison.Ordinal));
        return line is not null
            && line[OpenFiles.Length..].Split(' ', StringSplitOptions.RemoveEmptyEntries) is [string soft, ..]
            && long.TryParse(soft, NumberStyles.None, CultureInfo.InvariantCulture, out long limit)
                ? limit - Math.Min(Spare, limit / Part)
                : long.MaxValue;
    }

    // Read once: the runtime raises the limit when the process starts, and it does not change later.
    private static long FindMost()
    {
        try
        {
            return File.Exists(Limits) ? MostOf(File.ReadLines(Limits)) : long.MaxValue;
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            return long.MaxValue;
        }
    }
}
