namespace ProtoRpc.PowerShell;

/// <summary>One of many calls: over which connection, and what it brings.</summary>
internal sealed record FanOutCall(
    RpcConnection Connection, Func<CancellationToken, IAsyncEnumerable<object>> Replies);
