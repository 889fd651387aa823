using System.Buffers;
using Google.Protobuf;
using ProtoRpc.Messages.Binary;
using ProtoRpc.Protocols.Headers;

namespace ProtoRpc.Protocols.Native;

/// <summary>The framing of the protobuf layer: a header with its length before it,
/// then the body to the end.</summary>
internal static class NativeHeaders
{
    private const int MaxVarint32Bytes = 5;

    // Shorter headers cannot be over a limit.
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

    /// <summary>Writes header and body.</summary>
    public static void Write(IBufferWriter<byte> output, IMessage header, EncodedMessage? body)
    {
        int size = header.CalculateSize();
        WriteVarint(output, (uint)size);
        header.WriteTo(output.GetSpan(size)[..size]);
        output.Advance(size);
        body?.WriteTo(output);
    }

    /// <summary>Reads the header and leaves the body.</summary>
    /// <exception cref="RpcException">Internal: the peer does not keep to the framing.</exception>
    public static THeader Read<THeader>(
        MessageParser<THeader> parser, ReadOnlySpan<byte> payload, out ReadOnlySpan<byte> body)
        where THeader : IMessage<THeader>
    {
        int start = ReadVarint(payload, out uint length);
        if (start == 0 || length > (uint)(payload.Length - start))
        {
            throw Broken($"its length does not fit the {payload.Length} bytes that came", null);
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
        new(RpcStatusCode.Internal, $"The header cannot be read: {why}.", inner)
        { ErrorId = RpcErrorIds.BadHeader };

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

    // Returns the octets taken, 0 when there is no whole varint of 32 bits.
    private static int ReadVarint(ReadOnlySpan<byte> bytes, out uint value)
    {
        value = 0;
        for (int i = 0; i < Math.Min(bytes.Length, MaxVarint32Bytes); i++)
        {
            value |= (uint)(bytes[i] & 0x7F) << (7 * i);
            if (bytes[i] < 0x80)
            {
                // The fifth octet holds four bits; more would be cut off silently.
                return i == MaxVarint32Bytes - 1 && bytes[i] > 0x0F ? 0 : i + 1;
            }
        }

        return 0;
    }
}
