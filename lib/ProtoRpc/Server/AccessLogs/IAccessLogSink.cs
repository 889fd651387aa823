namespace ProtoRpc.Server.AccessLogs;

/// <summary>Takes the calls of a server while it listens, from many threads; disposing writes what
/// waits.</summary>
internal interface IAccessLogSink : IDisposable
{
    /// <summary>Adds a call, without waiting. Never throws.</summary>
    void Add(RpcAccessLogEntry entry);
}
