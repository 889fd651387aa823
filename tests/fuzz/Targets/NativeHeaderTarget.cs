using System.Buffers;
using System.Text;
using System.Text.Unicode;
using Google.Protobuf;
using ProtoRpc.Fuzz.Engine;
using ProtoRpc.Fuzz.Inputs;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Native;

namespace ProtoRpc.Fuzz.Targets;

/// <summary>The headers before native messages, and the exceptions in them. The first byte chooses.</summary>
internal sealed class NativeHeaderTarget : FuzzTarget
{
    private static readonly RpcSchema Schema = RpcSchema.FromDescriptors(RpcMessagesReflection.Descriptor);

    public override string Name => "native-header";

    public override string Promise =>
        "the fast path and the full parser read the same header; exceptions name no type to load";

    public override IMutator Mutator { get; } = new WireMutator(2);

    public override int? BytesPerByte => 1024;

    public override IEnumerable<byte[]> Seeds()
    {
        RpcRequestHeader request = new()
        {
            Version = 1,
            MethodName = "Send",
            MessageId = ByteString.CopyFrom(new byte[16]),
            CallContext = new RpcCallContext(),
        };
        request.SetExtension(ProtorpcTransportExtensions.TimeoutMs, 1000u);
        RpcExceptionInfo exception = ExceptionInfoCodec.Encode(
            new InvalidOperationException("text", new ArgumentException("inner")), RpcErrorDetail.Full);
        RpcResponseHeader response = new()
        {
            MessageId = ByteString.CopyFrom(new byte[16]),
            Success = false,
            Exception = exception,
        };
        yield return Whole(0, request);
        RpcRequestHeader forInterface = request.Clone();
        forInterface.SetExtension(
            ProtorpcTransportExtensions.InterfaceId, ByteString.CopyFrom(new byte[16]));
        yield return Whole(0, forInterface);
        yield return Whole(1, response);
        yield return Whole(1, new RpcResponseHeader
        {
            MessageId = ByteString.CopyFrom(new byte[16]),
            Success = true
        });
        yield return [2, 0, .. exception.ToByteArray()];
    }

    public override bool Run(byte[] input, Meter meter)
    {
        Tail tail = new(input);
        switch (tail.Next(3))
        {
            case 0:
                return Request(tail.Rest.ToArray(), meter);
            case 1:
                return Response(tail.Rest.ToArray(), meter);
            default:
                tail.Byte();
                return Exception(tail.Rest.ToArray(), meter);
        }
    }

    private static byte[] Whole(byte choice, IMessage header)
    {
        ArrayBufferWriter<byte> output = new();
        NativeHeaders.Write(output, header, null);
        return [choice, .. output.WrittenSpan, 1, 2, 3];
    }

    private static bool Request(byte[] payload, Meter meter)
    {
        RpcRequestHeader? header = null;
        int body = 0;
        bool isRead = Accepts(
            () => header = meter.Measure(() =>
            {
                RpcRequestHeader read = NativeHeaders.Read(
                    NativeHeaders.RequestParser, payload, out ReadOnlySpan<byte> rest);
                body = rest.Length;
                return read;
            }),
            RpcStatusCode.Internal);
        // A name that is not UTF-8 is that of no method, so a server then reads the header message.
        if (PlainHeaders.TryReadRequest(payload, out PlainRequest plain)
            && Utf8.IsValid(payload.AsSpan()[plain.Method]))
        {
            Require(header is not null, "what the short way reads is a header");
            Require(
                Encoding.UTF8.GetString(payload.AsSpan()[plain.Method]) == header!.MethodName
                && header.MessageId.Span.SequenceEqual(payload.AsSpan()[plain.Id])
                && header.GetExtension(ProtorpcTransportExtensions.InterfaceId).Span
                    .SequenceEqual(payload.AsSpan()[plain.Interface])
                && payload.Length - plain.BodyStart == body
                && plain.Timeout == (header.HasExtension(ProtorpcTransportExtensions.TimeoutMs)
                    ? header.GetExtension(ProtorpcTransportExtensions.TimeoutMs) : null),
                "the short way reads the same");
        }

        return isRead && Accepts(
            () => NativeMetadata.Read(
                header!.GetExtension(ProtorpcTransportExtensions.RequestHeaders), "request",
                RpcStatusCode.Internal, RpcLimits.Default),
            RpcStatusCode.Internal, RpcStatusCode.ResourceExhausted, RpcStatusCode.InvalidArgument);
    }

    private static bool Response(byte[] payload, Meter meter)
    {
        RpcResponseHeader? header = null;
        if (!Accepts(
            () => header = meter.Measure(() => NativeHeaders.Read(
                NativeHeaders.ResponseParser, payload, out _)),
            RpcStatusCode.Internal))
        {
            return false;
        }

        if (header!.Exception is { } exception)
        {
            _ = ExceptionInfoCodec.Decode(exception);
            _ = ExceptionInfoCodec.StatusOf(exception);
        }

        return Accepts(
            () => HeaderExtensions.Read(header, Schema, "reply", RpcStatusCode.Internal, RpcLimits.Default),
            RpcStatusCode.Internal, RpcStatusCode.ResourceExhausted);
    }

    private static bool Exception(byte[] bytes, Meter meter)
    {
        RpcExceptionInfo info;
        try
        {
            info = RpcExceptionInfo.Parser.ParseFrom(bytes);
        }
        catch (InvalidProtocolBufferException)
        {
            return false;
        }

        RpcRemoteException remote = meter.Measure(() => ExceptionInfoCodec.Decode(info));
        RpcExceptionInfo again = ExceptionInfoCodec.Encode(remote, remote.Message, RpcErrorDetail.Full);
        _ = ExceptionInfoCodec.ForReaders(again);
        _ = remote.ToString();
        return true;
    }
}
