using System.Buffers;
using System.Globalization;
using System.Text;
using System.Text.Json;
using Google.Protobuf;
using Microsoft.AspNetCore.Http;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Http;
using ProtoRpc.Server;

namespace ProtoRpc.Hosting.Http;

/// <summary>Runs the calls that come over HTTP: a request in one format in,
/// a reply or an error in another out.</summary>
internal sealed class HttpCalls(ServerHost host, HttpServerOptions options, RpcEndpoint endpoint)
{
    private const int BusyRetrySeconds = 1;

    private readonly int _maxBytes = host.Options.Limits.MaxMessageBytes;
    private readonly FormatOptions _format = new()
    {
        MaxDepth = host.Options.Limits.MaxDepth,
        MaxElements = host.Options.Limits.MaxMessageElements,
    };
    private readonly ReplyCompression _compression = new(options.CompressionThreshold);

    /// <summary>Runs a call and answers it, also when it fails.</summary>
    public async Task HandleAsync(HttpContext http, ServerMethod method, PeerIdentity peer)
    {
        RpcServerCallContext? context = null;
        bool failed = true;
        host.BeginCall();
        try
        {
            CancellationToken aborted = http.RequestAborted;
            ConnectQuery? connect = ConnectQuery.Of(http.Request);
            MessageFormat? reader = connect is null ? ReaderOf(http.Request) : connect.Format;
            HttpStreamFormat? stream = method.Info.IsServerStreaming && !method.Info.IsClientStreaming
                ? MediaTypes.StreamOf(http.Request.Headers.Accept, reader)
                    ?? throw NotAcceptable(string.Join(
                        ", ", HttpStreamFormat.All.Select(format => format.MediaTypes[0])))
                : null;
            (MessageFormat Format, string MediaType) writer =
                stream is not null ? (stream.Format, stream.MediaType)
                : connect is not null ? (connect.Format, connect.MediaType)
                : WriterOf(http.Request, reader) ?? throw NotAcceptable(MediaTypes.Known);
            context = new RpcServerCallContext(
                host, method.Info, endpoint, peer,
                IncomingContext(http.Request), DeadlineOf(http.Request), aborted)
            {
                HeaderSource = () => HandlerHeaders.Read(http.Request),
            };
            FormatOptions formats = _format with { Schema = method.Info.Service.Schema };
            IMessage request;
            using (RequestBody body = await ReadAsync(http.Request, connect, aborted).ConfigureAwait(false))
            {
                RequireNoJson(http.Request, reader, body.Bytes);
                request = method.ReadRequest(
                    reader ?? EmptyReader(http.Request, body.Bytes), body.Bytes, formats, context);
            }

            if (stream is not null)
            {
                await StreamAsync(http, method, context, peer, request, stream, formats)
                    .ConfigureAwait(false);
                failed = false;
                return;
            }

            IMessage reply = await host.InvokeAsync(method, context, request).ConfigureAwait(false);
            context.RunsHandler = false;
            method.CheckReply(reply, context);
            WriteHeaders(http.Response, context);
            HandlerHeaders.WriteTrailers(http.Response, context.SetTrailers);
            await WriteAsync(http, StatusCodes.Status200OK, writer, reply, formats).ConfigureAwait(false);
            failed = false;
        }
        catch (Exception e)
            when (e is not HttpStreamFailed && HttpFailure.OfRequest(e) is null
                && !http.RequestAborted.IsCancellationRequested)
        {
            throw new HttpCallFailed(host.Fail(context, peer, e), context);
        }
        finally
        {
            context?.End();
            host.EndCall(failed);
        }
    }

    // A failure before the first reply is answered as that of any call;
    // one behind it is the last thing in the body.
    private async Task StreamAsync(
        HttpContext http,
        ServerMethod method,
        RpcServerCallContext context,
        PeerIdentity peer,
        IMessage request,
        HttpStreamFormat format,
        FormatOptions formats)
    {
        using HttpServerStream stream = new(
            http, method, context, request, format, formats, _maxBytes,
            response => WriteHeaders(response, context));
        try
        {
            await host.InvokeAsync(method, context, stream).ConfigureAwait(false);
            await stream.CloseAsync().ConfigureAwait(false);
            if (HttpFailure.TrailersInBody(http, context) is { } end)
            {
                await stream.FailAsync(end).ConfigureAwait(false);
            }
            else
            {
                HandlerHeaders.EndStream(http.Response, context);
                await stream.StartAsync().ConfigureAwait(false);
            }
        }
        catch (Exception e)
        {
            await stream.CloseAsync().ConfigureAwait(false);
            if (!http.Response.HasStarted || http.RequestAborted.IsCancellationRequested)
            {
                throw;
            }

            HttpFailure failure = HttpFailure.Of(host.Fail(context, peer, e));
            await stream.FailAsync(failure.ToMessage(context.SetTrailers)).ConfigureAwait(false);
            throw new HttpStreamFailed(e);
        }
    }

    /// <summary>Answers with a failure.</summary>
    public async Task FailAsync(HttpContext http, PeerIdentity peer, Exception error)
    {
        if (error is HttpStreamFailed)
        {
            // It was told already.
            return;
        }

        if (http.Response.HasStarted)
        {
            // Half a reply must not look like a whole one.
            http.Abort();
            return;
        }

        if (error is HttpCallFailed { Context: { } context })
        {
            HandlerHeaders.WriteOfFailure(http.Response, context);
        }

        HttpFailure failure = HttpFailure.OfRequest(error)
            ?? HttpFailure.Of((error as HttpCallFailed)?.Failure ?? host.Fail(context: null, peer, error));
        if (failure.HttpStatus == StatusCodes.Status503ServiceUnavailable)
        {
            http.Response.Headers.RetryAfter = BusyRetrySeconds.ToString(CultureInfo.InvariantCulture);
        }

        if (http.Request.Headers.ContainsKey(HttpNames.ConnectVersion) || ConnectQuery.IsIn(http.Request))
        {
            await WriteConnectErrorAsync(http, failure).ConfigureAwait(false);
            return;
        }

        (MessageFormat, string) writer =
            WriterOf(http.Request, MediaTypes.ReaderOf(http.Request.ContentType))
            ?? (MessageFormats.Json, MessageFormats.Json.MediaType);
        FormatOptions format = _format with { ReplaceForbidden = true };
        await WriteAsync(http, failure.HttpStatus, writer, failure.ToMessage(), format)
            .ConfigureAwait(false);
    }

    private static bool IsQuery(HttpRequest request) => !HttpMethods.IsPost(request.Method);

    private static MessageFormat? ReaderOf(HttpRequest request)
    {
        if (IsQuery(request))
        {
            return MessageFormats.Form;
        }

        string? mediaType = request.ContentType;
        return string.IsNullOrEmpty(mediaType)
            ? null
            : MediaTypes.ReaderOf(mediaType)
                ?? throw Unsupported($"The media type '{mediaType}' is not known");
    }

    private ValueTask<RequestBody> ReadAsync(
        HttpRequest request, ConnectQuery? connect, CancellationToken aborted)
    {
        if (connect is not null)
        {
            return connect.Compression is { Length: > 0 } and not "identity"
                ? RequestBody.InflateAsync(
                    new MemoryStream(connect.Message()), connect.Compression, _maxBytes, aborted)
                : new(RequestBody.Of(connect.Message()));
        }

        return IsQuery(request)
            ? new(RequestBody.Of(Encoding.UTF8.GetBytes(request.QueryString.Value ?? "")))
            : RequestBody.ReadAsync(request, _maxBytes, aborted);
    }

    // What 'curl -d' sends goes out as a form, whatever it is. No name in a form begins so.
    private static void RequireNoJson(
        HttpRequest request, MessageFormat? reader, in ReadOnlySequence<byte> body)
    {
        if ((reader is null || (reader == MessageFormats.Form && !IsQuery(request)))
            && FirstOf(body) == (byte)'{')
        {
            string type = request.ContentType ?? "";
            throw new HttpRefusal(
                StatusCodes.Status415UnsupportedMediaType,
                RpcStatusCode.InvalidArgument,
                $"The body is JSON, and its "
                + $"Content-Type {(type.Length == 0 ? "is missing" : $"is '{type}'")}; "
                + "send Content-Type: application/json.");
        }
    }

    private static byte? FirstOf(in ReadOnlySequence<byte> body)
    {
        SequenceReader<byte> reader = new(body);
        reader.AdvancePastAny((byte)' ', (byte)'\t', (byte)'\r', (byte)'\n');
        return reader.TryPeek(out byte first) ? first : null;
    }

    // No body needs no media type: it is the empty message.
    private static MessageFormat EmptyReader(HttpRequest request, ReadOnlySequence<byte> body) =>
        body.IsEmpty ? MessageFormats.Binary : throw Unsupported("The body has no media type");

    private static HttpRefusal Unsupported(string what) => new(
        StatusCodes.Status415UnsupportedMediaType,
        RpcStatusCode.InvalidArgument,
        $"{what}; send Content-Type with one of {MediaTypes.Known}.");

    private static HttpRefusal NotAcceptable(string known) => new(
        StatusCodes.Status406NotAcceptable,
        RpcStatusCode.InvalidArgument,
        $"None of the media types in Accept can be written; there are {known}.");

    private static (MessageFormat Format, string MediaType)? WriterOf(
        HttpRequest request, MessageFormat? reader) =>
        MediaTypes.WriterOf(request.Headers.Accept, IsQuery(request) ? null : reader);

    private static DateTimeOffset? DeadlineOf(HttpRequest request)
    {
        string text = request.Headers[HttpNames.Timeout].ToString();
        if (text.Length == 0)
        {
            return null;
        }

        return text.Length <= 10
            && long.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out long milliseconds)
                ? DateTimeOffset.UtcNow.AddMilliseconds(milliseconds)
                : throw new HttpRefusal(
                    StatusCodes.Status400BadRequest,
                    RpcStatusCode.InvalidArgument,
                    $"{HttpNames.Timeout} is a number of milliseconds, of ten digits at most.");
    }

    private static RpcCallContext? IncomingContext(HttpRequest request)
    {
        string text = request.Headers[HttpNames.CallContext].ToString();
        if (text.Length == 0)
        {
            return null;
        }

        try
        {
            return RpcCallContext.Parser.ParseFrom(Convert.FromBase64String(text));
        }
        catch (Exception e) when (e is FormatException or InvalidProtocolBufferException)
        {
            throw new HttpRefusal(
                StatusCodes.Status400BadRequest,
                RpcStatusCode.InvalidArgument,
                $"{HttpNames.CallContext} is not an RpcServerCallContext in base64.");
        }
    }

    private static void WriteHeaders(HttpResponse response, RpcServerCallContext context)
    {
        HandlerHeaders.Write(response, context.SetHeaders);
        if (context.ChangedContext() is { } changed)
        {
            response.Headers[HttpNames.CallContext] = Convert.ToBase64String(changed.ToByteArray());
        }
    }

    // All that can fail comes before the first byte of the reply.
    private async Task WriteAsync(
        HttpContext http,
        int status,
        (MessageFormat Format, string MediaType) writer,
        IMessage message,
        FormatOptions formats)
    {
        using MessageBuffer body = new(0, _maxBytes, "reply");
        writer.Format.WriteChecked(message, body, formats);
        http.Response.StatusCode = status;
        http.Response.ContentType = writer.MediaType;
        http.Response.Headers.XContentTypeOptions = "nosniff";
        http.Response.Headers.CacheControl = "no-store";
        await _compression.WriteAsync(http, body.Whole[..body.Length]).ConfigureAwait(false);
    }

    private static async Task WriteConnectErrorAsync(HttpContext http, HttpFailure failure)
    {
        ArrayBufferWriter<byte> body = new();
        using (Utf8JsonWriter json = new(body))
        {
            json.WriteStartObject();
            json.WriteString("code", failure.ConnectCode);
            json.WriteString("message", failure.Text);
            failure.WriteConnectDetails(json);
            json.WriteEndObject();
        }

        http.Response.StatusCode = failure.HttpStatus;
        http.Response.ContentType = "application/json";
        http.Response.ContentLength = body.WrittenCount;
        await http.Response.Body.WriteAsync(body.WrittenMemory, http.RequestAborted).ConfigureAwait(false);
    }
}
