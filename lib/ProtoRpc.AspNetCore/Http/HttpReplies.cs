using System.Buffers;
using System.Collections.Frozen;
using System.Globalization;
using System.Text.Json;
using Google.Protobuf.WellKnownTypes;
using Microsoft.Extensions.Primitives;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Grpc;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Http;
using ProtoRpc.Protocols.Native;

namespace ProtoRpc.AspNetCore.Http;

/// <summary>Writes the replies and the failures of an HTTP endpoint.</summary>
/// <param name="limits">The limits.</param>
/// <param name="options">The options, with the compression.</param>
/// <param name="isMapped">Whether the endpoint is an application's, which may have middleware.</param>
internal sealed class HttpReplies(RpcLimits limits, HttpServerOptions options, bool isMapped)
{
    // The Retry-After of a server that is stopping, or whose handler is unavailable.
    private static readonly TimeSpan UnavailableRetry = TimeSpan.FromSeconds(1);

    private readonly int _maxBytes = limits.MaxMessageBytes;
    private readonly ReplyCompression _compression =
        new(options.ReplyCompression, options.CompressionThreshold, isMapped);

    private FormatOptions _last = OptionsOf(limits);

    /// <summary>The options for reading and writing messages.</summary>
    public FormatOptions Options { get; } = OptionsOf(limits);

    /// <summary>The options for reading and writing messages of a schema.</summary>
    public FormatOptions OptionsOf(RpcSchema schema)
    {
        // Most endpoints have one schema.
        FormatOptions options = Volatile.Read(ref _last);
        if (!ReferenceEquals(options.Schema, schema))
        {
            options = options with { Schema = schema };
            Volatile.Write(ref _last, options);
        }

        return options;
    }

    /// <summary>Whether the request is in the path's query.</summary>
    public static bool IsQuery(HttpRequest request) => !HttpMethods.IsPost(request.Method);

    /// <summary>The best format that the client accepts; null for none.</summary>
    public static (MessageFormat Format, string MediaType)? WriterOf(
        HttpRequest request, MessageFormat? reader) => IsQuery(request)
            ? MediaTypes.WriterOf(request.Headers.Accept, request: null)
            : MediaTypes.WriterOf(request.Headers.Accept, reader, request.ContentType);

    /// <summary>Writes a message. It is encoded first, so no byte is written if encoding fails.</summary>
    /// <returns>The bytes of the message, before they were compressed.</returns>
    public async ValueTask<int> WriteAsync(
        HttpContext http,
        int status,
        (MessageFormat Format, string MediaType) writer,
        IMessage message,
        FormatOptions formats)
    {
        using PooledMessageBytes body = new(_maxBytes, "reply");
        try
        {
            writer.Format.WriteChecked(message, body, formats);
        }
        catch (RpcException e) when (e.Code == RpcStatusCode.InvalidArgument)
        {
            throw Unwritable(writer.Format, e);
        }

        http.Response.StatusCode = status;
        return await WriteAsync(http, writer.MediaType, body).ConfigureAwait(false);
    }

    /// <summary>Writes bytes without encoding.</summary>
    /// <returns>Their number, before they were compressed.</returns>
    public async ValueTask<int> WriteRawAsync(HttpContext http, string mediaType, byte[] data)
    {
        using PooledMessageBytes body = new(_maxBytes, "reply");
        body.Write(data);
        return await WriteAsync(http, mediaType, body).ConfigureAwait(false);
    }

    private async ValueTask<int> WriteAsync(HttpContext http, string mediaType, PooledMessageBytes body)
    {
        http.Response.ContentType = mediaType;
        http.Response.Headers.XContentTypeOptions = "nosniff";
        http.Response.Headers.CacheControl = "no-store";
        await _compression.WriteAsync(http, body.Message).ConfigureAwait(false);
        return body.Length;
    }

    /// <summary>Sends a failure, unless a reply has begun.</summary>
    /// <param name="http">The request.</param>
    /// <param name="failure">The failure.</param>
    /// <param name="context">The call, for the headers that its handler set; null for no call.</param>
    /// <param name="writer">The format of the reply; null for the one that the request asks for.</param>
    /// <returns>The size of the reply.</returns>
    public async Task<int> FailAsync(
        HttpContext http, HttpFailure failure, RpcServerCallContext? context = null,
        (MessageFormat Format, string MediaType)? writer = null)
    {
        if (http.Response.HasStarted)
        {
            // The connection is closed, because an incomplete reply must not look complete.
            http.Abort();
            return 0;
        }

        if (context is not null)
        {
            HandlerHeaders.WriteOfFailure(http.Response, context);
        }

        TimeSpan? retryAfter = failure.Failure.RetryAfter;
        if (retryAfter is not null)
        {
            http.Response.Headers[HttpNames.Busy] = "1";
        }

        if (failure.HttpStatus == StatusCodes.Status503ServiceUnavailable)
        {
            http.Response.Headers.RetryAfter = SecondsOf(retryAfter);
        }
        else if (failure.HttpStatus == StatusCodes.Status415UnsupportedMediaType)
        {
            http.Response.Headers["Accept-Post"] = MediaTypes.AcceptPost;
            http.Response.Headers.AcceptEncoding = ContentEncoding.Accepted;
        }

        if (http.Request.Headers.ContainsKey(HttpNames.ConnectVersion)
            || (writer is null
                && (ConnectQuery.IsIn(http.Request) || ConnectFraming.IsStream(http.Request.ContentType))))
        {
            return await WriteConnectErrorAsync(http, failure).ConfigureAwait(false);
        }

        (MessageFormat Format, string MediaType) answer = writer
            ?? WriterOf(http.Request, MediaTypes.ReaderOf(http.Request.ContentType))
            ?? (MessageFormats.Json, MessageFormats.Json.MediaType);
        FormatOptions format = Options with { ReplaceForbidden = true };
        ErrorResult result = failure.ToMessage(JsonOf(answer.Format));
        return await WriteAsync(http, failure.HttpStatus, answer, result, format).ConfigureAwait(false);
    }

    /// <summary>The value of Retry-After, in whole seconds.</summary>
    public static string SecondsOf(TimeSpan? retryAfter) =>
        Math.Ceiling((retryAfter ?? UnavailableRetry).TotalSeconds).ToString(CultureInfo.InvariantCulture);

    /// <summary>The compression of the messages of a stream of replies; null for none.</summary>
    /// <param name="request">The request.</param>
    /// <param name="header">The name of the header with the encodings that the client accepts.</param>
    /// <param name="selected">The compression that the handler selected; null for the listener's
    /// setting.</param>
    public ContentEncoding? EncodingOf(HttpRequest request, string header, ContentEncoding? selected) =>
        _compression.EncodingOf(request, header, selected);

    /// <summary>Whether a message is large enough to be compressed, and shrinks.</summary>
    public bool Pays(ReadOnlySpan<byte> message) => _compression.Pays(message);

    /// <summary>Writes a failure as an error of the Connect protocol.</summary>
    public void WriteConnectError(Utf8JsonWriter json, HttpFailure failure)
    {
        json.WriteStartObject();
        json.WriteString("code", failure.ConnectCode);
        json.WriteString("message", failure.Text);
        failure.WriteConnectDetails(json, new DetailJson(limits));
        json.WriteEndObject();
    }

    /// <summary>Writes a failure's details as JSON; null for a reply in another format.</summary>
    public DetailJson? JsonOf(MessageFormat format) =>
        ReferenceEquals(format, MessageFormats.Json) ? new DetailJson(limits) : null;

    /// <summary>The error for a reply that a format cannot hold. It is the fault of the handler, so its
    /// status must not blame the request.</summary>
    public static RpcException Unwritable(MessageFormat format, RpcException why) => new(
        RpcStatusCode.Internal, why.ErrorId,
        $"The reply cannot be written as {format.Name}: {why.Message}"
        + (format == MessageFormats.Binary
            ? ""
            : $" Request it with Accept: {MessageFormats.Binary.MediaType}."), why);

    private static FormatOptions OptionsOf(RpcLimits limits) => new()
    {
        MaxDepth = limits.MaxDepth,
        MaxElements = limits.MaxMessageElements,
        MaxGeneratedMapEntries = limits.MaxGeneratedMapEntries,
    };

    private async Task<int> WriteConnectErrorAsync(HttpContext http, HttpFailure failure)
    {
        ArrayBufferWriter<byte> body = new();
        using (Utf8JsonWriter json = new(body))
        {
            WriteConnectError(json, failure);
        }

        // In Connect, status 415 is only for media types.
        bool isEncoding = failure is
        {
            HttpStatus: StatusCodes.Status415UnsupportedMediaType,
            Failure.Code: RpcStatusCode.Unimplemented,
        };
        http.Response.StatusCode = isEncoding ? StatusCodes.Status501NotImplemented : failure.HttpStatus;
        http.Response.ContentType = "application/json";
        http.Response.ContentLength = body.WrittenCount;
        await http.Response.Body.WriteAsync(body.WrittenMemory, http.RequestAborted).ConfigureAwait(false);
        return body.WrittenCount;
    }
}

/// <summary>A failure with the HTTP status of its reply.</summary>
internal sealed record HttpFailure(int HttpStatus, CallFailure Failure)
{
    private const int MaxTextLength = 16 * 1024;

    /// <summary>The status as Connect writes it: not_found.</summary>
    public string ConnectCode => ConnectCodes.NameOf(Failure.Code);

    /// <summary>The error text for the caller, cut to the size that a reply may have.</summary>
    public string Text => Failure.Text.Length <= MaxTextLength
        ? Failure.Text
        : string.Concat(Failure.Text.AsSpan(0, EndOf(Failure.Text)), "...");

    /// <summary>Converts a failure to HTTP.</summary>
    public static HttpFailure From(CallFailure failure) => new(
        failure.Error switch
        {
            HttpRefusal refusal => refusal.HttpStatus,
            BadHttpRequestException bad => bad.StatusCode,
            _ when failure.RetryAfter is not null => StatusCodes.Status503ServiceUnavailable,
            _ => RpcStatusTable.HttpStatusOf(failure.Code),
        },
        failure);

    /// <summary>Converts an error of HTTP's rules to a failure; null for other errors.</summary>
    public static CallFailure? RefusalOf(Exception error, RpcLimits limits) => error switch
    {
        HttpRefusal refusal => CallFailure.OfRequest(refusal, refusal.Code),
        BadHttpRequestException { StatusCode: StatusCodes.Status413PayloadTooLarge } =>
            RefusalOf(RequestBody.TooLarge(limits.MaxMessageBytes), limits),
        BadHttpRequestException bad => CallFailure.OfRequest(bad, CodeOf(bad)),
        _ => null,
    };

    /// <summary>The end of a stream of replies that succeeded and whose trailers have no other place, for a
    /// client that asked for it; else null.</summary>
    public static ErrorResult? TrailersInBody(HttpContext http, RpcServerCallContext context) =>
        http.Response.HasStarted && !http.Response.SupportsTrailers()
            && http.Request.Headers.ContainsKey(HttpNames.AcceptTrailers)
            && NativeMetadata.TryWrite(context.SetTrailers ?? [], RpcLimits.Default) is { } trailers
                ? new ErrorResult
                {
                    Code = ConnectCodes.NameOf(RpcStatusCode.OK),
                    ErrorText = "",
                    Trailers = trailers
                }
                : null;

    /// <summary>The failure as a message.</summary>
    /// <param name="json">Writes details as JSON; null for their bytes only.</param>
    /// <param name="trailers">The handler's trailers, if the reply cannot send them elsewhere.</param>
    public ErrorResult ToMessage(DetailJson? json, RpcMetadata? trailers = null)
    {
        ErrorResult result = new() { Code = ConnectCode, ErrorText = Text };
        if (Failure is { IsForCaller: true, Error: RpcException { FieldPath: { } path } })
        {
            result.FieldPath = path;
        }

        foreach (IMessage detail in Failure.Details.OfType<IMessage>())
        {
            Any any = GrpcStatusDetails.Pack(detail);
            ErrorResult.Types.Detail written =
                new() { Type = GrpcStatusDetails.NameOf(any), Value = any.Value };
            if (json?.Next(detail) is { } text)
            {
                written.Debug = Value.Parser.ParseJson(text);
            }

            result.Details.Add(written);
        }

        if (NativeMetadata.TryWrite(trailers ?? [], RpcLimits.Default) is { } metadata)
        {
            result.Trailers = metadata;
        }

        if (Failure.CorrelationId is { } id)
        {
            result.CorrelationId = id;
        }

        if (Failure.IsFull)
        {
            result.Exception = ExceptionInfoCodec.ForReaders(Failure.ToExceptionInfo());
        }

        return result;
    }

    /// <summary>The details in an error of the Connect protocol.</summary>
    /// <param name="json">The error.</param>
    /// <param name="debug">Writes details as JSON.</param>
    public void WriteConnectDetails(Utf8JsonWriter json, DetailJson debug)
    {
        if (Failure.Details.Count == 0)
        {
            return;
        }

        json.WriteStartArray("details");
        foreach (IMessage detail in Failure.Details.OfType<IMessage>())
        {
            Any any = GrpcStatusDetails.Pack(detail);
            json.WriteStartObject();
            json.WriteString("type", GrpcStatusDetails.NameOf(any));
            json.WriteString("value", any.Value.ToBase64().TrimEnd('='));
            if (debug.Next(detail) is { } text)
            {
                json.WritePropertyName("debug");
                json.WriteRawValue(text);
            }

            json.WriteEndObject();
        }

        json.WriteEndArray();
    }

    // Does not split a surrogate pair.
    private static int EndOf(string text) =>
        char.IsHighSurrogate(text[MaxTextLength - 1]) ? MaxTextLength - 1 : MaxTextLength;

    // The status for an error that Kestrel reports while the body is read.
    private static RpcStatusCode CodeOf(BadHttpRequestException bad) => bad.StatusCode switch
    {
        StatusCodes.Status408RequestTimeout => RpcStatusCode.DeadlineExceeded,
        _ => RpcStatusCode.InvalidArgument,
    };
}

/// <summary>The headers for handlers, and those that handlers set.</summary>
internal static class HandlerHeaders
{
    // Handlers cannot set headers that control the framing and encoding of the reply.
    private static readonly FrozenSet<string> Reserved = new[]
    {
        "connection", "content-encoding", "content-length", "content-type", "date", "keep-alive", "trailer",
        "transfer-encoding", "upgrade", HttpNames.Busy,
    }.ToFrozenSet(StringComparer.OrdinalIgnoreCase);

    public static RpcMetadata Read(HttpRequest request)
    {
        RpcMetadata metadata = new();
        foreach ((string name, StringValues values) in request.Headers)
        {
            foreach (string? value in values)
            {
                if (!name.StartsWith(':'))
                {
                    metadata.AddReceived(name, value ?? "");
                }
            }
        }

        return metadata;
    }

    /// <summary>Writes the headers that a handler set.</summary>
    /// <exception cref="RpcException">Internal: one of them belongs to the protocol.</exception>
    public static void Write(HttpResponse response, RpcMetadata? headers)
    {
        if (headers is null)
        {
            return;
        }

        foreach ((string name, object value) in headers)
        {
            if (Reserved.Contains(name))
            {
                throw ReservedName("header", name);
            }

            response.Headers.Append(name, value as string ?? Convert.ToBase64String((byte[])value));
        }
    }

    /// <summary>Writes the side channel if the handler changed it.</summary>
    public static void WriteContext(HttpResponse response, RpcServerCallContext context)
    {
        if (context.ChangedContext() is { } changed)
        {
            response.Headers[HttpNames.CallContext] = Convert.ToBase64String(changed.ToByteArray());
        }
    }

    /// <summary>The error for a header or trailer whose name belongs to the protocol.</summary>
    /// <param name="what">Which of the two.</param>
    /// <param name="name">Its name.</param>
    public static RpcException ReservedName(string what, string name) => new(
        RpcStatusCode.Internal, RpcErrorIds.InvalidHeader,
        $"The handler set the {what} '{name}', which the protocol reserves. Use another name.");

    /// <summary>Writes the trailers of a reply that is not streamed as headers, because a body of HTTP/1.1
    /// with a length has no trailers. The Connect protocol has the same rule.</summary>
    public static void WriteTrailers(HttpResponse response, RpcMetadata? trailers)
    {
        if (trailers is null)
        {
            return;
        }

        foreach ((string name, object value) in trailers)
        {
            response.Headers.Append(
                $"{HttpNames.TrailerPrefix}{name}", value as string ?? Convert.ToBase64String((byte[])value));
        }
    }

    /// <summary>Writes the trailers of a reply that streamed:
    /// behind the body where HTTP has them there.</summary>
    public static void EndStream(HttpResponse response, RpcServerCallContext context)
    {
        if (!response.HasStarted)
        {
            WriteTrailers(response, context.SetTrailers);
            return;
        }

        foreach ((string name, object value) in context.SetTrailers ?? [])
        {
            if (response.SupportsTrailers() && !Reserved.Contains(name))
            {
                response.AppendTrailer(name, value as string ?? Convert.ToBase64String((byte[])value));
            }
        }
    }

    /// <summary>Writes what the handler of a failed call set, but for what cannot be written: the failure
    /// itself is what counts.</summary>
    /// <param name="response">The response.</param>
    /// <param name="context">The call.</param>
    /// <param name="withTrailers">Whether trailers are headers with a prefix.</param>
    public static void WriteOfFailure(
        HttpResponse response, RpcServerCallContext context, bool withTrailers = true)
    {
        // Removes headers of a reply that could not be sent.
        foreach ((string name, _) in context.SetHeaders ?? [])
        {
            response.Headers.Remove(name);
        }

        foreach ((string name, _) in context.SetTrailers ?? [])
        {
            response.Headers.Remove($"{HttpNames.TrailerPrefix}{name}");
        }

        try
        {
            Write(response, context.SetHeaders);
        }
        catch (RpcException)
        {
        }

        if (withTrailers)
        {
            WriteTrailers(response, context.SetTrailers);
        }
    }
}
