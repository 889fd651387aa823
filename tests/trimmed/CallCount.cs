namespace ProtoRpc.TrimmedTests;

/// <summary>A service of the application that an interceptor gets.</summary>
internal sealed class CallCount
{
    private int _calls;

    public int Calls => Volatile.Read(ref _calls);

    public void Add() => Interlocked.Increment(ref _calls);
}
