namespace ProtoRpc.Transports;

/// <summary>Keeps other processes from binding or removing sockets in a directory for a moment.</summary>
internal static class LocalSocketLock
{
    // No socket is named so: endpoint names do not start with a dot.
    private const string FileName = ".lock";
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(5);

    /// <summary>Waits for the lock; disposing gives it back.</summary>
    /// <exception cref="RpcException">Unavailable when another process keeps it,
    /// PermissionDenied.</exception>
    public static IDisposable Take(RpcEndpoint endpoint, string directory)
    {
        string path = Path.Combine(directory, FileName);
        long end = Environment.TickCount64 + (long)Patience.TotalMilliseconds;
        while (true)
        {
            try
            {
                // The system releases the lock of a process that ends, however it ends.
                return new FileStream(
                    path, FileMode.OpenOrCreate, FileAccess.ReadWrite, FileShare.None, bufferSize: 0);
            }
            catch (IOException) when (Environment.TickCount64 < end)
            {
                Thread.Sleep(2);
            }
            catch (Exception e) when (e is IOException or UnauthorizedAccessException)
            {
                throw new RpcException(
                    e is IOException ? RpcStatusCode.Unavailable : RpcStatusCode.PermissionDenied,
                    $"Cannot lock '{path}' for '{endpoint}': {FileProblem.Of(e, path)}.", e)
                {
                    Endpoint = endpoint,
                };
            }
        }
    }
}
