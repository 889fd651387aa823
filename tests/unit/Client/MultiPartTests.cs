using Google.Protobuf;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Server.Native;
using ProtoRpc.Transports.Files;
using Status = ProtoRpc.Protocols.Headers.RpcMultiPartRequest.Types.RpcMessageStatus;

namespace ProtoRpc.Tests.Client;

public static class MultiPartTests
{
    private static readonly ByteString Id = ByteString.CopyFrom(new byte[16]);

    [Theory]
    [InlineData(2048, 2_000)]
    [InlineData(2048, 100_000)]
    [InlineData(4096, 3_072 * 5)]
    [InlineData(1_000_000, 9_000_000)]
    public static void A_request_over_the_threshold_arrives_whole(int threshold, int size)
    {
        using RpcServer server = EchoServer.Create(
            new RpcServerOptions { Limits = new RpcLimits { MaxMessageBytes = 10_000_000 } })
            .AddEndpoint(EchoServer.NewEndpoint(RpcTransport.Tcp))
            .StartListening();
        using RpcClient client = EchoServer.Connect(server, new RpcClientOptions
        {
            Limits = new RpcLimits { MaxMessageBytes = 10_000_000, MultiPartThreshold = threshold },
        });
        byte[] payload = new byte[size];
        new Random(size).NextBytes(payload);

        EchoReply reply = client.Invoke<EchoReply>(
            "Say", new EchoRequest { Text = "big", Payload = ByteString.CopyFrom(payload) });

        Assert.Equal(payload, reply.Payload.ToByteArray());
        Assert.True(server.Counters.Calls > size / threshold);
    }

    [Fact]
    public static async Task A_request_goes_in_parts_without_holding_a_thread_too()
    {
        await using RpcServer server = EchoServer.Start(RpcTransport.Local);
        using RpcClient client = EchoServer.Connect(
            server, new RpcClientOptions { Limits = new() { MultiPartThreshold = 2048 } });
        RpcMethodInfo method = client.GetMethod("Say");

        DynamicMessage reply = await client.InvokeAsync(
            method, new EchoRequest { Text = new string('x', 10_000) });

        Assert.Equal(new string('x', 10_000), reply.Get(method.ReplyType.FindField("text")!));
    }

    [Fact]
    public static void A_stream_goes_up_with_progress_and_is_read_as_a_stream()
    {
        long seen = 0;
        using RpcServer server = RpcServer.Create(EchoServer.Schema, "Other")
            .HandleBody("Say", (_, body) =>
            {
                seen = body.Length;
                return ValueTask.FromResult<IMessage>(new EchoReply { Text = body.GetType().Name });
            })
            .AddEndpoint(EchoServer.NewEndpoint(RpcTransport.Local))
            .StartListening();
        using RpcClient client = RpcClient.Connect(
            server.Endpoints[0], EchoServer.Schema,
            new() { Service = "Other", Limits = new() { MultiPartThreshold = 100_000 } });
        RpcMethodInfo method = client.GetMethod("Say");
        List<RpcProgress> progress = [];

        DynamicMessage reply = client.Upload(
            method, new MemoryStream(new byte[2_500_000]),
            new() { Progress = new ImmediateProgress(progress.Add) });

        Assert.Equal(2_500_000, seen);
        Assert.Equal(nameof(SpillStream), reply.Get(method.ReplyType.FindField("text")!));
        Assert.Equal(new RpcProgress(2_500_000, 2_500_000), progress[^1]);
        Assert.Equal(progress.OrderBy(p => p.SentBytes), progress);
    }

    [Fact]
    public static void A_stream_handler_reads_a_request_that_came_whole_too()
    {
        byte[] seen = [];
        using RpcServer server = RpcServer.Create(EchoServer.Schema, "Other")
            .HandleBody("Say", (_, body) =>
            {
                seen = new byte[body.Length];
                body.ReadExactly(seen);
                return ValueTask.FromResult<IMessage>(new EchoReply { Text = "x" });
            })
            .AddEndpoint(EchoServer.NewEndpoint(RpcTransport.Local))
            .StartListening();
        using RpcClient client = RpcClient.Connect(
            server.Endpoints[0], EchoServer.Schema, new() { Service = "Other" });

        client.Invoke<EchoReply>("Say", new EchoRequest { Text = "A" });

        Assert.Equal("0A0141", Convert.ToHexString(seen));
    }

    [Fact]
    public static void A_server_that_takes_no_parts_says_so()
    {
        using RpcServer server = EchoServer.Start(
            RpcTransport.Local, new RpcServerOptions { EnableMultiPart = false });
        using RpcClient client = EchoServer.Connect(
            server, new RpcClientOptions { Limits = new() { MultiPartThreshold = 2048 } });

        RpcException error = Assert.Throws<RpcException>(
            () => client.Invoke<EchoReply>("Say", new EchoRequest { Text = new string('x', 10_000) }));

        Assert.Equal(RpcStatusCode.Unimplemented, error.Code);
    }

    [Fact]
    public static void A_failed_handler_fails_the_call_as_ever()
    {
        using RpcServer server = EchoServer.Start(RpcTransport.Local);
        using RpcClient client = EchoServer.Connect(
            server, new RpcClientOptions { Limits = new() { MultiPartThreshold = 2048 } });

        RpcException error = Assert.Throws<RpcException>(
            () => client.Invoke<EchoReply>("Fail", new EchoRequest { Text = new string('x', 10_000) }));

        Assert.Equal("System.InvalidOperationException", error.Remote?.TypeName);
        Assert.Equal("calls.Echo/Fail", error.MethodName);
    }

    [Theory]
    [InlineData(2047)]
    [InlineData(1)]
    [InlineData(-1)]
    public static void A_threshold_below_the_originals_is_refused(int threshold)
    {
        RpcException error = Assert.Throws<RpcException>(
            () => RpcClient.Connect(
                "ncalrpc:[x]", null,
                new RpcClientOptions { Limits = new() { MultiPartThreshold = threshold } }));

        Assert.Equal("InvalidLimit", error.ErrorId);
        Assert.Contains("RpcLimits.MultiPartThreshold is", error.Message, StringComparison.Ordinal);
        Assert.Contains("2,048, or 0", error.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(4, 100, 10, 10, "begins at byte 4")]
    [InlineData(10, 99, 10, 10, "total")]
    [InlineData(10, 100, 11, 10, "declares 11")]
    [InlineData(10, 100, 91, 91, "90 bytes left")]
    public static void A_part_that_does_not_follow_ends_the_transfer(
        int position, int total, int sent, int length, string why)
    {
        using TransferTable table = TableOf(RpcLimits.Default);
        table.Accept("a", Part(0, 100, 10, 10));

        RpcException error = Assert.Throws<RpcException>(
            () => table.Accept("a", Part(position, total, sent, length)));

        Assert.Contains(why, error.Message);
        Assert.Equal("BadPart", error.ErrorId);
        Assert.Equal(0, table.Count);
    }

    [Fact]
    public static void A_last_part_that_comes_too_early_ends_the_transfer()
    {
        using TransferTable table = TableOf(RpcLimits.Default);

        RpcException error = Assert.Throws<RpcException>(
            () => table.Accept("a", Part(0, 100, 10, 10, Status.Complete)));

        Assert.Contains("90 bytes are missing", error.Message);
        Assert.Equal(0, table.Count);
    }

    [Fact]
    public static void A_transfer_of_another_caller_is_not_found()
    {
        using TransferTable table = TableOf(RpcLimits.Default);
        table.Accept("a", Part(0, 100, 10, 10));

        Assert.Equal(
            "BadPart", Assert.Throws<RpcException>(() => table.Accept("b", Part(10, 100, 10, 10))).ErrorId);
        Assert.Equal(1, table.Count);
    }

    [Fact]
    public static void Transfers_that_are_begun_and_left_are_bounded_and_expire()
    {
        RpcLimits limits = new() { TransferIdleTimeout = TimeSpan.FromMilliseconds(20) };
        using TransferTable table = TableOf(limits);
        int refused = 0;
        for (int i = 0; i < 1000; i++)
        {
            try
            {
                table.Accept($"caller {i % 20}", Part(0, 1_000_000, 10, 10, id: i));
            }
            catch (RpcException e) when (e.Code == RpcStatusCode.ResourceExhausted)
            {
                refused++;
            }
        }

        Assert.Equal(limits.MaxTransfers, table.Count);
        Assert.Equal(1000 - limits.MaxTransfers, refused);
        Assert.True(SpinWait.SpinUntil(
            () =>
            {
                table.Sweep();
                return table.Count == 0;
            },
            TimeSpan.FromSeconds(20)));
    }

    [Fact]
    public static void Callers_that_hold_every_place_leave_one_to_another()
    {
        RpcLimits limits = new();
        using TransferTable table = TableOf(limits);
        for (int i = 0; i < limits.MaxTransfers; i++)
        {
            table.Accept($"holder {i % 8}", Part(0, 1000, 10, 10, id: i));
        }

        table.Accept("another", Part(0, 1000, 10, 10, id: 1000));
        table.Accept("another", Part(10, 1000, 10, 10, id: 1000));

        Assert.Equal(limits.MaxTransfers, table.Count);
    }

    [Fact]
    public static void Addresses_of_one_holder_have_one_share()
    {
        using TransferTable table = TableOf(new RpcLimits { MaxTransfersPerCaller = 2 });
        table.Accept("a", Part(0, 1000, 10, 10), "network");
        table.Accept("b", Part(0, 1000, 10, 10), "network");

        RpcException error = Assert.Throws<RpcException>(
            () => table.Accept("c", Part(0, 1000, 10, 10), "network"));

        Assert.Equal((RpcStatusCode.ResourceExhausted, "TooManyParts"), (error.Code, error.ErrorId));
        Assert.Equal(2, table.Count);
    }

    [Fact]
    public static void What_all_callers_announce_is_bounded()
    {
        using TransferTable table = TableOf(new RpcLimits { MaxTransferBytesOfAll = 2500 });
        table.Accept("a", Part(0, 1000, 10, 10));
        table.Accept("b", Part(0, 1000, 10, 10));

        RpcException error = Assert.Throws<RpcException>(() => table.Accept("c", Part(0, 1000, 10, 10)));

        Assert.Equal(RpcStatusCode.ResourceExhausted, error.Code);
        table.Accept("c", Part(0, 500, 10, 10));
    }

    [Fact]
    public static void Parts_without_bytes_do_not_keep_a_transfer_alive()
    {
        using TransferTable table = TableOf(
            new RpcLimits { TransferIdleTimeout = TimeSpan.FromMilliseconds(20) });
        table.Accept("a", Part(0, 100, 10, 10));

        bool expired = SpinWait.SpinUntil(
            () =>
            {
                try
                {
                    table.Accept("a", Part(10, 100, 0, 0));
                }
                catch (RpcException e) when (e.ErrorId == "BadPart")
                {
                    // It is gone.
                }

                table.Sweep();
                return table.Count == 0;
            },
            TimeSpan.FromSeconds(20));

        Assert.True(expired);
    }

    [Theory]
    [InlineData(1, true)]
    [InlineData(30_000, false)]
    public static void A_transfer_that_hardly_moves_is_abandoned(int bytesPerPart, bool abandoned)
    {
        long now = 0;
        using Transfer transfer = new("a", "m", int.MaxValue, 1_000_000, new(0), () => now);
        for (int i = 0; i < 10; i++)
        {
            now += 50_000;
            transfer.Append(new RpcMultiPartRequest
            {
                MethodName = "m",
                TotalBytes = int.MaxValue,
                CurrentPosition = i * bytesPerPart,
                BytesSent = bytesPerPart,
                PayloadBytes = ByteString.CopyFrom(new byte[bytesPerPart]),
            });
        }

        Assert.Equal(abandoned, transfer.IsAbandoned(TimeSpan.FromMinutes(1)));
    }

    [Theory]
    [InlineData(-1, RpcStatusCode.InvalidArgument)]
    [InlineData(1001, RpcStatusCode.ResourceExhausted)]
    public static void A_total_over_the_callers_share_is_refused_at_the_first_part(
        int total, RpcStatusCode expected)
    {
        using TransferTable table = TableOf(new RpcLimits { MaxTransferBytes = 1000 });

        Assert.Equal(
            expected, Assert.Throws<RpcException>(() => table.Accept("a", Part(0, total, 10, 10))).Code);
    }

    [Fact]
    public static void A_transfer_that_is_cancelled_is_forgotten()
    {
        using TransferTable table = TableOf(RpcLimits.Default);
        table.Accept("a", Part(0, 100, 10, 10));

        table.Drop("a", Id);

        Assert.Equal(0, table.Count);
    }

    [Fact]
    public static void A_long_body_moves_to_a_file_that_goes_with_it()
    {
        SpillStream body = new(memoryBytes: 100);
        byte[] bytes = new byte[1000];
        new Random(3).NextBytes(bytes);

        body.Write(bytes.AsSpan(0, 60));
        bool early = body.IsOnDisk;
        body.Write(bytes.AsSpan(60));
        body.Position = 0;
        byte[] back = new byte[1000];
        body.ReadExactly(back);

        Assert.False(early);
        Assert.True(body.IsOnDisk);
        if (!OperatingSystem.IsWindows())
        {
            Assert.DoesNotContain(FilesOf(Environment.ProcessId), IsNamedPart);
        }

        Assert.Equal(bytes, back);
        body.Dispose();
    }

    // Linux marks open files without a name.
    private static IEnumerable<string> FilesOf(int process) =>
        Directory.Exists($"/proc/{process}/fd")
            ? Directory.GetFiles($"/proc/{process}/fd")
                .Select(TargetOf)
            : [];

    private static string TargetOf(string link)
    {
        try
        {
            return File.ResolveLinkTarget(link, returnFinalTarget: false)?.FullName ?? "";
        }
        catch (IOException)
        {
            // Another test has closed the file meanwhile.
            return "";
        }
    }

    private static bool IsNamedPart(string target) =>
        target.Contains("protorpc-", StringComparison.Ordinal)
            && target.EndsWith(".part", StringComparison.Ordinal);

    private static RpcMultiPartRequest Part(
        int position, int total, int sent, int length, Status status = Status.Continue, int id = 0)
    {
        byte[] transaction = new byte[16];
        BitConverter.TryWriteBytes(transaction, id);
        return new RpcMultiPartRequest
        {
            MessageStatus = status,
            TransactionId = ByteString.CopyFrom(transaction),
            MethodName = "Say",
            TotalBytes = total,
            CurrentPosition = position,
            BytesSent = sent,
            PayloadBytes = ByteString.CopyFrom(new byte[length]),
        };
    }

    private sealed class ImmediateProgress(Action<RpcProgress> report) : IProgress<RpcProgress>
    {
        public void Report(RpcProgress value) => report(value);
    }

    private static TransferTable TableOf(RpcLimits limits) => new(limits, new(limits.MaxMemoryBytes));
}
