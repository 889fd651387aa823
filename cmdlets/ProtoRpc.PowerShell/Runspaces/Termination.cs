using System.Runtime.InteropServices;

namespace ProtoRpc.PowerShell.Runspaces;

/// <summary>What the request to end the process does:
/// containers, Kubernetes and systemd send SIGTERM, and so does
/// <c>kill</c>. It ends the waits of scripts, which then go on; where none waits, the listeners stop as
/// Stop-RpcListener stops them, and the process ends.</summary>
/// <remarks>Of the process and not of a runspace, as the signal is.</remarks>
internal static class Termination
{
    private static readonly Lock Gate = new();
    private static readonly HashSet<RpcListener> Listeners = [];
    private static readonly HashSet<CancellationTokenSource> Waits = [];

    // Kept for the life of the process: without listeners it does nothing.
    private static PosixSignalRegistration? registration;

    /// <summary>Whether the process was asked to end.</summary>
    public static bool IsRequested { get; private set; }

    /// <summary>Stops a listener when the process is to end.</summary>
    public static void Add(RpcListener listener)
    {
        lock (Gate)
        {
            Listeners.Add(listener);
            registration ??= Register();
        }
    }

    /// <summary>Forgets a listener that stopped.</summary>
    public static void Remove(RpcListener listener)
    {
        lock (Gate)
        {
            Listeners.Remove(listener);
        }
    }

    /// <summary>Ends a wait, and not the process, when the process is to end.</summary>
    public static void Add(CancellationTokenSource wait)
    {
        lock (Gate)
        {
            Waits.Add(wait);
            registration ??= Register();
        }
    }

    /// <summary>Forgets a wait that is over.</summary>
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
                // The scripts know what else there is to do. Nothing waits for the lock within: the tokens
                // only wake the threads that wait.
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
