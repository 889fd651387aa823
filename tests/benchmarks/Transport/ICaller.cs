namespace ProtoRpc.Benchmarks.Transport;

/// <summary>One connection of one blocking caller.</summary>
internal interface ICaller : IDisposable
{
    /// <summary>Makes one call and waits for its reply.</summary>
    void Call();
}
