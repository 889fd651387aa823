using Google.Protobuf;
using ProtoRpc.Server.Interceptors;
using ProtoRpc.Server.Recording;

namespace ProtoRpc;

/// <summary>Writes the calls of servers to a file as lines of JSON: time, method, peer, user, messages,
/// status and milliseconds.</summary>
/// <remarks>An interceptor; put it first, so that it also records calls that others reject. A separate thread
/// writes the calls, which never fail because of the recorder. On a gateway, this thread also decodes
/// the messages, with the schema of the service. Headers and trailers are not written. Only the owner can
/// read new files. Dispose the recorder after the server, to write the waiting calls.
/// <see cref="RpcMock.Replay"/> plays a file back.</remarks>
public sealed class RpcCallRecorder : IRpcInterceptor, IPassesBytes, IDisposable
{
    private readonly Capture _capture;
    private readonly RecordWriter _writer;

    /// <summary>Opens the file. Lines are appended to an existing file.</summary>
    /// <param name="path">The file.</param>
    /// <param name="options">The options; null for the defaults.</param>
    /// <exception cref="RpcException">The file cannot be written, and why. InvalidArgument: a mask is
    /// invalid.</exception>
    public RpcCallRecorder(string path, RpcCallRecorderOptions? options = null)
    {
        ArgumentException.ThrowIfNullOrEmpty(path);
        options = options is null ? new RpcCallRecorderOptions() : options with { };
        Mask = new MessageMask(options.Mask);
        _writer = new RecordWriter(path, new RecordLine(Mask), options);
        _capture = new Capture(_writer);
    }

    /// <summary>The number of calls written to the file.</summary>
    public long Written => _writer.Written;

    /// <summary>The number of calls that were not recorded, because the file could not be written, or too
    /// many calls waited.</summary>
    public long Lost => _writer.Lost;

    internal MessageMask Mask { get; }

    /// <inheritdoc/>
    public ValueTask<IMessage> InvokeAsync(
        RpcServerCallContext context, IMessage request, RpcHandler next)
    {
        ArgumentNullException.ThrowIfNull(context);
        ArgumentNullException.ThrowIfNull(next);
        return _capture.InvokeAsync(context, request, next);
    }

    /// <inheritdoc/>
    public ValueTask InvokeStreamAsync(
        RpcServerCallContext context, RpcServerStream stream, RpcStreamHandler next)
    {
        ArgumentNullException.ThrowIfNull(context);
        ArgumentNullException.ThrowIfNull(stream);
        ArgumentNullException.ThrowIfNull(next);
        return _capture.InvokeStreamAsync(context, stream, next);
    }

    /// <summary>The masks that do not match any field of the services' messages. They may still match keys of
    /// maps and Struct.</summary>
    public IReadOnlyList<string> FindUnknownMasks(IEnumerable<RpcServiceInfo> services) =>
        Mask.FindUnknown(services);

    /// <summary>Writes the waiting calls, and closes the file.</summary>
    public void Dispose() => _writer.Dispose();

    private sealed class Capture(RecordWriter writer) : CallCapture
    {
        private const int MinSecretLength = 4;
        private static readonly RecordingLimits Limits = new();

        private static readonly string[] SecretHeaders =
            ["auth", "token", "secret", "password", "credential", "cookie", "key", "session"];

        protected override RpcRecordedCall Begin(RpcServerCallContext context) =>
            new(context, new RpcMetadata(), Limits);

        protected override void End(RpcRecordedCall call) => writer.Add(call);

        // The error text of a handler may contain the token that it rejects.
        protected override IReadOnlyList<string> SecretsOf(RpcServerCallContext context) =>
        [
            .. HeadersOf(context)
                .Where(header => SecretHeaders.Any(
                    part => header.Key.Contains(part, StringComparison.OrdinalIgnoreCase)))
                .SelectMany(header => header.Value is string text ? text.Split(' ') : [])
                .Where(word => word.Length >= MinSecretLength),
        ];
    }
}
