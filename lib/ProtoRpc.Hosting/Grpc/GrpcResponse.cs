using System.Globalization;
using System.IO.Pipelines;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Primitives;
using ProtoRpc.Protocols.Grpc;
using ProtoRpc.Protocols.Http;
using ProtoRpc.Server;

namespace ProtoRpc.Hosting.Grpc;

/// <summary>What is sent before the first message of a reply, and after the last.</summary>
internal class GrpcResponse(HttpContext http)
{
    // Clients bound what they take as headers, many at 8 KiB for all of them. The text goes twice where there
    // are details.
    private const int MaxTextLength = 3072;

    private bool _hasBody;

    protected HttpResponse Response => http.Response;

    /// <summary>Prepares the first message.</summary>
    /// <exception cref="RpcException">Internal:
    /// the handler set a header that belongs to the protocol.</exception>
    public void Begin(RpcServerCallContext context, bool compresses)
    {
        if (_hasBody)
        {
            return;
        }

        _hasBody = true;
        if (compresses)
        {
            Response.Headers[GrpcHeaders.Encoding] = GrpcEncoding.Gzip;
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
    /// <param name="failure">How it failed.</param>
    /// <param name="context">The call; null where there was none yet.</param>
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
                // What goes beside the status cannot be written; the status is.
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

    /// <summary>Sends what stands behind the messages, where HTTP does not do it.</summary>
    public virtual Task EndAsync(PipeWriter output) => Task.CompletedTask;

    /// <summary>Whether a reply without messages has its trailers as headers.</summary>
    protected virtual bool HasTrailersOnly => !_hasBody && !Response.HasStarted;

    /// <summary>Adds a trailer behind the messages.</summary>
    protected virtual void AppendTrailer(string name, string value) =>
        Response.AppendTrailer(name, new StringValues(value));

    // Headers that the handler set are headers, also where nothing but trailers would follow.
    private ValueTask BeginEmptyAsync(RpcServerCallContext context)
    {
        if (_hasBody || context.SetHeaders is not { Count: > 0 })
        {
            return ValueTask.CompletedTask;
        }

        Begin(context, compresses: false);
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

    // Without messages the trailers are the headers.
    // nginx loses trailers that follow immediately after headers.
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
                throw new RpcException(
                    RpcStatusCode.Internal,
                    $"The handler set the {what} '{name}', which the protocol reserves. "
                    + "Use another name.")
                {
                    ErrorId = RpcErrorIds.InvalidHeader,
                };
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
