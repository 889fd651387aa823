using ProtoRpc.Server.Native;

namespace ProtoRpc.Tests.Transports;

/// <summary>A handler that tells that it runs and then waits,
/// for a release or for its cancellation.</summary>
internal sealed class BlockingHandler : IDisposable
{
    private readonly SemaphoreSlim _release = new(0);
    private int _running;
    private int _cancelled;

    public int Running => Volatile.Read(ref _running);

    public int Cancelled => Volatile.Read(ref _cancelled);

    public void Release(int calls = 1) => _release.Release(calls);

    public ValueTask Handle(ExecServerCall call)
    {
        CancellationToken token = call.Cancellation;
        Interlocked.Increment(ref _running);
        try
        {
            _release.Wait(token);
            return TestServer.Echo(call);
        }
        catch (OperationCanceledException)
        {
            Interlocked.Increment(ref _cancelled);
            throw;
        }
        finally
        {
            Interlocked.Decrement(ref _running);
        }
    }

    public void Dispose() => _release.Dispose();
}
