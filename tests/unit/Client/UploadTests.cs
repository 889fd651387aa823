using System.Buffers;
using Google.Protobuf;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Native;
using ProtoRpc.Tests.Transports;

namespace ProtoRpc.Tests.Client;

/// <summary>Messages in parts whose streams change, or whose callers cancel them.</summary>
public static class UploadTests
{
    private static readonly RpcLimits Limits = new() { MaxTransfersPerCaller = 1 };

    [Theory]
    [InlineData(RpcTransport.Local)]
    [InlineData(RpcTransport.InProcess)]
    public static void A_file_that_grows_goes_up_as_long_as_it_was(RpcTransport transport)
    {
        long seen = 0;
        using RpcServer server = Serve(transport, body => seen = body.Length);
        using RpcClient client = Connect(server);

        client.Upload(client.GetMethod("Say"), new GrowingStream(size: 200_000, atFirst: 150_000));

        Assert.Equal(150_000, seen);
    }

    [Theory]
    [InlineData(RpcTransport.Local)]
    [InlineData(RpcTransport.Tcp)]
    [InlineData(RpcTransport.InProcess)]
    public static async Task The_server_forgets_a_message_whose_caller_cancels_it(RpcTransport transport)
    {
        using RpcServer server = Serve(transport, _ => { });
        using RpcClient client = Connect(server);
        RpcMethodInfo method = client.GetMethod("Say");
        using CancellationTokenSource cancel = new();
        using CancellingStream stream = new(new byte[500_000], cancel, atRead: 3);

        RpcException error = Assert.Throws<RpcException>(
            () => client.Upload(method, stream, cancellationToken: cancel.Token));

        Assert.Equal(RpcStatusCode.Cancelled, error.Code);
        await Eventually.TrueAsync(
            () => Record.Exception(() => client.Upload(method, new MemoryStream(new byte[500_000]))) is null,
            "another message has the place of the one that was cancelled");
    }

    [Theory]
    [InlineData("FF")]
    [InlineData("0A05")]
    public static void A_reply_to_a_part_that_cannot_be_read_is_an_error_of_the_call(string body)
    {
        RpcServiceInfo service = EchoServer.Schema.GetService("calls.Echo");
        using RpcRawServer server = RpcRawServer.Create(service.InterfaceId)
            .OnExecute((RpcRawContext _, byte[] request) =>
            {
                RpcRequestHeader asked = NativeHeaders.Read(
                    NativeHeaders.RequestParser, request, out ReadOnlySpan<byte> _);
                ArrayBufferWriter<byte> reply = new();
                NativeHeaders.Write(reply, new RpcResponseHeader { MessageId = asked.MessageId }, body: null);
                reply.Write(Convert.FromHexString(body));
                return reply.WrittenSpan.ToArray();
            })
            .AddEndpoint(EchoServer.NewEndpoint(RpcTransport.Local))
            .StartListening();
        using RpcClient client = RpcClient.Connect(
            server.Endpoints[0], EchoServer.Schema,
            new() { Service = service.FullName, Limits = new() { MultiPartThreshold = 50_000 } });

        RpcException error = Assert.Throws<RpcException>(
            () => client.Upload(client.GetMethod("Say"), new MemoryStream(new byte[200_000])));

        Assert.Equal((RpcStatusCode.Internal, RpcErrorIds.BadReply), (error.Code, error.ErrorId));
        Assert.Equal((server.Endpoints[0], "calls.Echo/Say"), (error.Endpoint, error.MethodName));
    }

    private static RpcServer Serve(RpcTransport transport, Action<Stream> take) =>
        RpcServer.Create(EchoServer.Schema, "Other", new RpcServerOptions { Limits = Limits })
            .HandleBody("Say", (_, body) =>
            {
                take(body);
                return ValueTask.FromResult<IMessage>(new EchoReply { Text = "x" });
            })
            .AddEndpoint(EchoServer.NewEndpoint(transport))
            .StartListening();

    private static RpcClient Connect(RpcServer server) => RpcClient.Connect(
        server.Endpoints[0], EchoServer.Schema,
        new() { Service = "Other", Limits = new() { MultiPartThreshold = 50_000 } });

    private sealed class GrowingStream(int size, int atFirst) : MemoryStream(new byte[size])
    {
        public override long Length => atFirst;
    }

    private sealed class CancellingStream(byte[] bytes, CancellationTokenSource cancel, int atRead)
        : MemoryStream(bytes)
    {
        private int _reads;

        public override int Read(byte[] buffer, int offset, int count)
        {
            if (++_reads == atRead)
            {
                cancel.Cancel();
            }

            return base.Read(buffer, offset, count);
        }

        public override int Read(Span<byte> buffer)
        {
            byte[] bytes = new byte[buffer.Length];
            int count = Read(bytes, 0, bytes.Length);
            bytes.AsSpan(0, count).CopyTo(buffer);
            return count;
        }
    }
}
