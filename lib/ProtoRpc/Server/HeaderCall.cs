using Google.Protobuf;
using ProtoRpc.Protocols.Grpc;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Native;

namespace ProtoRpc.Server;

/// <summary>A call whose head and end are the headers of <c>rpc_messages.proto</c>, however they
/// travel.</summary>
internal abstract class HeaderCall(ServerHost host, RpcEndpoint endpoint, PeerIdentity peer)
    : MessageCall(host, endpoint, peer)
{
    protected RpcLimits Limits { get; } = host.Options.Limits;

    /// <summary>What a request header says.</summary>
    /// <param name="header">The header.</param>
    /// <param name="method">What it calls.</param>
    /// <param name="schema">Where the header's extensions are declared.</param>
    /// <param name="aborted">Cancelled when the caller is gone, or the server stops.</param>
    protected CallHead HeadOf(
        RpcRequestHeader header, ServerMethod method, RpcSchema schema, CancellationToken aborted)
    {
        long start = GC.GetAllocatedBytesForCurrentThread();
        DynamicMessage? extensions = HeaderExtensions.Read(
            header, schema, "request header", RpcStatusCode.InvalidArgument, Limits);
        if (extensions is not null)
        {
            Memory.HoldDecoded(GC.GetAllocatedBytesForCurrentThread() - start);
        }

        return new(method, header.CallContext, DeadlineOf(header), aborted)
        {
            Headers = HeadersOf(header),
            Extensions = extensions,
        };
    }

    /// <summary>When a caller stops waiting who does so in so many milliseconds; null for one who did not
    /// say.</summary>
    protected static DateTimeOffset? DeadlineIn(uint? milliseconds) =>
        milliseconds is { } timeout ? DateTimeOffset.UtcNow.AddMilliseconds(timeout) : null;

    /// <summary>Whether the header of a call that succeeded has nothing but its id: what
    /// <see cref="Success"/> would return is empty.</summary>
    protected static bool SaysNothing(RpcServerCallContext context) =>
        context.SetHeaders is null && context.SetTrailers is null && context.SetExtensions is null
        && context.ChangedContext() is null;

    /// <summary>The header of a call that succeeded.</summary>
    /// <exception cref="RpcException">Internal: what the handler set cannot be sent.</exception>
    protected RpcResponseHeader Success(RpcServerCallContext context)
    {
        RpcResponseHeader response = new();
        if (context.ChangedContext() is { } changed)
        {
            response.CallContext = changed;
        }

        if (NativeMetadata.Write(
            context.SetHeaders, "headers", RpcStatusCode.Internal, Limits) is { } headers)
        {
            response.SetExtension(ProtorpcTransportExtensions.ResponseHeaders, headers);
        }

        if (NativeMetadata.Write(
            context.SetTrailers, "trailers", RpcStatusCode.Internal, Limits) is { } trailers)
        {
            response.SetExtension(ProtorpcTransportExtensions.ResponseTrailers, trailers);
        }

        HeaderExtensions.Write(
            response, context.SetExtensions, "response header", RpcStatusCode.Internal, Limits);
        return response;
    }

    /// <summary>The header of a call that failed.</summary>
    protected RpcResponseHeader Failure(CallFailure failure)
    {
        RpcResponseHeader response = new() { Success = false, Exception = failure.ToExceptionInfo() };

        // A session that a failing call got is the caller's all the same.
        if (ContextAfterFailure(Context) is { } changed)
        {
            response.CallContext = changed;
        }

        response.SetExtension(ProtorpcTransportExtensions.StatusCode, (int)failure.Code);
        if (failure.CorrelationId is { } id)
        {
            response.SetExtension(ProtorpcTransportExtensions.CorrelationId, id);
        }

        if (failure.RetryAfter is { } pause)
        {
            response.SetExtension(ProtorpcTransportExtensions.RetryAfterMs, (uint)pause.TotalMilliseconds);
        }

        AddWhatGoesBeside(response, failure, Context);
        return response;
    }

    // An author whose extensions cannot be sent learns it, instead of finding them absent on the client.
    /// <inheritdoc/>
    protected override Exception Sendable(Exception error)
    {
        if (error is not RpcException rpc || !HeaderExtensions.AreSentWith(rpc))
        {
            return error;
        }

        try
        {
            HeaderExtensions.Write(
                new RpcExceptionInfo(), rpc.Extensions, "exception", RpcStatusCode.Internal, Limits);
            return error;
        }
        catch (RpcException e)
        {
            return new RpcException(
                RpcStatusCode.Internal, $"The failure '{rpc.Message}' cannot be sent: {e.Message}", rpc);
        }
    }

    /// <summary>The header that came; null before it is read.</summary>
    protected abstract RpcRequestHeader? Received { get; }

    /// <inheritdoc/>
    protected override RpcMetadata? ReadHeaders() =>
        base.ReadHeaders() ?? (Received is { } header ? HeadersOf(header)?.Invoke() : null);

    private static DateTimeOffset? DeadlineOf(RpcRequestHeader header) => DeadlineIn(
        header.HasExtension(ProtorpcTransportExtensions.TimeoutMs)
            ? header.GetExtension(ProtorpcTransportExtensions.TimeoutMs)
            : null);

    private Func<RpcMetadata>? HeadersOf(RpcRequestHeader header)
    {
        if (header.GetExtension(ProtorpcTransportExtensions.RequestHeaders) is not { } received)
        {
            return null;
        }

        // Read now: what is wrong with them is the caller's fault, and not the handler's who looks.
        RpcMetadata headers =
            NativeMetadata.Read(received, "headers", RpcStatusCode.InvalidArgument, Limits);
        return () => headers;
    }

    // The failure is sent even if its details or extensions cannot be sent.
    private void AddWhatGoesBeside(
        RpcResponseHeader response, CallFailure failure, RpcServerCallContext? context)
    {
        if (GrpcStatusDetails.ToBytes(failure.Code, failure.Text, failure.Details) is { } details
            && details.Length <= Limits.MaxMessageBytes)
        {
            response.SetExtension(ProtorpcTransportExtensions.StatusDetails, ByteString.CopyFrom(details));
        }

        if (NativeMetadata.TryWrite(context?.SetHeaders, Limits) is { } headers)
        {
            response.SetExtension(ProtorpcTransportExtensions.ResponseHeaders, headers);
        }

        if (NativeMetadata.TryWrite(context?.SetTrailers, Limits) is { } trailers)
        {
            response.SetExtension(ProtorpcTransportExtensions.ResponseTrailers, trailers);
        }

        HeaderExtensions.TryWrite(response, context?.SetExtensions, Limits);
        HeaderExtensions.TryWrite(response.Exception, failure.Extensions, Limits);
    }

    private static RpcCallContext? ContextAfterFailure(RpcServerCallContext? context)
    {
        try
        {
            return context?.ChangedContext();
        }
        catch (RpcException)
        {
            // The handler set a context that cannot be written, which may be the failure that is sent.
            return null;
        }
    }
}
