using Google.Protobuf;
using ProtoRpc.Server.Interceptors;

namespace ProtoRpc.PowerShell.Handlers;

/// <summary>The record of a listener's calls. It is among the interceptors before the listener starts;
/// its file is opened when the listener does.</summary>
internal sealed class CallRecord : IRpcInterceptor, IPassesBytes, IDisposable
{
    private RpcCallRecorder? _recorder;

    /// <summary>Opens the file.</summary>
    /// <exception cref="RpcException">It cannot be written, or a mask is none.</exception>
    public RpcCallRecorder Open(string path, RpcCallRecorderOptions options) =>
        _recorder = new RpcCallRecorder(path, options);

    /// <inheritdoc/>
    public ValueTask<IMessage> InvokeAsync(
        RpcServerCallContext context, IMessage request, RpcHandler next) =>
        _recorder!.InvokeAsync(context, request, next);

    /// <inheritdoc/>
    public ValueTask InvokeStreamAsync(
        RpcServerCallContext context, RpcServerStream stream, RpcStreamHandler next) =>
        _recorder!.InvokeStreamAsync(context, stream, next);

    /// <summary>Writes what waits, and closes the file.</summary>
    public void Dispose() => _recorder?.Dispose();
}
