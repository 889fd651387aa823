using Google.Protobuf;

namespace ProtoRpc.Server.Recording;

/// <summary>Sees the calls of a server, with their messages and ends.</summary>
/// <remarks>Calls of ProtoRpc's own methods, and those whose request cannot be read, reach no handler and are
/// not seen. Nothing that happens here fails a call.</remarks>
internal abstract class CallCapture : IRpcInterceptor
{
    /// <inheritdoc/>
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

    /// <inheritdoc/>
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

    /// <summary>The headers of a call; none where they cannot be read, for a record is not the place to say
    /// so.</summary>
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

/// <summary>The stream of a call, with each message seen as it passes.</summary>
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

    // Before it is sent: a caller that has the reply finds it in the record.
    internal override ValueTask SendAsync(IMessage reply, bool compress)
    {
        call.AddReply(reply);
        return inner.WriteAsync(reply, compress);
    }
}
