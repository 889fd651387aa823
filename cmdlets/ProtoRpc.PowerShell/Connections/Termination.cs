using System.Runtime.InteropServices;

namespace ProtoRpc.PowerShell.Connections;

/// <summary>Handles SIGTERM, which containers, Kubernetes, systemd and <c>kill</c> send. It ends the waits of
/// scripts, which then continue. If no script waits, the listeners stop as with Stop-RpcListener, and the
/// process ends.</summary>
/// <remarks>Static, because a signal is for the process and not for a runspace.</remarks>
internal static class Termination
{
    private static readonly Lock Gate = new();
    private static readonly HashSet<RpcListener> Listeners = [];
    private static readonly HashSet<CancellationTokenSource> Waits = [];

    // Never disposed; without listeners, the handler does nothing.
    private static PosixSignalRegistration? registration;

    /// <summary>Whether the process was asked to end.</summary>
    public static bool IsRequested { get; private set; }

    /// <summary>Stops a listener on SIGTERM.</summary>
    public static void Add(RpcListener listener)
    {
        lock (Gate)
        {
            Listeners.Add(listener);
            registration ??= Register();
        }
    }

    /// <summary>Removes a listener that has stopped.</summary>
    public static void Remove(RpcListener listener)
    {
        lock (Gate)
        {
            Listeners.Remove(listener);
        }
    }

    /// <summary>Ends a wait on SIGTERM, instead of the process.</summary>
    public static void Add(CancellationTokenSource wait)
    {
        lock (Gate)
        {
            Waits.Add(wait);
            registration ??= Register();
        }
    }

    /// <summary>Removes a wait that is over.</summary>
    public static void Remove(CancellationTokenSource wait)
    {
        lock (Gate)
        {
            Waits.Remove(wait);
        }
    }

    private static PosixSignalRegistration? Register()
    {
        try
        {
            return PosixSignalRegistration.Create(PosixSignal.SIGTERM, End);
        }
        catch (PlatformNotSupportedException)
        {
            return null;
        }
    }

    private static void End(PosixSignalContext signal)
    {
        RpcListener[] listeners;
        lock (Gate)
        {
            IsRequested = true;
            if (Waits.Count > 0)
            {
                // The waiting scripts continue and decide when the process ends. Cancelling under the lock is
                // safe: the tokens only wake waiting threads, which do not take it.
                signal.Cancel = true;
                foreach (CancellationTokenSource wait in Waits)
                {
                    wait.Cancel();
                }

                return;
            }

            listeners = [.. Listeners];
        }

        // The runtime ends the process when this returns.
        Parallel.ForEach(listeners, static listener => listener.Stop(drain: null));
    }
}
