using System.Buffers;
using System.Globalization;
using System.Text.Json;
using Google.Protobuf;
using Microsoft.AspNetCore.Http;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Http;

namespace ProtoRpc.Hosting.Http;

/// <summary>Writes the replies and the failures of an HTTP endpoint.</summary>
/// <param name="limits">The bounds.</param>
/// <param name="options">What is compressed.</param>
/// <param name="isMapped">Whether the endpoint is one of an application, whose middleware may stand
/// between.</param>
internal sealed class HttpReplies(RpcLimits limits, HttpServerOptions options, bool isMapped)
{
    // For a server that is stopping, or whose handler is not available.
    private static readonly TimeSpan UnavailableRetry = TimeSpan.FromSeconds(1);

    private readonly int _maxBytes = limits.MaxMessageBytes;
    private readonly ReplyCompression _compression =
        new(options.ReplyCompression, options.CompressionThreshold, isMapped);

    private FormatOptions _last = OptionsOf(limits);

    /// <summary>How messages are read and written.</summary>
    public FormatOptions Options { get; } = OptionsOf(limits);

    /// <summary>How messages of a schema are read and written.</summary>
    public FormatOptions OptionsOf(RpcSchema schema)
    {
        // Most endpoints have one.
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

    /// <summary>The format that the client takes; null for none.</summary>
    public static (MessageFormat Format, string MediaType)? WriterOf(
        HttpRequest request, MessageFormat? reader) => IsQuery(request)
            ? MediaTypes.WriterOf(request.Headers.Accept, request: null)
            : MediaTypes.WriterOf(request.Headers.Accept, reader, request.ContentType);

    /// <summary>Writes a message. All that can fail comes before its first byte.</summary>
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
        http.Response.ContentType = writer.MediaType;
        http.Response.Headers.XContentTypeOptions = "nosniff";
        http.Response.Headers.CacheControl = "no-store";
        await _compression.WriteAsync(http, body.Message).ConfigureAwait(false);
        return body.Length;
    }

    /// <summary>Answers with a failure, unless an answer has begun.</summary>
    /// <param name="http">The request.</param>
    /// <param name="failure">What failed.</param>
    /// <param name="context">The call, for the headers that its handler set; null where there was none
    /// yet.</param>
    /// <returns>The bytes of the answer.</returns>
    public async Task<int> FailAsync(
        HttpContext http, HttpFailure failure, RpcServerCallContext? context = null)
    {
        if (http.Response.HasStarted)
        {
            // Half a reply must not look like a whole one.
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
            double seconds = Math.Ceiling((retryAfter ?? UnavailableRetry).TotalSeconds);
            http.Response.Headers.RetryAfter = seconds.ToString(CultureInfo.InvariantCulture);
        }

        if (http.Request.Headers.ContainsKey(HttpNames.ConnectVersion) || ConnectQuery.IsIn(http.Request))
        {
            return await WriteConnectErrorAsync(http, failure).ConfigureAwait(false);
        }

        (MessageFormat, string) writer =
            WriterOf(http.Request, MediaTypes.ReaderOf(http.Request.ContentType))
            ?? (MessageFormats.Json, MessageFormats.Json.MediaType);
        FormatOptions format = Options with { ReplaceForbidden = true };
        return await WriteAsync(http, failure.HttpStatus, writer, failure.ToMessage(), format)
            .ConfigureAwait(false);
    }

    /// <summary>The error for a reply that a format cannot hold. It is the fault of the handler, so its
    /// status must not blame the request.</summary>
    public static RpcException Unwritable(MessageFormat format, RpcException why) => new(
        RpcStatusCode.Internal,
        $"The reply cannot be written as {format.Name}: {why.Message}"
        + (format == MessageFormats.Binary
            ? ""
            : $" Request it with Accept: {MessageFormats.Binary.MediaType}."),
        why)
    {
        ErrorId = why.ErrorId,
    };

    private static FormatOptions OptionsOf(RpcLimits limits) => new()
    {
        MaxDepth = limits.MaxDepth,
        MaxElements = limits.MaxMessageElements,
        MaxGeneratedMapEntries = limits.MaxGeneratedMapEntries,
    };

    private static async Task<int> WriteConnectErrorAsync(HttpContext http, HttpFailure failure)
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
        return body.WrittenCount;
    }
}
