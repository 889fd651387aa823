namespace ProtoRpc.Http.Tests.Hosting;

/// <summary>Where calls wait.</summary>
public sealed class SlowGate
{
    public TaskCompletionSource Begun { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);

    public TaskCompletionSource Go { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);
}
