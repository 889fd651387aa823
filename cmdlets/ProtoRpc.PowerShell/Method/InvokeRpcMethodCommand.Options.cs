using ProtoRpc.PowerShell.Objects;
using ProtoRpc.Protocols.Headers;

namespace ProtoRpc;

// What goes and comes beside the messages of a call.
public sealed partial class InvokeRpcMethodCommand
{
    // What nobody asked for is not read.
    private RpcResponseInfo? NewInfo() =>
        ResponseHeadersVariable is null && TrailersVariable is null && ResponseExtensionsVariable is null
            ? null
            : new RpcResponseInfo();

    private RpcCallOptions Options(
        RpcResponseInfo? info, IProgress<RpcProgress>? progress = null, RpcMethodInfo? method = null) => new()
        {
            Timeout = Deadline,
            Headers = Header is null ? null : HeaderMapping.ToMetadata(Header),
            Extensions = method is null ? null : ExtensionsFor(method),
            Response = info,
            Progress = progress,
            WaitForReady = WaitForReady,
        };

    private RpcCallOptions WithExtensions(RpcCallOptions options, RpcMethodInfo method) =>
        Extension is null ? options : options with { Extensions = ExtensionsFor(method) };

    private DynamicMessage? ExtensionsFor(RpcMethodInfo method) => Extension is null
        ? null
        : HeaderExtensionMap.ToMessage(method.Service.Schema, RpcRequestHeader.Descriptor, Extension);

    private void SetVariables(RpcResponseInfo? info)
    {
        if (ResponseHeadersVariable is not null)
        {
            SessionState.PSVariable.Set(ResponseHeadersVariable, HeaderMapping.ToHashtable(info!.Headers));
        }

        if (TrailersVariable is not null)
        {
            SessionState.PSVariable.Set(TrailersVariable, HeaderMapping.ToHashtable(info!.Trailers));
        }

        if (ResponseExtensionsVariable is not null)
        {
            SessionState.PSVariable.Set(
                ResponseExtensionsVariable, HeaderExtensionMap.ToDictionary(info!.Extensions));
        }
    }
}
