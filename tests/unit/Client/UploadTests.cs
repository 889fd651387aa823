using Google.Protobuf;
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
        server.Endpoints[0], EchoServer.Schema, new() { Service = "Other", MultiPartThreshold = 50_000 });

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
