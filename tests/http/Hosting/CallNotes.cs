namespace ProtoRpc.Http.Tests.Hosting;

/// <summary>What belongs to one call, and is disposed with it.</summary>
public sealed class CallNotes : IAsyncDisposable
{
    private static int s_open;

    public CallNotes() => Interlocked.Increment(ref s_open);

    public static int Open => Volatile.Read(ref s_open);

    public List<string> Lines { get; } = [];

    public ValueTask DisposeAsync()
    {
        Interlocked.Decrement(ref s_open);
        return default;
    }
}
