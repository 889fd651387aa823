namespace ProtoRpc.Server.AccessLogs;

/// <summary>Receives the calls of a listening server, from many threads. Disposing writes the waiting
/// calls.</summary>
internal interface IAccessLogSink : IDisposable
{
    /// <summary>Adds a call without blocking. Never throws.</summary>
    void Add(RpcAccessLogEntry entry);
}
