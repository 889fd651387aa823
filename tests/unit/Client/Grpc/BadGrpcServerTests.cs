using System.Buffers.Binary;
using System.IO.Compression;
using Google.Protobuf;
using ProtoRpc.Protocols.Grpc.Proto;

namespace ProtoRpc.Tests.Client.Grpc;

/// <summary>Servers that violate gRPC, and the error of the caller.</summary>
public static class BadGrpcServerTests
{
    private static readonly RpcSchema Schema = RpcSchema.FromDescriptors(HealthReflection.Descriptor);
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(20);

    [Fact]
    public static async Task A_good_one_is_understood()
    {
        await using Http2Peer peer = Reply(Frame([8, 1]));

        Assert.Equal([8, 1], Call(peer).ToByteArray());
    }

    [Fact]
    public static async Task An_empty_message_that_is_marked_as_compressed_is_understood()
    {
        await using Http2Peer peer = Reply([Frame([], compressed: 1)], ("grpc-encoding", "gzip"));

        Assert.Empty(Call(peer).ToByteArray());
    }

    [Fact]
    public static async Task A_length_over_the_limit_fails_before_the_message_comes()
    {
        await using Http2Peer peer = new(async (p, stream) =>
        {
            await p.SendGoodHeadersAsync(stream);
            await p.SendDataAsync(stream, [0, 0x7f, 0xff, 0xff, 0xff, 1]);
        });

        RpcException error = Assert.Throws<RpcException>(() => Call(peer));

        Assert.Equal("MessageTooLarge", error.ErrorId);
        Assert.Contains("2,147,483,647", error.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("00 00000005 0801", "in the middle")]
    [InlineData("00 0000", "in the middle")]
    [InlineData("07 00000000", "0x07")]
    [InlineData("01 00000002 0801", "no grpc-encoding")]
    public static async Task A_frame_that_is_none_is_told(string hex, string wanted)
    {
        await using Http2Peer peer = Reply(
            Convert.FromHexString(hex.Replace(" ", "", StringComparison.Ordinal)));

        RpcException error = Assert.Throws<RpcException>(() => Call(peer));

        Assert.Equal("BadGrpcFrame", error.ErrorId);
        Assert.Equal(RpcStatusCode.Internal, error.Code);
        Assert.Contains(wanted, error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static async Task The_deadline_holds_while_a_reply_drips()
    {
        await using Http2Peer peer = new(async (p, stream) =>
        {
            await p.SendGoodHeadersAsync(stream);
            await p.SendDataAsync(stream, [0, 0, 0, 0x7f, 0xff]);
            while (true)
            {
                await p.SendDataAsync(stream, [1]);
                await Task.Delay(50);
            }
        });
        using RpcClient client = RpcClient.Connect(peer.Endpoint, Schema);
        long start = Environment.TickCount64;

        RpcException error = Assert.Throws<RpcException>(() => client.Invoke(
            Schema.GetMethod("grpc.health.v1.Health/Check"), new HealthCheckRequest(),
            new() { Timeout = TimeSpan.FromSeconds(1) }));

        Assert.Equal(RpcStatusCode.DeadlineExceeded, error.Code);
        Assert.InRange(Environment.TickCount64 - start, 900, 15_000);
    }

    [Fact]
    public static async Task An_answer_of_a_proxy_that_does_not_end_is_told_at_once()
    {
        TaskCompletionSource told = new();
        await using Http2Peer peer = new(async (p, stream) =>
        {
            await p.SendHeadersAsync(
                stream, end: false, (":status", "503"), ("content-type", "text/plain"));
            await p.SendDataAsync(stream, "no upstream"u8.ToArray());
            await told.Task.WaitAsync(Patience);
        });
        using RpcClient client = RpcClient.Connect(peer.Endpoint, Schema);

        RpcException error = Assert.Throws<RpcException>(() => client.Invoke(
            Schema.GetMethod("grpc.health.v1.Health/Check"), new HealthCheckRequest(),
            new() { Timeout = TimeSpan.FromSeconds(8) }));
        told.SetResult();

        Assert.Equal((RpcStatusCode.Unavailable, RpcErrorIds.NotGrpc), (error.Code, error.ErrorId));
        Assert.Contains("HTTP 503 with text/plain: 'no upstream'", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static async Task A_compressed_bomb_stops_at_the_limit()
    {
        using MemoryStream bomb = new();
        using (GZipStream gzip = new(bomb, CompressionLevel.SmallestSize, leaveOpen: true))
        {
            for (int i = 0; i < 20; i++)
            {
                gzip.Write(new byte[1024 * 1024]);
            }
        }

        await using Http2Peer peer = Reply(
            Chunks(Frame(bomb.ToArray(), compressed: 1)), ("grpc-encoding", "gzip"));

        RpcException error = Assert.Throws<RpcException>(() => Call(peer));

        Assert.Equal("MessageTooLarge", error.ErrorId);
        Assert.Contains("inflates", error.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("gzip", "gzip data")]
    [InlineData("snappy", "'snappy', which is not one of")]
    public static async Task A_damaged_or_unknown_compression_is_told(string encoding, string wanted)
    {
        await using Http2Peer peer = Reply([Frame([8, 1], compressed: 1)], ("grpc-encoding", encoding));

        RpcException error = Assert.Throws<RpcException>(() => Call(peer));

        Assert.Equal("BadGrpcFrame", error.ErrorId);
        Assert.Contains(wanted, error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static async Task A_connection_that_ends_in_the_middle_is_told()
    {
        await using Http2Peer peer = new(async (p, stream) =>
        {
            await p.SendGoodHeadersAsync(stream);
            await p.GoAwayAsync(stream, 0);
            p.HangUp();
        });

        RpcException error = Assert.Throws<RpcException>(() => Call(peer));

        Assert.Equal(RpcStatusCode.Unavailable, error.Code);
        Assert.Equal("ConnectionLost", error.ErrorId);
        Assert.True(error.MayHaveExecuted);
    }

    [Fact]
    public static async Task A_gateway_that_answers_with_a_page_is_quoted()
    {
        await using Http2Peer peer = new(async (p, stream) =>
        {
            await p.SendHeadersAsync(stream, end: false, (":status", "502"), ("content-type", "text/html"));
            await p.SendDataAsync(stream, "<html>\r\n <h1>Bad Gateway</h1></html>"u8.ToArray(), end: true);
        });

        RpcException error = Assert.Throws<RpcException>(() => Call(peer));

        Assert.Equal(RpcStatusCode.Unavailable, error.Code);
        Assert.Equal("NotGrpc", error.ErrorId);
        Assert.Contains(
            "HTTP 502 with text/html: '<html> <h1>Bad Gateway</h1></html>'",
            error.Message,
            StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(null, "")]
    [InlineData("Bearer realm=\"x\"", "It accepts Bearer.")]
    [InlineData("Basic realm=\"x\", Negotiate", "It accepts Basic, Negotiate.")]
    public static async Task A_proxy_that_requires_authentication_is_told_so(string? challenge, string told)
    {
        (string, string)[] headers = challenge is null ? [] : [("www-authenticate", challenge)];
        await using Http2Peer peer = new((p, stream) => p.SendHeadersAsync(
            stream, end: true, [(":status", "401"), .. headers]));

        RpcException error = Assert.Throws<RpcException>(() => Call(peer));

        Assert.Equal(
            (RpcStatusCode.Unauthenticated, "AuthenticationRequired", false),
            (error.Code, error.ErrorId, error.MayHaveExecuted));
        Assert.Contains("HTTP 401", error.Message, StringComparison.Ordinal);
        Assert.Contains(told, error.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("", "NoGrpcStatus")]
    [InlineData("x", "BadGrpcHeader")]
    [InlineData("99", "RpcStatus.Unknown")]
    [InlineData("0", "BadReply")]
    public static async Task A_reply_without_message_or_status_is_no_success(string status, string wanted)
    {
        (string, string)[] told = status.Length > 0 ? [("grpc-status", status)] : [];
        await using Http2Peer peer = new((p, stream) => p.SendHeadersAsync(
            stream, end: true, [(":status", "200"), ("content-type", "application/grpc"), .. told]));

        RpcException error = Assert.Throws<RpcException>(() => Call(peer));

        Assert.Equal(wanted, error.ErrorId);
    }

    [Fact]
    public static async Task Two_replies_to_one_request_are_told()
    {
        await using Http2Peer peer = Reply([.. Frame([8, 1]), .. Frame([8, 1])]);

        RpcException error = Assert.Throws<RpcException>(() => Call(peer));

        Assert.Contains("more than one reply", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static async Task A_reflection_that_tells_nonsense_is_told()
    {
        byte[] notAFile = Answer(new()
        {
            FileDescriptorResponse = new() { FileDescriptorProto = { ByteString.CopyFromUtf8("no") } },
        });
        byte[] empty = Answer(new() { FileDescriptorResponse = new() });
        byte[] cycle = Answer(new()
        {
            FileDescriptorResponse = new()
            {
                FileDescriptorProto = { File("a.proto", "b.proto"), File("b.proto", "a.proto") },
            },
        });
        byte[] missing = Answer(new()
        {
            FileDescriptorResponse = new() { FileDescriptorProto = { File("a.proto", "gone.proto") } },
        });
        byte[] refusal = Answer(
            new() { ErrorResponse = new() { ErrorCode = 5, ErrorMessage = "no such file" } });
        byte[] list = Answer(
            new() { ListServicesResponse = new() { Service = { new ServiceResponse { Name = "demo.S" } } } });

        Assert.Contains("not a list of services", await ReflectAsync(refusal), StringComparison.Ordinal);
        Assert.Contains("cannot be read", await ReflectAsync(Frame([0xff])), StringComparison.Ordinal);
        Assert.Contains("cannot be read", await ReflectAsync(list, notAFile), StringComparison.Ordinal);
        Assert.Contains("do not declare it", await ReflectAsync(list, empty), StringComparison.Ordinal);
        Assert.Contains("not a file", await ReflectAsync(list), StringComparison.Ordinal);
        Assert.Contains("ended the stream", await ReflectAsync(), StringComparison.Ordinal);

        // No type needs these imports.
        Assert.Equal("", await ReflectAsync(list, cycle));
        Assert.Equal("", await ReflectAsync(list, missing, refusal));
    }

    [Theory]
    [InlineData("rpc_messages.proto")]
    [InlineData("csharp_rpc_messages.proto")]
    [InlineData("google/protobuf/csharp_rpc_messages.proto")]
    public static async Task A_reflection_may_lack_the_file_of_the_native_headers(string name)
    {
        byte[] list = Answer(
            new() { ListServicesResponse = new() { Service = { new ServiceResponse { Name = "demo.S" } } } });
        byte[] file = Answer(new()
        {
            FileDescriptorResponse = new() { FileDescriptorProto = { File("a.proto", name) } },
        });
        byte[] refusal = Answer(
            new() { ErrorResponse = new() { ErrorCode = 5, ErrorMessage = "no such file" } });
        await using Http2Peer peer = Reply([.. list, .. file, .. refusal]);
        using RpcClient client = RpcClient.Connect(peer.Endpoint);

        RpcSchema schema = client.FetchSchema();

        Assert.Equal("demo.S", Assert.Single(schema.Services).FullName);
        Assert.NotNull(schema.FindMessage("google.protobuf.rpc_messages.RpcVoid"));
    }

    private static ByteString File(string name, string import)
    {
        Google.Protobuf.Reflection.FileDescriptorProto file = new()
        {
            Name = name,
            Package = "demo",
            Dependency = { import },
        };
        if (name == "a.proto")
        {
            file.Service.Add(new Google.Protobuf.Reflection.ServiceDescriptorProto { Name = "S" });
        }

        return file.ToByteString();
    }

    private static byte[] Answer(ServerReflectionResponse response) => Frame(response.ToByteArray());

    private static async Task<string> ReflectAsync(params byte[][] answers)
    {
        await using Http2Peer peer = Reply([answers.SelectMany(a => a).ToArray()]);
        using RpcClient client = RpcClient.Connect(peer.Endpoint);
        try
        {
            return string.Join('\n', client.FetchSchema().Warnings);
        }
        catch (RpcException e)
        {
            return e.Message;
        }
    }

    private static byte[] Frame(byte[] body, byte compressed = 0)
    {
        byte[] frame = [compressed, 0, 0, 0, 0, .. body];
        BinaryPrimitives.WriteInt32BigEndian(frame.AsSpan(1), body.Length);
        return frame;
    }

    // As large as a frame of HTTP/2 may be when nothing else was agreed upon.
    private static byte[][] Chunks(byte[] bytes) => [.. bytes.Chunk(16 * 1024)];

    private static Http2Peer Reply(byte[] data) => Reply([data]);

    private static Http2Peer Reply(byte[][] data, params (string Name, string Value)[] headers) =>
        new(async (p, stream) =>
        {
            await p.SendGoodHeadersAsync(stream, headers);
            foreach (byte[] chunk in data)
            {
                await p.SendDataAsync(stream, chunk);
            }

            await p.SendHeadersAsync(stream, end: true, ("grpc-status", "0"));
        });

    private static IMessage Call(Http2Peer peer)
    {
        using RpcClient client = RpcClient.Connect(peer.Endpoint, Schema);
        return client.Invoke(
            client.GetMethod("Check"), new HealthCheckRequest(), new() { Timeout = Patience });
    }
}
