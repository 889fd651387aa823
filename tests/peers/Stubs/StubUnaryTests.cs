using System.Security.Cryptography;
using Google.Protobuf;
using Google.Protobuf.WellKnownTypes;
using Google.Rpc;
using Grpc.Core;
using GrpcException = Grpc.Core.RpcException;

namespace ProtoRpc.Peers.Stubs;

/// <summary>The unary cases of gRPC's interoperability tests, by generated clients and services.</summary>
public static class StubUnaryTests
{
    private const int LargeRequest = 271_828;
    private const int LargeReply = 314_159;

    public static TheoryData<string> Kinds => [.. CaseServer.All];

    public static TheoryData<string> OurClients =>
        [.. CaseServer.All.Where(kind => kind != CaseServer.FromGrpcNetClient)];

    [Theory]
    [MemberData(nameof(Kinds))]
    public static async Task Empty_unary(string kind)
    {
        await using CaseServer server = await CaseServer.StartAsync(kind);
        using AsyncUnaryCall<Empty> call = server.Client.EmptyAsync(new Empty());

        Assert.Equal(new Empty(), await call);
        Assert.Equal(StatusCode.OK, call.GetStatus().StatusCode);
        Assert.Empty(call.GetTrailers());
        Assert.Equal(new Empty(), server.Client.Empty(new Empty()));
    }

    [Theory]
    [MemberData(nameof(Kinds))]
    public static async Task Large_unary(string kind)
    {
        await using CaseServer server = await CaseServer.StartAsync(kind);
        byte[] payload = RandomNumberGenerator.GetBytes(LargeRequest);
        CaseRequest request = new() { Payload = ByteString.CopyFrom(payload), ReplySizes = { LargeReply } };

        CaseReply reply = await server.Client.UnaryAsync(request);
        CaseReply blocking = server.Client.Unary(request);

        Assert.Equal(LargeReply, reply.Payload.Length);
        Assert.Equal(Convert.ToHexString(SHA256.HashData(payload)), reply.Text);
        Assert.Equal(reply, blocking);
    }

    [Theory]
    [MemberData(nameof(Kinds))]
    public static async Task Custom_metadata(string kind)
    {
        await using CaseServer server = await CaseServer.StartAsync(kind);
        Metadata headers = new()
        {
            { CaseService.Initial, "test_initial_metadata_value" },
            { CaseService.Trailing, [0xab, 0xab, 0xab, 0] },
        };
        using AsyncUnaryCall<CaseReply> call = server.Client.UnaryAsync(new CaseRequest(), headers);

        Metadata received = await call.ResponseHeadersAsync;
        await call;

        Assert.Equal("test_initial_metadata_value", received.GetValue(CaseService.Initial));
        Assert.Equal([0xab, 0xab, 0xab, 0], call.GetTrailers().GetValueBytes(CaseService.Trailing));
    }

    [Theory]
    [MemberData(nameof(Kinds))]
    public static async Task Status_code_and_message(string kind)
    {
        await using CaseServer server = await CaseServer.StartAsync(kind);
        CaseRequest request = new() { Status = (int)StatusCode.Unknown, Text = "test status message" };
        using AsyncUnaryCall<CaseReply> call = server.Client.UnaryAsync(
            request, new Metadata { { CaseService.Trailing, [1] } });

        GrpcException error = await Assert.ThrowsAsync<GrpcException>(async () => await call);
        GrpcException blocking = Assert.Throws<GrpcException>(() => server.Client.Unary(request));

        Assert.Equal((StatusCode.Unknown, "test status message"), (error.StatusCode, error.Status.Detail));
        Assert.Equal(error.Status.Detail, blocking.Status.Detail);
        Assert.Equal(StatusCode.Unknown, blocking.StatusCode);
        Assert.Equal(error.Status, call.GetStatus());
        Assert.Equal("yes", error.Trailers.GetValue("x-failed"));
        Assert.Equal([1], error.Trailers.GetValueBytes(CaseService.Trailing));
        Assert.Equal("yes", call.GetTrailers().GetValue("x-failed"));
        Assert.Equal("yes", blocking.Trailers.GetValue("x-failed"));
        Assert.Equal(kind != CaseServer.FromGrpcNetClient, error.InnerException is RpcException);
    }

    [Theory]
    [MemberData(nameof(Kinds))]
    public static async Task Special_status_message(string kind)
    {
        const string Text = "\t\ntest with whitespace\r\nand Unicode BMP ☺ and non-BMP 😈\t\n";
        await using CaseServer server = await CaseServer.StartAsync(kind);

        GrpcException error = await Assert.ThrowsAsync<GrpcException>(async () =>
            await server.Client.UnaryAsync(new CaseRequest { Status = 2, Text = Text }));

        Assert.Equal((StatusCode.Unknown, Text), (error.StatusCode, error.Status.Detail));
    }

    [Theory]
    [MemberData(nameof(Kinds))]
    public static async Task A_status_that_is_set_on_the_context_fails_the_call(string kind)
    {
        await using CaseServer server = await CaseServer.StartAsync(kind);

        GrpcException error = await Assert.ThrowsAsync<GrpcException>(async () =>
            await server.Client.UnaryAsync(new CaseRequest { Status = 9, Text = "status" }));

        Assert.Equal(
            (StatusCode.FailedPrecondition, "set on the context"), (error.StatusCode, error.Status.Detail));
    }

    [Theory]
    [MemberData(nameof(Kinds))]
    public static async Task Unimplemented_method(string kind)
    {
        await using CaseServer server = await CaseServer.StartAsync(kind);

        GrpcException error = await Assert.ThrowsAsync<GrpcException>(async () =>
            await server.Client.MissingAsync(new Empty()));

        Assert.Equal(StatusCode.Unimplemented, error.StatusCode);
    }

    [Theory]
    [MemberData(nameof(Kinds))]
    public static async Task Unimplemented_service(string kind)
    {
        await using CaseServer server = await CaseServer.StartAsync(kind);
        Nowhere.NowhereClient client = new(server.Invoker);

        GrpcException error = await Assert.ThrowsAsync<GrpcException>(async () =>
            await client.EmptyAsync(new Empty()));

        Assert.Equal(StatusCode.Unimplemented, error.StatusCode);
    }

    [Theory]
    [MemberData(nameof(Kinds))]
    public static async Task A_deadline_ends_a_call_that_waits(string kind)
    {
        await using CaseServer server = await CaseServer.StartAsync(kind);
        using AsyncUnaryCall<CaseReply> call = server.Client.UnaryAsync(
            new CaseRequest { Text = "wait" }, deadline: DateTime.UtcNow.AddMilliseconds(500));

        GrpcException error = await Assert.ThrowsAsync<GrpcException>(async () => await call);
        GrpcException passed = await Assert.ThrowsAsync<GrpcException>(async () =>
            await server.Client.UnaryAsync(new CaseRequest(), deadline: DateTime.UtcNow.AddMinutes(-1)));

        Assert.Equal(StatusCode.DeadlineExceeded, error.StatusCode);
        Assert.Equal(StatusCode.DeadlineExceeded, call.GetStatus().StatusCode);
        Assert.Equal(StatusCode.DeadlineExceeded, passed.StatusCode);
        await Patience.WaitAsync(server.Service.Cancelled.Task);
    }

    [Theory]
    [MemberData(nameof(Kinds))]
    public static async Task A_token_cancels_a_call_on_both_sides(string kind)
    {
        await using CaseServer server = await CaseServer.StartAsync(kind);
        using CancellationTokenSource cancel = new();
        using AsyncUnaryCall<CaseReply> call = server.Client.UnaryAsync(
            new CaseRequest { Text = "wait" }, cancellationToken: cancel.Token);
        await Patience.WaitAsync(server.Service.Waiting.Task);

        await cancel.CancelAsync();
        GrpcException error = await Assert.ThrowsAsync<GrpcException>(async () => await call);
        GrpcException before = await Assert.ThrowsAsync<GrpcException>(async () =>
            await server.Client.UnaryAsync(new CaseRequest(), cancellationToken: cancel.Token));

        Assert.Equal(StatusCode.Cancelled, error.StatusCode);
        Assert.Equal(StatusCode.Cancelled, before.StatusCode);
        await Patience.WaitAsync(server.Service.Cancelled.Task);
    }

    [Theory]
    [MemberData(nameof(Kinds))]
    public static async Task Disposing_a_call_cancels_it(string kind)
    {
        await using CaseServer server = await CaseServer.StartAsync(kind);
        AsyncUnaryCall<CaseReply> call = server.Client.UnaryAsync(new CaseRequest { Text = "wait" });
        await Patience.WaitAsync(server.Service.Waiting.Task);

        Assert.Throws<InvalidOperationException>(() => call.GetStatus());
        call.Dispose();

        GrpcException error = await Assert.ThrowsAsync<GrpcException>(async () => await call);
        Assert.Equal(StatusCode.Cancelled, error.StatusCode);
        await Patience.WaitAsync(server.Service.Cancelled.Task);
    }

    [Theory]
    [MemberData(nameof(Kinds))]
    public static async Task Details_of_a_status_are_typed(string kind)
    {
        await using CaseServer server = await CaseServer.StartAsync(kind);

        GrpcException error = await Assert.ThrowsAsync<GrpcException>(async () =>
            await server.Client.UnaryAsync(new CaseRequest { Text = "details" }));
        Google.Rpc.Status status = error.GetRpcStatus()!;

        Assert.Equal((int)Code.InvalidArgument, status.Code);
        Assert.Equal("wrong fields", status.Message);
        Assert.Equal("text", status.GetDetail<BadRequest>()!.FieldViolations.Single().Field);
        Assert.Equal("of the service", status.Details[1].Unpack<CaseReply>().Text);
        if (error.InnerException is RpcException inner)
        {
            Assert.Equal("text", inner.GetDetail<BadRequest>()!.FieldViolations.Single().Field);
            Assert.Equal("of the service", inner.GetDetail<CaseReply>()!.Text);
            Assert.Null(inner.GetDetail<RetryInfo>());
        }
    }

    [Theory]
    [MemberData(nameof(Kinds))]
    public static async Task A_service_knows_the_context_of_its_call(string kind)
    {
        await using CaseServer server = await CaseServer.StartAsync(kind);

        CaseReply reply = await server.Client.UnaryAsync(
            new CaseRequest { Text = "context" }, deadline: DateTime.UtcNow.AddMinutes(1));

        bool isKnown = kind is "pipe" or "local";
        Assert.Equal(
            $"/cases.Cases/Unary|deadline|anonymous|named|{isKnown}",
            kind == "inproc" ? reply.Text.Replace("|True", "|False", StringComparison.Ordinal) : reply.Text);
    }

    [Theory]
    [MemberData(nameof(Kinds))]
    public static async Task Messages_have_required_fields_and_files_of_their_own(string kind)
    {
        await using CaseServer server = await CaseServer.StartAsync(kind);
        Strict.StrictClient client = new(server.Invoker);

        Assert.Equal("hi!", (await client.NeedAsync(new Needs { Text = "hi" })).Text);
    }

    [Theory]
    [MemberData(nameof(OurClients))]
    public static async Task Call_credentials_are_sent_where_only_the_endpoint_reads_them(string kind)
    {
        await using CaseServer server = await CaseServer.StartAsync(kind);
        CallCredentials credentials = CallCredentials.Compose(
            CallCredentials.FromInterceptor((context, metadata) =>
            {
                metadata.Add("authorization", $"Bearer {context.MethodName}");
                return Task.CompletedTask;
            }),
            CallCredentials.FromInterceptor((context, metadata) =>
            {
                metadata.Add("x-url", context.ServiceUrl);
                return Task.CompletedTask;
            }));

        CaseReply reply = await server.Client.UnaryAsync(
            new CaseRequest { Text = "context" }, new CallOptions(credentials: credentials));

        Assert.Contains("|Bearer Unary|", reply.Text, StringComparison.Ordinal);
    }

    [Fact]
    public static async Task Call_credentials_are_not_sent_over_a_network_without_TLS()
    {
        await using RpcClient client = await RpcClient.ConnectAsync(
            "grpc://192.0.2.1:1", new RpcClientOptions { Lazy = true });
        Cases.CasesClient stub = new(client.CreateCallInvoker());
        CallCredentials credentials = CallCredentials.FromInterceptor(
            (_, _) => throw new InvalidOperationException());

        GrpcException error = await Assert.ThrowsAsync<GrpcException>(async () =>
            await stub.UnaryAsync(new CaseRequest(), new CallOptions(credentials: credentials)));

        Assert.Equal(StatusCode.InvalidArgument, error.StatusCode);
        Assert.Contains("grpc://192.0.2.1:1", error.Status.Detail, StringComparison.Ordinal);
    }

    [Fact]
    public static async Task WithHost_is_not_supported()
    {
        await using CaseServer server = await CaseServer.StartAsync("inproc");

        Assert.Throws<NotSupportedException>(() => server.Client.WithHost("elsewhere").Empty(new Empty()));
    }

    [Fact]
    public static void A_class_that_is_not_generated_is_no_service()
    {
        RpcException error = Assert.Throws<RpcException>(() =>
            RpcServer.Create(new RpcServerOptions()).AddGrpcService("no service"));

        Assert.Equal(RpcStatusCode.InvalidArgument, error.Code);
        Assert.Contains("System.String", error.Message, StringComparison.Ordinal);
    }
}
