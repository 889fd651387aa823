using ProtoRpc.Transports;

namespace ProtoRpc.Tool.Verbs;

/// <summary>A server of the tool from its start until it is stopped, as the user and the service manager see
/// it.</summary>
internal static class ServingRun
{
    /// <summary>Listens until the token is cancelled, or nobody reads what is printed any more, and lets
    /// running calls end. A service manager that
    /// NOTIFY_SOCKET names is notified by sd_notify(3).</summary>
    /// <param name="server">The server, with its endpoints.</param>
    /// <param name="what">What it does, for the user.</param>
    /// <param name="console">Gets the endpoints.</param>
    /// <param name="stop">Ends it.</param>
    /// <exception cref="RpcException">It cannot listen, or NOTIFY_SOCKET is no address.</exception>
    /// <exception cref="OutputClosedException">The reader of standard output has gone.</exception>
    public static async Task RunAsync(
        RpcServer server, Func<RpcServer, string> what, ToolConsole console, CancellationToken stop)
    {
        using ServiceNotifier? service = ServiceNotifier.Create(console.Variable);
        server.StartListening();
        foreach (RpcEndpoint endpoint in server.Endpoints)
        {
            console.WriteLine($"Listening on {endpoint}");
        }

        bool isHeard = Notify(
            () => service?.Ready($"Serving {string.Join(", ", server.Endpoints)}"), console);
        console.WriteLine($"{what(server)} Press Ctrl+C to stop.");
        TimeSpan sign = isHeard && service?.WatchdogInterval is { } interval
            ? interval
            : Timeout.InfiniteTimeSpan;
        Task end = Task.WhenAny(server.Completion, console.OutputClosed);
        while (!await HasEndedAsync(end, sign, stop))
        {
            sign = Notify(() => service?.Alive(), console) ? sign : Timeout.InfiniteTimeSpan;
        }

        Notify(() => service?.Stopping(), console);
        await server.StopAsync();
        if (!stop.IsCancellationRequested && console.OutputClosed.IsCompleted)
        {
            throw await console.OutputClosed;
        }
    }

    private static async Task<bool> HasEndedAsync(Task end, TimeSpan within, CancellationToken stop)
    {
        await end.WaitAsync(within, stop).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        return end.IsCompleted || stop.IsCancellationRequested;
    }

    // A service that the manager does not hear still serves.
    private static bool Notify(Action notify, ToolConsole console)
    {
        try
        {
            notify();
            return true;
        }
        catch (RpcException e)
        {
            console.WriteError(e.Message);
            return false;
        }
    }
}
