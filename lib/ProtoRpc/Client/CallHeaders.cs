using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Grpc;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Native;

namespace ProtoRpc.Client;

/// <summary>Writes and reads the headers of <c>rpc_messages.proto</c> for clients, on every
/// transport.</summary>
internal static class CallHeaders
{
    /// <summary>Creates the header of a request.</summary>
    /// <param name="method">The method's name on the server.</param>
    /// <param name="context">The side channel.</param>
    /// <param name="timeout">How long the caller waits.</param>
    /// <param name="call">The other options of the call; null for none.</param>
    /// <param name="options">The client's options.</param>
    /// <exception cref="RpcException">InvalidArgument: a header or extension cannot be sent.</exception>
    public static RpcRequestHeader Request(
        string method, RpcCallContext context, TimeSpan timeout, CallSpec? call, RpcClientOptions options)
    {
        RpcRequestHeader header = new()
        {
            // Set although it is the default, because the original's clients also write it.
            Version = 1,
            MethodName = method,
            CallContext = context,
        };
        if (Timeout(timeout) is { } milliseconds)
        {
            header.SetExtension(ProtorpcTransportExtensions.TimeoutMs, milliseconds);
        }

        if (NativeMetadata.Write(
            call?.Options?.Headers is { } ofCall ? options.Headers.Concat(ofCall)
                : options.Headers.Count > 0 ? options.Headers : null,
            "headers", RpcStatusCode.InvalidArgument, options.Limits) is { } headers)
        {
            header.SetExtension(ProtorpcTransportExtensions.RequestHeaders, headers);
        }

        HeaderExtensions.Write(
            header, call?.Options?.Extensions, "request header", RpcStatusCode.InvalidArgument,
            options.Limits);
        return header;
    }

    /// <summary>Whether a call has a header whose name says that it is a credential.</summary>
    public static bool HaveSecret(RpcClientOptions options, RpcCallOptions? call) =>
        options.Headers.HaveSecret || call?.Headers is { HaveSecret: true };

    /// <summary>The timeout as it is sent, in milliseconds; null for no limit.</summary>
    public static uint? Timeout(TimeSpan timeout) =>
        timeout == System.Threading.Timeout.InfiniteTimeSpan
            ? null
            : (uint)Math.Clamp(timeout.TotalMilliseconds, 1, uint.MaxValue);

    /// <summary>Reads the response header into the caller's response information.</summary>
    /// <returns>The failure of the call; null if it succeeded.</returns>
    /// <exception cref="RpcException">Internal: the header cannot be read.</exception>
    public static RpcException? ReadResponse(
        RpcResponseHeader header, string method, CallSpec? call, RpcClientOptions options)
    {
        RpcLimits limits = options.Limits;
        RpcMetadata trailers = NativeMetadata.Read(
            header.GetExtension(ProtorpcTransportExtensions.ResponseTrailers),
            "trailers", RpcStatusCode.Internal, limits);
        RpcSchema? schema = call?.Method.Service.Schema;
        if (call?.Options?.ReplyInfo is { } info)
        {
            info.Headers = NativeMetadata.Read(
                header.GetExtension(ProtorpcTransportExtensions.ResponseHeaders),
                "headers", RpcStatusCode.Internal, limits);
            info.Trailers = trailers;
            info.Extensions =
                HeaderExtensions.Read(header, schema, "response header", RpcStatusCode.Internal, limits)
                ?? new DynamicMessage(HeaderExtensions.TypeIn(schema, RpcResponseHeader.Descriptor));
        }

        return header.Exception is not null || !header.Success
            ? NativeFailures.ToException(
                header, method, trailers, options.ExceptionTypes,
                HeaderExtensions.TryRead(header.Exception, schema, "exception", limits))
            : null;
    }
}

/// <summary>The side channel of a call: the client's, or one for this call only.</summary>
internal static class CallSideChannel
{
    /// <summary>The context to send with the call.</summary>
    public static RpcCallContext CreateContext(IRpcChannel channel, RpcCallOptions? options) =>
        options?.Context ?? channel.Context;

    /// <summary>Stores the context that the reply brought.</summary>
    public static void Save(IRpcChannel channel, RpcCallOptions? options, RpcCallContext changed)
    {
        if (options is not { Context: not null })
        {
            channel.Context = changed;
        }
        else if (options.ReplyInfo is { } info)
        {
            info.Context = changed;
        }
    }
}

/// <summary>Converts the failure in a response header to the client's exception.</summary>
internal static class NativeFailures
{
    public static RpcException ToException(
        RpcResponseHeader header, string method, RpcMetadata trailers, RpcExceptionTypes types,
        DynamicMessage? extensions)
    {
        RpcExceptionInfo info = header.Exception ?? new RpcExceptionInfo();
        RpcRemoteException remote = ExceptionInfoCodec.Decode(info);
        RpcStatusCode code = header.HasExtension(ProtorpcTransportExtensions.StatusCode)
            ? (RpcStatusCode)header.GetExtension(ProtorpcTransportExtensions.StatusCode)
            : ExceptionInfoCodec.StatusOf(info);
        if (!Enum.IsDefined(code) || code == RpcStatusCode.OK)
        {
            code = RpcStatusCode.Unknown;
        }

        string message = remote.Message.Length > 0
            ? remote.Message
            : $"{method} failed on the server"
                + (remote.TypeName.Length > 0 ? $" with {remote.TypeName}" : "")
                + "; the server sent no message.";
        bool isBusy = header.HasExtension(ProtorpcTransportExtensions.RetryAfterMs);
        ByteString details = header.GetExtension(ProtorpcTransportExtensions.StatusDetails);
        return new RpcException(code, message, RemoteExceptionFactory.Create(remote, types))
        {
            IsAnswer = true,
            Remote = remote,
            CorrelationId =
                CorrelationIds.Accept(header.GetExtension(ProtorpcTransportExtensions.CorrelationId)),
            MayHaveExecuted = !isBusy,
            RetryAfter = isBusy
                ? TimeSpan.FromMilliseconds(header.GetExtension(ProtorpcTransportExtensions.RetryAfterMs))
                : null,
            Details = GrpcStatusDetails.Read(details.Span),
            Trailers = trailers.ToText(),
            Extensions = extensions,
        };
    }
}
