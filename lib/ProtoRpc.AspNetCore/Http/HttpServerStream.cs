using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Http;
using ProtoRpc.Server;
using ErrorResult = ProtoRpc.Protocols.Headers.ErrorResult;

namespace ProtoRpc.AspNetCore.Http;

/// <summary>The single request of a call, and its replies in the body of the response.</summary>
/// <remarks>An abandoned handler may still write when the call ends: <see cref="CloseAsync"/> ends this
/// first, because the connection reuses its buffers.</remarks>
internal sealed class HttpServerStream : RpcServerStream, IDisposable
{
    private readonly HttpContext _http;
    private readonly HttpStreamFormat _format;
    private readonly FormatOptions _options;
    private readonly CancellationTokenSource _end;
    private readonly CancellationToken _cancellation;
    private readonly PooledMessageBytes _reply;
    private readonly SemaphoreSlim _writing = new(1, 1);
    private readonly Action<HttpResponse> _begin;
    private IMessage? _request;
    private bool _closed;

    /// <param name="http">The request and response of the call.</param>
    /// <param name="method">The method.</param>
    /// <param name="context">The call.</param>
    /// <param name="request">The request.</param>
    /// <param name="format">The format of the stream of replies.</param>
    /// <param name="options">The options for writing messages.</param>
    /// <param name="maxBytes">The largest reply.</param>
    /// <param name="begin">Adds headers before the first reply.</param>
    public HttpServerStream(
        HttpContext http,
        ServerMethod method,
        RpcServerCallContext context,
        IMessage request,
        HttpStreamFormat format,
        FormatOptions options,
        int maxBytes,
        Action<HttpResponse> begin)
        : base(method)
    {
        _http = http;
        _request = request;
        _format = format;
        _options = options;
        _begin = begin;
        _reply = new PooledMessageBytes(maxBytes, "reply");
        _end = CancellationTokenSource.CreateLinkedTokenSource(context.CancellationToken);
        _cancellation = _end.Token;
    }

    /// <summary>The size of the replies, including an error after them.</summary>
    public long BytesSent { get; private set; }

    /// <summary>Ends what still writes.</summary>
    public async ValueTask CloseAsync()
    {
        await _end.CancelAsync().ConfigureAwait(false);
        await _writing.WaitAsync().ConfigureAwait(false);
        _closed = true;
        _writing.Release();
    }

    /// <summary>The format of the replies.</summary>
    public MessageFormat Format => _format.Format;

    /// <summary>Begins the response, even if there is no reply.</summary>
    public async ValueTask StartAsync()
    {
        if (!_http.Response.HasStarted)
        {
            Prepare();
            await _http.Response.StartAsync(_http.RequestAborted).ConfigureAwait(false);
        }
    }

    /// <summary>Ends a response that has begun, with an error or with trailers in the form of an
    /// error.</summary>
    public async ValueTask FailAsync(ErrorResult error)
    {
        if (!_format.HasErrors)
        {
            // The connection is closed, because an incomplete reply must not look complete.
            _http.Abort();
            return;
        }

        _reply.Reset();
        _format.WriteError(_reply, error, _options);
        BytesSent += _reply.Length;
        await _http.Response.Body.WriteAsync(_reply.Message, _http.RequestAborted).ConfigureAwait(false);
    }

    public void Dispose()
    {
        _end.Dispose();
        _reply.Dispose();
    }

    internal override ValueTask<IMessage?> ReceiveAsync()
    {
        IMessage? only = _request;
        _request = null;
        return ValueTask.FromResult(only);
    }

    internal override async ValueTask SendAsync(IMessage reply, bool compress)
    {
        await _writing.WaitAsync(_cancellation).ConfigureAwait(false);
        try
        {
            if (_closed)
            {
                throw new OperationCanceledException("The call has ended.");
            }

            // Encode first: if encoding fails, no byte of the reply has been written.
            _reply.Reset();
            try
            {
                _format.Write(_reply, reply, _options);
            }
            catch (RpcException e) when (e.Code == RpcStatusCode.InvalidArgument)
            {
                throw HttpReplies.Unwritable(_format.Format, e);
            }

            BytesSent += _reply.Length;
            if (!_http.Response.HasStarted)
            {
                Prepare();
            }

            await _http.Response.Body.WriteAsync(_reply.Message, _cancellation).ConfigureAwait(false);
            await _http.Response.Body.FlushAsync(_cancellation).ConfigureAwait(false);
        }
        finally
        {
            _writing.Release();
        }
    }

    private void Prepare()
    {
        HttpResponse response = _http.Response;
        response.ContentType = _format.MediaType;
        response.Headers.XContentTypeOptions = "nosniff";
        response.Headers.CacheControl = "no-store";

        // Proxies that buffer replies would delay them.
        response.Headers["X-Accel-Buffering"] = "no";
        _begin(response);
    }
}
