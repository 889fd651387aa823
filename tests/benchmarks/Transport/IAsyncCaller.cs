namespace ProtoRpc.Benchmarks.Transport;

/// <summary>A caller that holds no thread while it waits.</summary>
internal interface IAsyncCaller : ICaller
{
    /// <summary>Makes one call.</summary>
    Task CallAsync();
}
