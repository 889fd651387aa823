using Google.Protobuf;
using Google.Protobuf.WellKnownTypes;
using Grpc.Core;
using Grpc.Core.Interceptors;
using GrpcException = Grpc.Core.RpcException;

namespace ProtoRpc.Peers.Stubs;

/// <summary>What a generated client meets beside its calls: interceptors, other schemas and other
/// messages.</summary>
public static class StubInvokerTests
{
    [Fact]
    public static async Task Interceptors_of_both_kinds_see_the_calls()
    {
        Counter ours = new();
        CountingInterceptor theirs = new();
        await using CaseServer server = await CaseServer.StartAsync(
            "inproc", new RpcClientOptions { Interceptors = [ours] });
        Cases.CasesClient client = new(server.Invoker.Intercept(theirs));

        CaseReply reply = await client.UnaryAsync(new CaseRequest { Text = "context" });
        client.Empty(new Empty());
        using AsyncServerStreamingCall<CaseReply> call = client.ServerStream(
            new CaseRequest { ReplySizes = { 3 } });
        Assert.True(await call.ResponseStream.MoveNext());

        Assert.StartsWith("/cases.Cases/Unary|", reply.Text, StringComparison.Ordinal);
        Assert.Equal(3, call.ResponseStream.Current.Payload.Length);
        Assert.Equal((3, 3), (ours.Count, theirs.Count));
    }

    [Fact]
    public static async Task Messages_that_protoc_did_not_generate_are_rejected()
    {
        await using CaseServer server = await CaseServer.StartAsync("inproc");
        Method<string, string> method = new(
            MethodType.Unary, "cases.Cases", "Unary",
            Marshallers.StringMarshaller, Marshallers.StringMarshaller);

        GrpcException error = Assert.Throws<GrpcException>(
            () => server.Invoker.BlockingUnaryCall(method, null, default, "text"));

        Assert.Equal(StatusCode.Unimplemented, error.StatusCode);
        Assert.Contains("System.String", error.Status.Detail, StringComparison.Ordinal);
    }

    [Fact]
    public static async Task A_schema_that_declares_the_method_differently_is_an_error()
    {
        await using CaseServer server = await CaseServer.StartAsync("inproc");
        await using RpcClient client = RpcClient.Connect(
            server.Endpoint!, RpcSchema.FromDescriptors(CasesReflection.Descriptor));
        Method<CaseRequest, CaseRequest> method = new(
            MethodType.Unary, "cases.Cases", "Unary",
            Marshallers.Create(message => message.ToByteArray(), CaseRequest.Parser.ParseFrom),
            Marshallers.Create(message => message.ToByteArray(), CaseRequest.Parser.ParseFrom));

        GrpcException error = Assert.Throws<GrpcException>(
            () => client.CreateCallInvoker().BlockingUnaryCall(method, null, default, new CaseRequest()));

        Assert.Equal(StatusCode.InvalidArgument, error.StatusCode);
        Assert.Contains("cases.Cases/Unary", error.Status.Detail, StringComparison.Ordinal);
    }

    [Fact]
    public static async Task An_exception_of_credentials_ends_the_call()
    {
        await using CaseServer server = await CaseServer.StartAsync("inproc");
        CallOptions options = new(credentials: CallCredentials.FromInterceptor(
            (_, _) => throw new InvalidOperationException("no token")));
        using AsyncUnaryCall<CaseReply> call = server.Client.UnaryAsync(new CaseRequest(), options);

        await Assert.ThrowsAsync<InvalidOperationException>(async () => await call);

        Assert.Equal(StatusCode.Internal, call.GetStatus().StatusCode);
    }

    [Fact]
    public static async Task One_reply_is_read_at_a_time()
    {
        await using CaseServer server = await CaseServer.StartAsync("inproc");
        using AsyncServerStreamingCall<CaseReply> call = server.Client.ServerStream(
            new CaseRequest { Text = "wait" });
        Task<bool> first = call.ResponseStream.MoveNext();
        await Patience.WaitAsync(server.Service.Waiting.Task);

        await Assert.ThrowsAsync<InvalidOperationException>(() => call.ResponseStream.MoveNext());
        call.Dispose();

        await Assert.ThrowsAsync<GrpcException>(() => first);
    }

    private sealed class Counter : IRpcClientInterceptor
    {
        public int Count { get; private set; }

        public async ValueTask<IMessage> InvokeAsync(
            RpcClientCallContext context, IMessage request, RpcClientHandler next)
        {
            Count++;

            // Another class of the same message.
            IMessage reply = await next(context, request);
            return DynamicMessage.Parse(context.Method.ReplyType, reply.ToByteArray());
        }

        public ValueTask<RpcClientStream> OpenAsync(RpcClientCallContext context, RpcClientStreamHandler next)
        {
            Count++;
            return next(context);
        }
    }

    private sealed class CountingInterceptor : Interceptor
    {
        public int Count { get; private set; }

        public override AsyncUnaryCall<TResponse> AsyncUnaryCall<TRequest, TResponse>(
            TRequest request, ClientInterceptorContext<TRequest, TResponse> context,
            AsyncUnaryCallContinuation<TRequest, TResponse> continuation)
        {
            Count++;
            return continuation(request, context);
        }

        public override TResponse BlockingUnaryCall<TRequest, TResponse>(
            TRequest request, ClientInterceptorContext<TRequest, TResponse> context,
            BlockingUnaryCallContinuation<TRequest, TResponse> continuation)
        {
            Count++;
            return continuation(request, context);
        }

        public override AsyncServerStreamingCall<TResponse> AsyncServerStreamingCall<TRequest, TResponse>(
            TRequest request, ClientInterceptorContext<TRequest, TResponse> context,
            AsyncServerStreamingCallContinuation<TRequest, TResponse> continuation)
        {
            Count++;
            return continuation(request, context);
        }
    }
}
