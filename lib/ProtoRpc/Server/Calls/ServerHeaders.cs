using System.Diagnostics;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Grpc;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Native;

namespace ProtoRpc.Server.Calls;

/// <summary>Reads and writes the headers of <c>rpc_messages.proto</c>, for the protocols that carry
/// them.</summary>
internal static class ServerHeaders
{
    /// <summary>Reads the header of a request.</summary>
    /// <param name="protocol">The protocol of the call.</param>
    /// <param name="header">The header.</param>
    /// <param name="method">The called method.</param>
    /// <param name="schema">The schema that declares the header's extensions.</param>
    /// <param name="aborted">Cancelled when the caller disconnects, or the server stops.</param>
    public static CallHead Read(
        CallProtocol protocol, RpcRequestHeader header, ServerMethod method, RpcSchema schema,
        CancellationToken aborted)
    {
        RpcLimits limits = protocol.Host.Options.Limits;
        long start = GC.GetAllocatedBytesForCurrentThread();
        DynamicMessage? extensions = HeaderExtensions.Read(
            header, schema, "request header", RpcStatusCode.InvalidArgument, limits);
        if (extensions is not null)
        {
            protocol.Memory.HoldDecoded(GC.GetAllocatedBytesForCurrentThread() - start);
        }

        Func<RpcMetadata>? source = null;
        if (header.HasExtension(ProtorpcTransportExtensions.RequestHeaders))
        {
            // Read here and not in the handler, so that invalid headers fail the call as an error of the
            // caller.
            RpcMetadata? headers = ReadHeaders(header, limits);
            source = () => headers!;
        }

        return new(
            method, header.CallContext,
            GetDeadline(
                header.HasExtension(ProtorpcTransportExtensions.TimeoutMs)
                    ? header.GetExtension(ProtorpcTransportExtensions.TimeoutMs)
                    : null),
            aborted)
        {
            Headers = source,
            Extensions = extensions,
        };
    }

    /// <summary>Reads the trace context of a call; the default for none.</summary>
    /// <param name="context">The call; null if it failed before its context was created.</param>
    /// <param name="received">The header; null if it is not read.</param>
    /// <param name="limits">The limits.</param>
    public static ActivityContext ReadParent(
        RpcServerCallContext? context, RpcRequestHeader? received, RpcLimits limits)
    {
        try
        {
            RpcMetadata? headers = context is not null ? context.RequestHeaders
                : received is not null ? ReadHeaders(received, limits)
                : null;
            return headers is null ? default : TraceContext.Read(headers);
        }
        catch (RpcException)
        {
            // Without a trace context the call still runs. Its handler receives the error when it reads the
            // headers.
            return default;
        }
    }

    /// <summary>The deadline of a caller that waits for a number of milliseconds; null for a caller without a
    /// timeout.</summary>
    public static DateTimeOffset? GetDeadline(uint? milliseconds) =>
        milliseconds is { } timeout ? DateTimeOffset.UtcNow.AddMilliseconds(timeout) : null;

    /// <summary>Whether the header of a call that succeeded has nothing but its id: what
    /// <see cref="Success"/> would return is empty.</summary>
    public static bool IsEmpty(RpcServerCallContext context) =>
        context.SetHeaders is null && context.SetTrailers is null && context.SetExtensions is null
        && context.ChangedContext() is null;

    /// <summary>The header of a call that succeeded.</summary>
    /// <exception cref="RpcException">Internal: metadata or extensions of the handler cannot be
    /// sent.</exception>
    public static RpcResponseHeader Success(RpcServerCallContext context)
    {
        RpcLimits limits = context.Limits;
        RpcResponseHeader response = new();
        if (context.ChangedContext() is { } changed)
        {
            response.CallContext = changed;
        }

        if (NativeMetadata.Write(
            context.SetHeaders, "headers", RpcStatusCode.Internal, limits) is { } headers)
        {
            response.SetExtension(ProtorpcTransportExtensions.ResponseHeaders, headers);
        }

        if (NativeMetadata.Write(
            context.SetTrailers, "trailers", RpcStatusCode.Internal, limits) is { } trailers)
        {
            response.SetExtension(ProtorpcTransportExtensions.ResponseTrailers, trailers);
        }

        HeaderExtensions.Write(
            response, context.SetExtensions, "response header", RpcStatusCode.Internal, limits);
        return response;
    }

    /// <summary>The header of a call that failed.</summary>
    public static RpcResponseHeader Failure(
        CallFailure failure, RpcServerCallContext? context, RpcLimits limits)
    {
        RpcResponseHeader response = new() { Success = false, Exception = failure.ToExceptionInfo() };

        // The caller receives the id of a new session even if the call fails, and can use the session.
        if (ContextAfterFailure(context) is { } changed)
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

        AddWhatGoesBeside(response, failure, context, limits);
        return response;
    }

    /// <summary>Returns the exception if its extensions can be sent, otherwise an error with the reason, so
    /// that the handler's author sees it.</summary>
    public static Exception MakeSendable(Exception error, RpcLimits limits)
    {
        if (error is not RpcException rpc || !HeaderExtensions.AreSentWith(rpc))
        {
            return error;
        }

        try
        {
            HeaderExtensions.Write(
                new RpcExceptionInfo(), rpc.Extensions, "exception", RpcStatusCode.Internal, limits);
            return error;
        }
        catch (RpcException e)
        {
            return new RpcException(
                RpcStatusCode.Internal, $"The failure '{rpc.Message}' cannot be sent: {e.Message}", rpc);
        }
    }

    private static RpcMetadata? ReadHeaders(RpcRequestHeader header, RpcLimits limits) =>
        header.GetExtension(ProtorpcTransportExtensions.RequestHeaders) is { } received
            ? NativeMetadata.Read(received, "headers", RpcStatusCode.InvalidArgument, limits)
            : null;

    // The failure is sent even if its details or extensions cannot be sent.
    private static void AddWhatGoesBeside(
        RpcResponseHeader response, CallFailure failure, RpcServerCallContext? context, RpcLimits limits)
    {
        if (GrpcStatusDetails.ToBytes(failure.Code, failure.Text, failure.Details) is { } details
            && details.Length <= limits.MaxMessageBytes)
        {
            response.SetExtension(ProtorpcTransportExtensions.StatusDetails, ByteString.CopyFrom(details));
        }

        if (NativeMetadata.TryWrite(context?.SetHeaders, limits) is { } headers)
        {
            response.SetExtension(ProtorpcTransportExtensions.ResponseHeaders, headers);
        }

        if (NativeMetadata.TryWrite(context?.SetTrailers, limits) is { } trailers)
        {
            response.SetExtension(ProtorpcTransportExtensions.ResponseTrailers, trailers);
        }

        HeaderExtensions.TryWrite(response, context?.SetExtensions, limits);
        HeaderExtensions.TryWrite(response.Exception, failure.Extensions, limits);
    }

    private static RpcCallContext? ContextAfterFailure(RpcServerCallContext? context)
    {
        try
        {
            return context?.ChangedContext();
        }
        catch (RpcException)
        {
            // The context that the handler set cannot be written. This error may itself be the failure to
            // send.
            return null;
        }
    }
}
