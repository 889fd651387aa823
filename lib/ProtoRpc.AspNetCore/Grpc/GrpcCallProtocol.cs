using System.Diagnostics;
using System.Globalization;
using System.IO.Pipelines;
using Microsoft.Extensions.Primitives;
using ProtoRpc.AspNetCore.Http;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Grpc;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Http;
using ProtoRpc.Server;
using ProtoRpc.Server.Calls;

namespace ProtoRpc.AspNetCore.Grpc;

/// <summary>Carries a call over gRPC, or gRPC-Web.</summary>
/// <param name="host">The server.</param>
/// <param name="endpoint">The endpoint that received the call.</param>
/// <param name="http">The request.</param>
/// <param name="method">The called method.</param>
/// <param name="peer">The caller.</param>
/// <param name="input">The frames of the request.</param>
/// <param name="output">Receives the frames of the reply.</param>
/// <param name="response">Writes headers and trailers.</param>
/// <param name="aborted">Cancelled when the caller disconnects, or the server stops.</param>
internal sealed class GrpcCallProtocol(
    ServerHost host,
    RpcEndpoint endpoint,
    HttpContext http,
    ServerMethod method,
    PeerIdentity peer,
    PipeReader input,
    PipeWriter output,
    GrpcResponse response,
    CancellationToken aborted)
    : CallProtocol(host, endpoint)
{
    private GrpcServerStream? _stream;

    public override PeerIdentity Peer => peer;

    // Kestrel cancels the token on another thread, after reads and writes have already failed.
    public override bool IsAbandoned =>
        _stream is { IsCut: true } || http.RequestAborted.IsCancellationRequested;

    public override string System => "grpc";

    public override ServerMethod? Routed => method;

    public override object? SharedConnection =>
        HttpProtocol.IsHttp2(http.Request.Protocol) ? http.Connection.Id : null;

    public override long BytesIn => _stream?.BytesReceived ?? 0;

    public override long BytesOut => _stream?.BytesSent ?? 0;

    public override ActivityContext ReadParent(RpcServerCallContext? context) => HttpActivity.ParentOf(http);

    public override CallHead ReadHead()
    {
        HttpRequest request = http.Request;
        return new CallHead(
            method, GrpcRequest.ContextOf(request), GrpcRequest.DeadlineOf(request), aborted)
        {
            Headers = () => GrpcRequest.MetadataOf(request),
            Services = http.RequestServices,
        };
    }

    public override ValueTask<RpcServerStream?> OpenStreamAsync(
        ServerMethod method, RpcServerCallContext context)
    {
        _stream = new GrpcServerStream(method, context, input, output, response)
        {
            MaxBytes = Host.Options.Limits.MaxMessageBytes,
            Memory = Memory,
            Encoding = GrpcRequest.EncodingOf(http.Request),
            Request = http.Request,
        };

        // A method without streams does not need the handling of streams.
        return new(method.Info.IsUnary ? null : _stream);
    }

    public override async ValueTask<IMessage> ReadAsync(
        ServerMethod method, RpcServerCallContext context) =>
        (await _stream!.ReadAsync().ConfigureAwait(false))!;

    public override async ValueTask ReplyAsync(RpcServerCallContext context, IMessage reply)
    {
        await _stream!.SendAsync(reply, compress: true).ConfigureAwait(false);
        await CompleteAsync(context).ConfigureAwait(false);
    }

    public override async ValueTask CompleteAsync(RpcServerCallContext context)
    {
        await response.SucceedAsync(context).ConfigureAwait(false);
        await response.EndAsync(output).ConfigureAwait(false);
    }

    public override async ValueTask FailAsync(CallFailure failure, RpcServerCallContext? context)
    {
        await response.FailAsync(failure, context).ConfigureAwait(false);
        await response.EndAsync(output).ConfigureAwait(false);
    }

    public override ValueTask CloseAsync() => _stream?.CloseAsync() ?? default;

    public override void Release()
    {
        _stream?.Dispose();
        base.Release();
    }
}

/// <summary>The headers of a call.</summary>
internal static class GrpcRequest
{
    /// <summary>The caller's deadline; null if the caller sent none.</summary>
    /// <exception cref="RpcException">Internal: not a time.</exception>
    public static DateTimeOffset? DeadlineOf(HttpRequest request)
    {
        string text = request.Headers[GrpcTimeout.HeaderName].ToString();
        if (text.Length == 0)
        {
            return null;
        }

        TimeSpan timeout = GrpcTimeout.Parse(text)
            ?? throw GrpcDefects.BadHeader(
                GrpcTimeout.HeaderName, text, "a time of at most eight digits and a unit");
        DateTimeOffset now = DateTimeOffset.UtcNow;
        return timeout < DateTimeOffset.MaxValue - now ? now + timeout : DateTimeOffset.MaxValue;
    }

    /// <summary>How messages are compressed.</summary>
    /// <exception cref="RpcException">Unimplemented: in a way that is not known here.</exception>
    public static string? EncodingOf(HttpRequest request)
    {
        string encoding = request.Headers[GrpcHeaders.Encoding].ToString();
        return GrpcEncoding.IsNone(encoding) ? null
            : ContentEncoding.Find(encoding)?.Name ?? throw new RpcException(
                RpcStatusCode.Unimplemented, RpcErrorIds.UnknownGrpcEncoding,
                $"The message encoding '{encoding}' is not supported; "
                + $"use one of {GrpcEncoding.Accepted}.");
    }

    /// <summary>Whether the caller accepts messages in an encoding.</summary>
    public static bool Accepts(HttpRequest request, ContentEncoding encoding)
    {
        foreach (string? line in request.Headers[GrpcHeaders.AcceptEncoding])
        {
            if (line!.Split(',', StringSplitOptions.TrimEntries).Any(encoding.IsNamed))
            {
                return true;
            }
        }

        return false;
    }

    /// <summary>The call context of the request; null for none.</summary>
    /// <exception cref="RpcException">Internal: not a call context.</exception>
    public static RpcCallContext? ContextOf(HttpRequest request)
    {
        string text = request.Headers[GrpcCallContext.HeaderName].ToString();
        return text.Length == 0
            ? null
            : GrpcCallContext.Read(text) ?? throw GrpcDefects.BadHeader(
                GrpcCallContext.HeaderName, text, "a call context");
    }

    /// <summary>The metadata of the caller.</summary>
    public static RpcMetadata MetadataOf(HttpRequest request)
    {
        RpcMetadata metadata = new();
        foreach ((string name, StringValues values) in request.Headers)
        {
            if (name.StartsWith(':') || GrpcHeaders.IsReserved(name))
            {
                continue;
            }

            foreach (string? value in values)
            {
                metadata.AddReceived(name, value ?? "");
            }
        }

        return metadata;
    }
}

/// <summary>Writes the headers before the first message of a reply, and the trailers after the
/// last.</summary>
internal class GrpcResponse(HttpContext http)
{
    // Many clients limit all headers to 8 KiB, and the text is also sent in the details.
    private const int MaxTextLength = 3072;


    protected HttpResponse Response => http.Response;

    /// <summary>Whether the headers for a body were written.</summary>
    public bool HasBody { get; private set; }

    /// <summary>Prepares the first message.</summary>
    /// <exception cref="RpcException">Internal:
    /// the handler set a header that belongs to the protocol.</exception>
    public void Begin(RpcServerCallContext context, ContentEncoding? encoding)
    {
        HasBody = true;
        if (encoding is not null)
        {
            Response.Headers[GrpcHeaders.Encoding] = encoding.Name;
        }

        if (context.SetHeaders is { } headers)
        {
            Add(headers, "header", (name, value) => Response.Headers.Append(name, value));
        }
    }

    /// <summary>Ends the reply of a call that succeeded.</summary>
    public ValueTask SucceedAsync(RpcServerCallContext context)
    {
        ValueTask begun = BeginEmptyAsync(context);
        if (!begun.IsCompletedSuccessfully)
        {
            return SucceedAfterAsync(begun, context);
        }

        Succeed(context);
        return ValueTask.CompletedTask;
    }

    /// <summary>Ends the reply of a call that failed.</summary>
    /// <param name="failure">The failure.</param>
    /// <param name="context">The call; null if it failed before its context was created.</param>
    public async Task FailAsync(CallFailure failure, RpcServerCallContext? context)
    {
        if (context is not null)
        {
            try
            {
                await BeginEmptyAsync(context).ConfigureAwait(false);
            }
            catch (RpcException)
            {
                // The handler's headers cannot be written, but the status is still sent.
            }
        }

        if (failure.Error is RpcException { ErrorId: RpcErrorIds.UnknownGrpcEncoding })
        {
            Response.Headers[GrpcHeaders.AcceptEncoding] = GrpcEncoding.Accepted;
        }

        string text = GrpcMessageText.Encode(failure.Text, MaxTextLength);
        Append(GrpcHeaders.Status, ((int)failure.Code).ToString(CultureInfo.InvariantCulture));
        Append(GrpcMessageText.HeaderName, text);
        Try(() =>
        {
            if (GrpcStatusDetails.Write(
                failure.Code, GrpcMessageText.Decode(text), failure.Details) is { } written)
            {
                Append(GrpcHeaders.StatusDetails, written);
            }
        });

        if (failure.CorrelationId is { } id)
        {
            Append(GrpcHeaders.CorrelationId, id);
        }

        AddBusy(failure.RetryAfter, context);
        if (context is not null)
        {
            Try(() => AddContext(context));
            Try(() => Add(context.SetTrailers ?? [], "trailer", Append));
        }
    }

    /// <summary>Sends the trailers in the body, if HTTP does not send them.</summary>
    public virtual Task EndAsync(PipeWriter output) => Task.CompletedTask;

    /// <summary>Whether a reply without messages has its trailers as headers.</summary>
    protected virtual bool HasTrailersOnly => !HasBody && !Response.HasStarted;

    /// <summary>Adds a trailer.</summary>
    protected virtual void AppendTrailer(string name, string value) =>
        Response.AppendTrailer(name, new StringValues(value));

    // Headers of the handler must be sent as headers, even if only trailers follow.
    private ValueTask BeginEmptyAsync(RpcServerCallContext context)
    {
        if (HasBody || context.SetHeaders is not { Count: > 0 })
        {
            return ValueTask.CompletedTask;
        }

        Begin(context, encoding: null);
        return new ValueTask(Response.StartAsync());
    }

    private async ValueTask SucceedAfterAsync(ValueTask begun, RpcServerCallContext context)
    {
        await begun.ConfigureAwait(false);
        Succeed(context);
    }

    private void Succeed(RpcServerCallContext context)
    {
        AddContext(context);
        if (context.SetTrailers is { } trailers)
        {
            Add(trailers, "trailer", Append);
        }

        Append(GrpcHeaders.Status, "0");
    }

    // Without messages, the trailers are sent as headers. nginx loses trailers that follow immediately after
    // headers.
    private void Append(string name, string value)
    {
        if (HasTrailersOnly)
        {
            Response.Headers.Append(name, value);
        }
        else
        {
            AppendTrailer(name, value);
        }
    }

    private void AddBusy(TimeSpan? retryAfter, RpcServerCallContext? context)
    {
        if (retryAfter is not { } pause)
        {
            return;
        }

        Append(HttpNames.Busy, "1");
        if (context?.SetTrailers?.GetText(GrpcHeaders.RetryPushback) is null)
        {
            Append(
                GrpcHeaders.RetryPushback,
                ((long)pause.TotalMilliseconds).ToString(CultureInfo.InvariantCulture));
        }
    }

    private void AddContext(RpcServerCallContext context)
    {
        if (context.ChangedContext() is { } changed)
        {
            Append(GrpcCallContext.HeaderName, GrpcCallContext.Write(changed));
        }
    }

    private static void Add(RpcMetadata metadata, string what, Action<string, string> append)
    {
        foreach ((string name, object value) in metadata)
        {
            if (GrpcHeaders.IsReserved(name))
            {
                throw HandlerHeaders.ReservedName(what, name);
            }

            append(name, value as string ?? GrpcBinaryHeader.Encode((byte[])value));
        }
    }

    // The status of a failed call is sent even if its details or trailers cannot be written.
    private static void Try(Action add)
    {
        try
        {
            add();
        }
        catch (RpcException)
        {
        }
    }
}
