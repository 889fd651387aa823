using System.Collections;
using ProtoRpc.PowerShell.Method;
using ProtoRpc.PowerShell.Objects;
using ProtoRpc.Protocols.Headers;

namespace ProtoRpc;

// What goes and comes beside the messages of a call.
public sealed partial class InvokeRpcMethodCommand
{
    private CallReport? _report;

    // Headers and trailers are read only if a variable needs them.
    private RpcResponseInfo? NewInfo() =>
        ResponseHeadersVariable is null && TrailersVariable is null && ResponseExtensionsVariable is null
            && !IsVerbose
            ? null
            : new RpcResponseInfo();

    // One request and one reply, with a verbose line when the call has ended.
    private DynamicMessage Invoke(
        RpcClient client, RpcMethodInfo method, DynamicMessage request, RpcCallOptions options)
    {
        BeginReport(method.FullName, client.Endpoint, options.Response);
        return Reported(() => client.Invoke(method, request, options, Cancellation));
    }

    // The same of the raw layer.
    private byte[] Execute(RpcRawClient client)
    {
        RpcResponseInfo? info = IsVerbose ? new RpcResponseInfo() : null;
        BeginReport(client.InterfaceId.ToString(), client.Endpoint, info);
        return Reported(() => client.Execute(Bytes, RawOptions(info), Cancellation));
    }

    private RpcCallOptions RawOptions(RpcResponseInfo? info = null) =>
        new() { Timeout = Deadline, WaitForReady = WaitForReady, Response = info };

    private TReply Reported<TReply>(Func<TReply> call)
    {
        RpcStatusCode status = RpcStatusCode.Unknown;
        try
        {
            TReply reply = call();
            status = RpcStatusCode.OK;
            return reply;
        }
        catch (RpcException e)
        {
            status = e.Code;
            throw;
        }
        finally
        {
            EndReport(status);
        }
    }

    private void BeginReport(string method, RpcEndpoint endpoint, RpcResponseInfo? info) =>
        _report = info is not null && IsVerbose ? new CallReport(method, endpoint, info) : null;

    private void EndReport(RpcStatusCode status)
    {
        CallReport? report = _report;
        _report = null;
        if (report is not null && !_disposing && !Stopping)
        {
            WritePendingDebug();
            WriteVerbose(report.TextOf(status));
        }
    }

    private RpcCallOptions Options(
        RpcResponseInfo? info, IProgress<RpcProgress>? progress = null, RpcMethodInfo? method = null) => new()
        {
            Timeout = Deadline,
            Headers = Header is null ? null : HeaderMapping.ToMetadata(Header),
            Extensions = method is null ? null : ExtensionsFor(method, Extension),
            Response = info,
            Progress = progress,
            WaitForReady = WaitForReady,
        };

    private static RpcCallOptions WithExtensions(
        RpcCallOptions options, RpcMethodInfo method, IDictionary? extension) =>
        extension is null ? options : options with { Extensions = ExtensionsFor(method, extension) };

    private static DynamicMessage? ExtensionsFor(RpcMethodInfo method, IDictionary? extension) =>
        extension is null
            ? null
            : HeaderExtensionMap.ToMessage(method.Service.Schema, RpcRequestHeader.Descriptor, extension);

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
