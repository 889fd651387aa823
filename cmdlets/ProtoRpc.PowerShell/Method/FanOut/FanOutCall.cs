using ProtoRpc.PowerShell.Cmdlets;

namespace ProtoRpc.PowerShell.Method.FanOut;

/// <summary>One of many calls: over which connection, what it brings, and the pipeline object that it
/// sends.</summary>
internal sealed record FanOutCall(
    RpcConnection Connection, Func<CancellationToken, IAsyncEnumerable<object>> Replies,
    PipelineRow? Row = null);
