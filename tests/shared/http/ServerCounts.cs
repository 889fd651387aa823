namespace ProtoRpc.TestServers;

/// <summary>The counters of a server that was called over HTTP.</summary>
internal static class ServerCounts
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(20);

    /// <summary>Waits for counters. The client may have the reply before the server has counted the end of
    /// the call.</summary>
    /// <exception cref="TimeoutException">The server still has other counters after 20 seconds.</exception>
    public static void RequireCounts(this RpcServer server, Func<RpcServerCounters, bool> expected)
    {
        if (!SpinWait.SpinUntil(() => expected(server.Counters), Patience))
        {
            throw new TimeoutException($"The server has other counters: {server.Counters}.");
        }
    }
}
