using System.Buffers;
using System.Collections.Concurrent;
using Google.Protobuf;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Native;

namespace ProtoRpc.Tests.Protocols.Native;

public static class MessageIdTests
{
    [Fact]
    public static void No_two_calls_have_the_same_id()
    {
        const int Calls = 50;
        ConcurrentQueue<ByteString> ids = [];
        RpcServiceInfo service = EchoServer.Schema.GetService("calls.Echo");
        using RpcRawServer server = RpcRawServer.Create(service.InterfaceId)
            .OnExecute((RpcRawContext _, byte[] request) =>
            {
                RpcRequestHeader asked = NativeHeaders.Read(
                    NativeHeaders.RequestParser, request, out ReadOnlySpan<byte> body);
                ids.Enqueue(asked.MessageId);
                ArrayBufferWriter<byte> reply = new();
                NativeHeaders.Write(reply, new RpcResponseHeader { MessageId = asked.MessageId }, body: null);
                reply.Write(body);
                return reply.WrittenSpan.ToArray();
            })
            .AddEndpoint(EchoServer.NewEndpoint(RpcTransport.Local))
            .StartListening();

        Parallel.For(0, 4, _ =>
        {
            using RpcClient client = RpcClient.Connect(
                server.Endpoints[0], EchoServer.Schema, new RpcClientOptions { Service = "calls.Echo" });
            DynamicMessage request = new(service.FindMethod("Say")!.RequestType);
            request.Set(request.Type.FindField("text")!, "x");

            // Few at once: on Windows, a blocking call on a pipe also needs a thread of the pool for what it
            // waits for.
            ParallelOptions few = new() { MaxDegreeOfParallelism = 4 };
            Parallel.For(0, Calls, few, _ => client.Invoke(client.GetMethod("Say"), request));
        });

        Assert.Equal(4 * Calls, ids.Count);
        Assert.Equal(4 * Calls, ids.Distinct().Count());
        Assert.All(ids, id => Assert.Equal(16, id.Length));
    }
}
