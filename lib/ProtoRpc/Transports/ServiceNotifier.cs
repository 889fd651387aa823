using System.Net.Sockets;

namespace ProtoRpc.Transports;

/// <summary>Reports the state of a service to its manager, by the protocol of sd_notify(3): a datagram to the
/// Unix socket that the variable NOTIFY_SOCKET names.</summary>
internal sealed class ServiceNotifier : IDisposable
{
    // A service manager that does not read must not block the service.
    private const int SendTimeoutMilliseconds = 1000;

    private readonly Socket _socket;
    private readonly UnixDomainSocketEndPoint _manager;

    private ServiceNotifier(UnixDomainSocketEndPoint manager, TimeSpan? watchdogInterval)
    {
        _manager = manager;
        WatchdogInterval = watchdogInterval;
        _socket = new Socket(AddressFamily.Unix, SocketType.Dgram, ProtocolType.Unspecified)
        {
            SendTimeout = SendTimeoutMilliseconds,
        };
    }

    /// <summary>How often to call <see cref="Alive"/>: half of the time after which the manager restarts the
    /// service, as sd_watchdog_enabled(3) advises; null if the manager does not watch this process.</summary>
    public TimeSpan? WatchdogInterval { get; }

    /// <summary>Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID.</summary>
    /// <param name="variable">Gives an environment variable, or null.</param>
    /// <returns>Null if no service manager started this process.</returns>
    /// <exception cref="RpcException">InvalidArgument: NOTIFY_SOCKET is no address of a Unix
    /// socket.</exception>
    public static ServiceNotifier? Create(Func<string, string?> variable) =>
        variable("NOTIFY_SOCKET") is { Length: > 0 } socket
            ? new ServiceNotifier(AddressOf(socket), WatchdogOf(variable))
            : null;

    /// <summary>Notifies the manager that the service is ready.</summary>
    /// <param name="status">The text in systemctl status, one line.</param>
    /// <exception cref="RpcException">Unavailable: the manager does not receive it.</exception>
    public void Ready(string status) => Send($"READY=1\nSTATUS={Line(status)}");

    /// <summary>Says that the service still works.</summary>
    /// <exception cref="RpcException">Unavailable: the manager does not receive it.</exception>
    public void Alive() => Send("WATCHDOG=1");

    /// <summary>Says that the service begins to stop.</summary>
    /// <exception cref="RpcException">Unavailable: the manager does not receive it.</exception>
    public void Stopping() => Send("STOPPING=1");

    public void Dispose() => _socket.Dispose();

    private void Send(string state)
    {
        try
        {
            _socket.SendTo(Encoding.UTF8.GetBytes(state), _manager);
        }
        catch (SocketException e)
        {
            throw new RpcException(
                RpcStatusCode.Unavailable, RpcErrorIds.ServiceManagerUnreachable,
                $"The service manager could not be notified at '{_manager}': {e.Message} "
                + "Check NOTIFY_SOCKET, and NotifyAccess of the unit.", e);
        }
    }

    private static UnixDomainSocketEndPoint AddressOf(string socket)
    {
        try
        {
            return socket[0] switch
            {
                // A name in the abstract namespace of Linux.
                '@' => new UnixDomainSocketEndPoint($"\0{socket[1..]}"),
                '/' => new UnixDomainSocketEndPoint(socket),
                _ => throw Invalid(socket, inner: null),
            };
        }
        catch (ArgumentException e)
        {
            throw Invalid(socket, e);
        }
    }

    // WATCHDOG_PID names the process that must send the notifications. It may be another process than this
    // one.
    private static TimeSpan? WatchdogOf(Func<string, string?> variable)
    {
        bool isOther = variable("WATCHDOG_PID") is { Length: > 0 } process
            && process != Environment.ProcessId.ToString(CultureInfo.InvariantCulture);
        return !isOther
            && long.TryParse(
                variable("WATCHDOG_USEC"), NumberStyles.None, CultureInfo.InvariantCulture, out long micros)
            && micros is > 0 and <= long.MaxValue / TimeSpan.TicksPerMicrosecond
            ? TimeSpan.FromTicks(
                Math.Max(micros * TimeSpan.TicksPerMicrosecond / 2, TimeSpan.TicksPerMillisecond))
            : null;
    }

    private static string Line(string text) => TerminalText.Neutralize(text.ReplaceLineEndings(" "));

    private static RpcException Invalid(string socket, Exception? inner) => new(
        RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidNotifySocket,
        $"NOTIFY_SOCKET is '{socket}', which is no address of a Unix socket. Give an absolute path of at "
        + "most 107 bytes, or '@' and an abstract name.", inner);
}
