using System.Buffers;
using Google.Protobuf;
using ProtoRpc.Messages.Binary;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Native;
using HeaderContext = ProtoRpc.Protocols.Headers.RpcCallContext;

namespace ProtoRpc.Tests.Server;

/// <summary>A client that writes its headers itself,
/// so that it can send what no client of ours would.</summary>
internal sealed class WireCaller(RpcEndpoint endpoint, Guid interfaceId) : IDisposable
{
    private readonly RpcRawClient _raw = RpcRawClient.Connect(endpoint, interfaceId);

    /// <summary>Calls a method with a context, or with none.</summary>
    public RpcResponseHeader Call(
        string method, IMessage body, HeaderContext? context = null, byte[]? id = null,
        TimeSpan? timeout = null,
        Metadata? headers = null, byte[]? extensions = null)
    {
        RpcRequestHeader header =
            new() { MethodName = method, MessageId = ByteString.CopyFrom(id ?? new byte[16]) };
        if (context is not null)
        {
            header.CallContext = context;
        }

        if (timeout is { } time)
        {
            header.SetExtension(ProtorpcTransportExtensions.TimeoutMs, (uint)time.TotalMilliseconds);
        }

        if (headers is not null)
        {
            header.SetExtension(ProtorpcTransportExtensions.RequestHeaders, headers);
        }

        header.MergeFrom(extensions ?? []);
        ArrayBufferWriter<byte> request = new();
        using EncodedMessage encoded = EncodedMessage.From(body);
        NativeHeaders.Write(request, header, encoded);
        return NativeHeaders.Read(NativeHeaders.ResponseParser, _raw.Execute(request.WrittenSpan), out _);
    }

    /// <summary>A context that names a session.</summary>
    public static HeaderContext Naming(Guid session) =>
        new() { SessionId = ByteString.CopyFrom(session.ToByteArray()) };

    public void Dispose() => _raw.Dispose();
}
