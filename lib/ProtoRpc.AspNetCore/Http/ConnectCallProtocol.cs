using System.Buffers;
using System.Diagnostics;
using System.IO.Pipelines;
using ProtoRpc.AspNetCore.Grpc;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Grpc;
using ProtoRpc.Protocols.Http;
using ProtoRpc.Server;
using ProtoRpc.Server.Calls;

namespace ProtoRpc.AspNetCore.Http;

/// <summary>Carries a call that streams over the Connect protocol. The last frame of its replies has the
/// status and the trailers. <see cref="HttpCallProtocol"/> carries calls with one request and one
/// reply.</summary>
/// <param name="replies">Writes failures, and selects the compression.</param>
/// <param name="host">The server.</param>
/// <param name="endpoint">The endpoint that received the call.</param>
/// <param name="http">The request.</param>
/// <param name="method">The called method.</param>
/// <param name="format">The format of the messages.</param>
/// <param name="peer">The caller.</param>
/// <param name="aborted">Cancelled when the caller disconnects, or the server stops.</param>
internal sealed class ConnectCallProtocol(
    HttpReplies replies, ServerHost host, RpcEndpoint endpoint, HttpContext http, ServerMethod method,
    MessageFormat format, PeerIdentity peer, CancellationToken aborted)
    : CallProtocol(host, endpoint)
{
    private ConnectServerStream? _stream;
    private bool _hasBegun;

    public override PeerIdentity Peer => peer;

    // Kestrel cancels the token on another thread, after reads and writes have already failed.
    public override bool IsAbandoned =>
        _stream is { IsCut: true } || http.RequestAborted.IsCancellationRequested;

    public override ServerMethod? Routed => method;

    public override object? SharedConnection =>
        HttpProtocol.IsHttp2(http.Request.Protocol) ? http.Connection.Id : null;

    public override long BytesIn => _stream?.BytesReceived ?? 0;

    public override long BytesOut => _stream?.BytesSent ?? 0;

    /// <summary>The format of a request that streams over Connect; null for another request.</summary>
    public static MessageFormat? FormatOf(HttpRequest request, ServerMethod method) =>
        method.Info.IsUnary || !HttpMethods.IsPost(request.Method)
            ? null
            : ConnectFraming.FormatOf(request.ContentType);

    public override ActivityContext ReadParent(RpcServerCallContext? context) => HttpActivity.ParentOf(http);

    public override CallHead ReadHead()
    {
        HttpRequest request = http.Request;
        GrpcService.Bound(http, method);
        HttpRequestHead.RequireVersion(request);
        return new CallHead(
            method, HttpRequestHead.ContextOf(request), HttpRequestHead.DeadlineOf(request), aborted)
        {
            Headers = () => HandlerHeaders.Read(request),
            Services = http.RequestServices,
        };
    }

    public override async ValueTask<RpcServerStream?> OpenStreamAsync(
        ServerMethod method, RpcServerCallContext context)
    {
        // On an HTTP/1.1 endpoint, the handler would run on the thread that receives the connection's bytes,
        // and block its own requests.
        bool leavesReader =
            method.Info.IsClientStreaming && !HttpProtocol.IsHttp2(http.Request.Protocol);
        if (leavesReader)
        {
            await Task.Yield();
        }

        return _stream = new ConnectServerStream(
            replies, method, context, http.Request.BodyReader, http.Response.BodyWriter, format)
        {
            MaxBytes = Host.Options.Limits.MaxMessageBytes,
            Memory = Memory,
            Encoding = EncodingOf(http.Request),
            Request = http.Request,
            Begin = encoding => Begin(context, encoding),
            LeavesReader = leavesReader,
        };
    }

    public override ValueTask<IMessage> ReadAsync(ServerMethod method, RpcServerCallContext context) =>
        throw new InvalidOperationException("A stream is read by its handler.");

    public override ValueTask ReplyAsync(RpcServerCallContext context, IMessage reply) =>
        throw new InvalidOperationException("A stream is written by its handler.");

    public override async ValueTask CompleteAsync(RpcServerCallContext context)
    {
        if (!_hasBegun)
        {
            Begin(context, encoding: null);
        }

        RequireFree(context.SetTrailers, "trailer");
        await EndAsync(error: null, context.SetTrailers).ConfigureAwait(false);
    }

    public override CallFailure Translate(Exception error, RpcServerCallContext? context) =>
        HttpFailure.RefusalOf(error, Host.Options.Limits) ?? base.Translate(error, context);

    public override async ValueTask FailAsync(CallFailure failure, RpcServerCallContext? context)
    {
        HttpFailure answer = HttpFailure.From(failure);
        if (!_hasBegun)
        {
            Head();
            if (context is not null)
            {
                HandlerHeaders.WriteOfFailure(http.Response, context, withTrailers: false);
            }

            if (failure.RetryAfter is not null)
            {
                http.Response.Headers[HttpNames.Busy] = "1";
                http.Response.Headers.RetryAfter = HttpReplies.SecondsOf(failure.RetryAfter);
            }
        }

        await EndAsync(answer, context?.SetTrailers).ConfigureAwait(false);
    }

    public override ValueTask CloseAsync() => _stream?.CloseAsync() ?? default;

    public override void Release()
    {
        _stream?.Dispose();
        base.Release();
    }

    // The compression of the messages of a request; null for none.
    private static string? EncodingOf(HttpRequest request)
    {
        string encoding = request.Headers[HttpNames.ConnectEncoding].ToString();
        return GrpcEncoding.IsNone(encoding) ? null
            : ContentEncoding.Find(encoding)?.Name ?? throw new RpcException(
                RpcStatusCode.Unimplemented,
                $"The message encoding '{encoding}' is not supported; "
                + $"use one of {GrpcEncoding.Accepted}.");
    }

    private static void RequireFree(RpcMetadata? metadata, string what)
    {
        foreach (string name in metadata?.Names ?? [])
        {
            if (name.StartsWith(HttpNames.ConnectPrefix, StringComparison.OrdinalIgnoreCase))
            {
                throw HandlerHeaders.ReservedName(what, name);
            }
        }
    }

    private void Begin(RpcServerCallContext context, ContentEncoding? encoding)
    {
        RequireFree(context.SetHeaders, "header");
        HandlerHeaders.Write(http.Response, context.SetHeaders);
        HandlerHeaders.WriteContext(http.Response, context);
        Head();
        if (encoding is not null)
        {
            http.Response.Headers[HttpNames.ConnectEncoding] = encoding.Name;
        }
    }

    private void Head()
    {
        _hasBegun = true;
        HttpResponse response = http.Response;
        response.StatusCode = StatusCodes.Status200OK;
        response.ContentType = ConnectFraming.TypeOf(format);
        response.Headers[HttpNames.ConnectAcceptEncoding] = ContentEncoding.Accepted;
        response.Headers.XContentTypeOptions = "nosniff";
        response.Headers.CacheControl = "no-store";

        // Proxies that buffer replies would delay them.
        response.Headers["X-Accel-Buffering"] = "no";
    }

    private async ValueTask EndAsync(HttpFailure? error, RpcMetadata? trailers)
    {
        ArrayBufferWriter<byte> end = new();
        ConnectEnd.Write(
            end, error is null ? null : json => replies.WriteConnectError(json, error), trailers);
        PipeWriter output = http.Response.BodyWriter;
        GrpcFraming.Write(output, ConnectFraming.EndStream, end.WrittenSpan);
        await output.FlushAsync().ConfigureAwait(false);
    }
}

/// <summary>The messages of a call that streams over the Connect protocol.</summary>
/// <param name="replies">Selects the compression.</param>
/// <param name="method">The method.</param>
/// <param name="context">The call.</param>
/// <param name="input">The body of the request.</param>
/// <param name="output">The body of the reply.</param>
/// <param name="format">The format of the messages.</param>
internal sealed class ConnectServerStream(
    HttpReplies replies, ServerMethod method, RpcServerCallContext context, PipeReader input,
    PipeWriter output, MessageFormat format)
    : FramedServerStream(method, context, input, output, ConnectFraming.Requests)
{
    private readonly FormatOptions _formats = replies.OptionsOf(method.Info.Service.Schema);
    private bool _isSelected;

    /// <summary>Prepares the head of the response, with the compression of the replies.</summary>
    public required Action<ContentEncoding?> Begin { get; init; }

    // The handler can select the compression of its replies; otherwise the listener's setting applies.
    protected override ContentEncoding? BeginReplies()
    {
        ContentEncoding? encoding = ContentEncoding.Get(Context.ReplyCompression);
        _isSelected = encoding is not null;
        encoding = replies.EncodingOf(Request, HttpNames.ConnectAcceptEncoding, encoding);
        Begin(encoding);
        return encoding;
    }

    protected override IMessage Read(in ReadOnlySequence<byte> body) =>
        Method.ReadRequest(format, body, _formats, Context);

    protected override int Write(PipeWriter output, IMessage reply, ContentEncoding? encoding)
    {
        using PooledMessageBytes body = new(MaxBytes, "reply");
        try
        {
            format.WriteChecked(reply, body, _formats with { Indented = false });
        }
        catch (RpcException e) when (e.Code == RpcStatusCode.InvalidArgument)
        {
            throw HttpReplies.Unwritable(format, e);
        }

        ReadOnlySpan<byte> bytes = body.Message.Span;
        byte flags = 0;
        if (encoding is not null && bytes.Length > 0 && (_isSelected || replies.Pays(bytes)))
        {
            bytes = encoding.Encode(bytes);
            flags = FrameRules.Compressed;
        }

        GrpcFraming.Write(output, flags, bytes);
        return bytes.Length;
    }

    // Other implementations of Connect also use this status.
    protected override RpcException NotOne(string why) => new(
        RpcStatusCode.Unimplemented, $"The request is not for '{Method.Info.FullName}': {why}.");
}
