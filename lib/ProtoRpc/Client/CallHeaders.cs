using ProtoRpc.Client.Native;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Native;

namespace ProtoRpc.Client;

/// <summary>The headers of <c>rpc_messages.proto</c> as a client writes and reads them, however they
/// travel.</summary>
internal static class CallHeaders
{
    /// <summary>What goes before a request.</summary>
    /// <param name="method">The method as the server knows it.</param>
    /// <param name="context">The side channel.</param>
    /// <param name="timeout">How long the caller waits.</param>
    /// <param name="call">What else the caller asked for; null for nothing.</param>
    /// <param name="options">How the client behaves.</param>
    /// <exception cref="RpcException">InvalidArgument: what goes with the call cannot be sent.</exception>
    public static RpcRequestHeader Request(
        string method, RpcCallContext context, TimeSpan timeout, CallSpec? call, RpcClientOptions options)
    {
        RpcRequestHeader header = new()
        {
            // The default, which the original's clients write all the same.
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

    /// <summary>How long the caller waits, as it is sent: in milliseconds; null for ever.</summary>
    public static uint? Timeout(TimeSpan timeout) =>
        timeout == System.Threading.Timeout.InfiniteTimeSpan
            ? null
            : (uint)Math.Clamp(timeout.TotalMilliseconds, 1, uint.MaxValue);

    /// <summary>Keeps what came beside a reply for the caller who asked for it.</summary>
    /// <returns>How the call failed; null for one that succeeded.</returns>
    /// <exception cref="RpcException">Internal: it cannot be read.</exception>
    public static RpcException? ReadResponse(
        RpcResponseHeader header, string method, CallSpec? call, RpcClientOptions options)
    {
        RpcLimits limits = options.Limits;
        RpcMetadata trailers = NativeMetadata.Read(
            header.GetExtension(ProtorpcTransportExtensions.ResponseTrailers),
            "trailers", RpcStatusCode.Internal, limits);
        RpcSchema? schema = call?.Method.Service.Schema;
        if (call?.Options?.Response is { } info)
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
            ? NativeFailures.Of(
                header, method, trailers, options.ExceptionTypes,
                HeaderExtensions.TryRead(header.Exception, schema, "exception", limits))
            : null;
    }
}
