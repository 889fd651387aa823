using ProtoRpc.PowerShell.Cmdlets;

namespace ProtoRpc.PowerShell.Method.FanOut;

/// <summary>What one of many calls brought: a reply, an error, or its end.</summary>
internal readonly record struct FanOutResult(
    RpcConnection Connection, object? Reply, RpcException? Error, PipelineRow? Row = null)
{
    /// <summary>Whether the call brings nothing more.</summary>
    public bool IsEnd => Reply is null && Error is null;
}
