using ProtoRpc.Server.Recording;

namespace ProtoRpc;

/// <summary>Writes the calls of servers to a file as lines of JSON: time, method, peer, user, messages,
/// status and milliseconds.</summary>
/// <remarks>An interceptor; put it first, so that it also records calls that others reject. A separate thread
/// writes the calls, which never fail because of the recorder. On a gateway, this thread also decodes
/// the messages, with the schema of the service. Headers and trailers are not written. Only the owner can
/// read new files. Dispose the recorder after the server, to write the waiting calls.
/// <see cref="RpcMock.Replay"/> plays a file back.</remarks>
/// <example><code>
/// using RpcCallRecorder recorder = new(path);
/// RpcServerOptions options = new() { Interceptors = [recorder] };
/// </code></example>
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

/// <summary>The options of <see cref="RpcCallRecorder"/>.</summary>
public sealed record RpcCallRecorderOptions
{
    /// <summary>The fields whose values are not written: names (<c>password</c>) or paths
    /// (<c>login.password</c>), with <c>*</c> and <c>?</c>, case-insensitive. A name matches at every depth,
    /// in lists, and among the keys of maps and Struct; a path matches the end of a field's path. Texts are
    /// replaced by <c>***</c>, other values by their default. All values in a masked message are replaced.
    /// They are also removed from the error text.</summary>
    public IReadOnlyList<string> Mask { get; init; } = [];

    /// <summary>The maximum number of calls that wait to be written; more are counted, but not recorded. The
    /// default is 10,000.</summary>
    public int MaxQueuedCalls { get; init; } = 10_000;

    /// <summary>The maximum size of the messages that wait to be written, in bytes. The default is 64
    /// MiB.</summary>
    public long MaxQueuedBytes { get; init; } = 64 * 1024 * 1024;

    /// <summary>Receives a line when calls cannot be written, for example on a full disk, and when writing
    /// works again. Runs on a thread of the recorder; its exceptions are ignored.</summary>
    public Action<string>? Warning { get; init; }
}

/// <summary>Sees the calls of a server, with their messages and ends.</summary>
/// <remarks>Calls of ProtoRpc's own methods, and those whose request cannot be read, reach no handler and are
/// not seen. Nothing that happens here fails a call.</remarks>
internal abstract class CallCapture : IRpcInterceptor
{
    public async ValueTask<IMessage> InvokeAsync(
        RpcServerCallContext context, IMessage request, RpcHandler next)
    {
        if (!context.RunsHandler)
        {
            return await next(context, request).ConfigureAwait(false);
        }

        RpcRecordedCall call = Begin(context);
        if (context.Body is null)
        {
            call.AddRequest(request);
        }
        else
        {
            // The request is in the stream that the handler reads, and too large to keep.
            call.SkipRequest();
        }

        try
        {
            IMessage reply = await next(context, request).ConfigureAwait(false);
            if (reply is not null)
            {
                call.AddReply(reply);
            }

            call.Succeed();
            return reply!;
        }
        catch (Exception e)
        {
            call.Fail(context, e, SecretsOf(context));
            throw;
        }
        finally
        {
            End(call);
        }
    }

    public async ValueTask InvokeStreamAsync(
        RpcServerCallContext context, RpcServerStream stream, RpcStreamHandler next)
    {
        if (!context.RunsHandler)
        {
            await next(context, stream).ConfigureAwait(false);
            return;
        }

        RpcRecordedCall call = Begin(context);
        try
        {
            await next(context, new CapturedStream(stream, call)).ConfigureAwait(false);
            call.Succeed();
        }
        catch (Exception e)
        {
            call.Fail(context, e, SecretsOf(context));
            throw;
        }
        finally
        {
            End(call);
        }
    }

    /// <summary>Makes the record of a call that begins.</summary>
    protected abstract RpcRecordedCall Begin(RpcServerCallContext context);

    /// <summary>Takes the record of a call that has ended.</summary>
    protected virtual void End(RpcRecordedCall call)
    {
    }

    /// <summary>Texts that the record of a failed call must not have.</summary>
    protected virtual IReadOnlyList<string> SecretsOf(RpcServerCallContext context) => [];

    /// <summary>The headers of a call. Empty if they cannot be read, because the handler reports that
    /// error.</summary>
    protected static RpcMetadata HeadersOf(RpcServerCallContext context)
    {
        try
        {
            return context.RequestHeaders.Copy();
        }
        catch (RpcException)
        {
            return new RpcMetadata();
        }
    }
}

/// <summary>The stream of a call, which records each message.</summary>
internal sealed class CapturedStream(RpcServerStream inner, RpcRecordedCall call)
    : RpcServerStream(inner.Method)
{
    internal override async ValueTask<IMessage?> ReceiveAsync()
    {
        IMessage? request = await inner.ReadAsync().ConfigureAwait(false);
        if (request is not null)
        {
            call.AddRequest(request);
        }

        return request;
    }

    internal override ValueTask BeginAsync() => inner.BeginAsync();

    // Added before it is sent: a caller that has received the reply must find it in the recording.
    internal override ValueTask SendAsync(IMessage reply, bool compress)
    {
        call.AddReply(reply);
        return inner.WriteAsync(reply, compress);
    }
}
