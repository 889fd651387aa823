using Google.Protobuf;
using ProtoRpc.Server.Interceptors;

namespace ProtoRpc.PowerShell.Handlers;

/// <summary>Records a listener's calls. The interceptor is added before the listener starts; its file is
/// opened when the listener starts.</summary>
internal sealed class CallRecord : IRpcInterceptor, IPassesBytes, IDisposable
{
    private RpcCallRecorder? _recorder;

    /// <summary>Opens the file.</summary>
    /// <exception cref="RpcException">The file cannot be written, or a mask is invalid.</exception>
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

    /// <summary>Writes the waiting calls, and closes the file.</summary>
    public void Dispose() => _recorder?.Dispose();
}
