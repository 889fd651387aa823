using ProtoRpc.Messages.Binary;
using ProtoRpc.Protocols.Headers;

namespace ProtoRpc.Protocols.Native;

/// <summary>The framing of native messages: a header with a length prefix, and then the body.</summary>
internal static class NativeHeaders
{
    private const int MaxVarint32Bytes = 5;

    // A header of this size cannot exceed the default limits.
    private const int UsualBytes = 16 * 1024;

    private static readonly RpcLimits Usual = RpcLimits.Default;

    private static readonly Lazy<RpcSchema> Schema = new(() => RpcSchema.FromDescriptors(
        RpcMessagesReflection.Descriptor, ProtorpcTransportReflection.Descriptor));

    /// <summary>The extensions of ProtoRpc to the original headers.</summary>
    public static ExtensionRegistry Extensions { get; } =
    [
        ProtorpcTransportExtensions.TimeoutMs,
        ProtorpcTransportExtensions.StatusCode,
        ProtorpcTransportExtensions.RequestHeaders,
        ProtorpcTransportExtensions.InterfaceId,
        ProtorpcTransportExtensions.CorrelationId,
        ProtorpcTransportExtensions.ResponseHeaders,
        ProtorpcTransportExtensions.ResponseTrailers,
        ProtorpcTransportExtensions.StatusDetails,
        ProtorpcTransportExtensions.RetryAfterMs,
        ProtorpcTransportExtensions.DisplayMessage,
        ProtorpcTransportExtensions.ServerFacts,
    ];

    public static MessageParser<RpcRequestHeader> RequestParser { get; } =
        RpcRequestHeader.Parser.WithExtensionRegistry(Extensions);

    public static MessageParser<RpcResponseHeader> ResponseParser { get; } =
        RpcResponseHeader.Parser.WithExtensionRegistry(Extensions);

    public static void Write(IBufferWriter<byte> output, IMessage header, EncodedMessage? body)
    {
        int size = header.CalculateSize();
        WriteVarint(output, (uint)size);
        header.WriteTo(output.GetSpan(size)[..size]);
        output.Advance(size);
        body?.WriteTo(output);
    }

    /// <summary>Reads the header, and returns the body.</summary>
    /// <exception cref="RpcException">Internal: the peer violates the framing.</exception>
    public static THeader Read<THeader>(
        MessageParser<THeader> parser, ReadOnlySpan<byte> payload, out ReadOnlySpan<byte> body)
        where THeader : IMessage<THeader>
    {
        int start = ReadVarint(payload, out uint length);
        if (start == 0 || length > (uint)(payload.Length - start))
        {
            throw Broken($"its length does not match the {payload.Length} received bytes", null);
        }

        body = payload[(start + (int)length)..];
        ReadOnlySpan<byte> header = payload.Slice(start, (int)length);
        try
        {
            if (header.Length > UsualBytes)
            {
                GeneratedLimits.Check(
                    TypeOf<THeader>(), header, Usual.MaxMessageElements, Usual.MaxGeneratedMapEntries);
            }

            return parser.ParseFrom(header);
        }
        catch (Exception e) when (e is InvalidProtocolBufferException
            || e is RpcException { Code: RpcStatusCode.InvalidArgument })
        {
            throw Broken(e.Message, e);
        }
    }

    private static RpcMessageInfo TypeOf<THeader>() => Schema.Value.GetMessage(
        typeof(THeader) == typeof(RpcRequestHeader)
            ? RpcRequestHeader.Descriptor.FullName
            : RpcResponseHeader.Descriptor.FullName);

    private static RpcException Broken(string why, Exception? inner) =>
        new(RpcStatusCode.Internal, RpcErrorIds.BadHeader, $"The header cannot be read: {why}.", inner);

    private static void WriteVarint(IBufferWriter<byte> output, uint value)
    {
        Span<byte> span = output.GetSpan(MaxVarint32Bytes);
        int count = 0;
        while (value >= 0x80)
        {
            span[count++] = (byte)(value | 0x80);
            value >>= 7;
        }

        span[count++] = (byte)value;
        output.Advance(count);
    }

    // Returns the number of octets, or 0 if there is no complete 32-bit varint.
    private static int ReadVarint(ReadOnlySpan<byte> bytes, out uint value)
    {
        value = 0;
        for (int i = 0; i < Math.Min(bytes.Length, MaxVarint32Bytes); i++)
        {
            value |= (uint)(bytes[i] & 0x7F) << (7 * i);
            if (bytes[i] < 0x80)
            {
                // The fifth octet holds four bits of the number; further bits would be lost.
                return i == MaxVarint32Bytes - 1 && bytes[i] > 0x0F ? 0 : i + 1;
            }
        }

        return 0;
    }
}

/// <summary>The names of the methods that every service of the native protocol has. They start with a
/// dot.</summary>
internal static class BuiltInNames
{
    public const string Ping = ".ping";
    public const string Close = ".close";
    public const string Multi = ".multi";

    /// <summary>The service that declares the built-in methods.</summary>
    public static RpcServiceInfo Service { get; } =
        RpcSchema.FromDescriptors(ProtorpcTransportReflection.Descriptor).GetService("protorpc.BuiltIn");

    /// <summary>Whether a name is that of a built-in method.</summary>
    public static bool Has(string name) => name.StartsWith('.');
}

/// <summary>Checks that an endpoint supports raw calls.</summary>
internal static class RawEndpoints
{
    /// <exception cref="RpcException">Unimplemented: HTTP and gRPC have no raw layer.</exception>
    public static void RequireNative(RpcEndpoint endpoint)
    {
        if (!endpoint.IsNative)
        {
            throw new RpcException(
                RpcStatusCode.Unimplemented,
                "Raw calls work on TCP, named pipe and local endpoints, "
                + $"not on {endpoint.Transport} ('{endpoint}').", endpoint);
        }
    }
}

/// <summary>The errors of the native protocol for streaming methods, on both sides.</summary>
internal static class NativeStreaming
{
    public static RpcException Refusal(RpcMethodInfo method, RpcEndpoint endpoint) => new(
        RpcStatusCode.Unimplemented,
        $"{method.FullName} streams, but {endpoint} carries only one message each way. "
        + $"Use a {EndpointKinds.SchemesWith(EndpointFeatures.RequestStreams)} endpoint; "
        + "http:// endpoints support reply streams only.");
}

/// <summary>The ping method that ProtoRpc's servers have on every transport, and how to read its
/// reply.</summary>
internal static class PingProtocol
{
    private static readonly RpcServiceInfo BuiltIn = BuiltInNames.Service;

    /// <summary>The method. gRPC and HTTP use its full name.</summary>
    public static RpcMethodInfo Info { get; } = BuiltIn.FindMethod("ping")!;

    /// <summary>The method with the messages of a schema, including the extensions that it
    /// declares.</summary>
    public static RpcMethodInfo InfoIn(RpcSchema? schema) =>
        schema?.FindMessage(Info.RequestType.FullName) is { } request
            && schema.FindMessage(Info.ReplyType.FullName) is { } reply
                ? Info.With(request, reply)
                : Info;

    /// <summary>The interface for pings of native clients without a schema.</summary>
    public static Guid InterfaceId => BuiltIn.InterfaceId;

    /// <summary>Reads a reply, and the server's facts if it is a ProtoRpc server.</summary>
    /// <exception cref="RpcException">Internal: the reply is not one to a ping.</exception>
    public static RpcPingResponse Read(ReadOnlySpan<byte> reply)
    {
        try
        {
            return RpcPingResponse.Parser.WithExtensionRegistry(NativeHeaders.Extensions).ParseFrom(reply);
        }
        catch (InvalidProtocolBufferException e)
        {
            throw new RpcException(
                RpcStatusCode.Internal, RpcErrorIds.BadReply,
                $"The reply to {Info.FullName} cannot be read: {e.Message}", e);
        }
    }

    /// <summary>The facts that a ProtoRpc server sent; null for other servers.</summary>
    public static ServerFacts? FactsOf(RpcPingResponse? reply) =>
        reply?.GetExtension(ProtorpcTransportExtensions.ServerFacts);
}
