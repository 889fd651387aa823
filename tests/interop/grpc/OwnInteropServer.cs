using System.Security.Cryptography.X509Certificates;
using System.Threading.Channels;
using Google.Protobuf;

namespace ProtoRpc.Interop;

/// <summary>Our server of the interoperability test service, over dynamic messages of its .proto.</summary>
internal sealed class OwnInteropServer : IInteropServer
{
    private const string EchoInitial = "x-grpc-test-echo-initial";
    private const string EchoTrailing = "x-grpc-test-echo-trailing-bin";

    private readonly Channel<string> _events = Channel.CreateUnbounded<string>();
    private readonly RpcServer _server;

    /// <param name="endpoint">Where it is called by gRPC.</param>
    /// <param name="http">How that endpoint behaves.</param>
    /// <param name="further">Another endpoint, or null.</param>
    /// <param name="certificate">The certificate of an endpoint with TLS.</param>
    public OwnInteropServer(
        string endpoint = "grpc://127.0.0.1:0", HttpServerOptions? http = null, string? further = null,
        X509Certificate2? certificate = null)
    {
        RpcServerOptions options = new()
        {
            Limits = new() { MaxMessageBytes = 16 * 1024 * 1024 },
            Certificate = certificate,
        };
        _server = RpcServer.Create(GrpcServer.Schema, "grpc.testing.TestService", options.WithHttp(http))
            .Handle("EmptyCall", (_, request) => ValueTask.FromResult(request))
            .Handle("UnaryCall", UnaryCall)
            .HandleStreaming("StreamingOutputCall", Told(ReplyAsync))
            .HandleStreaming("StreamingInputCall", Told(SumAsync))
            .HandleStreaming("FullDuplexCall", Told(ReplyAsync))
            .AddEndpoint(endpoint);
        if (further is not null)
        {
            _server.AddEndpoint(further);
        }

        _server.StartListening();
    }

    public RpcServer Server => _server;

    public RpcEndpoint Endpoint => _server.Endpoints[0];

    /// <summary>The further endpoint.</summary>
    public RpcEndpoint FurtherEndpoint => _server.Endpoints[1];

    public RpcClient Connect(RpcClientOptions? options = null) =>
        RpcClient.Connect(
            Endpoint, GrpcServer.Schema, (options ?? new()) with { Service = "grpc.testing.TestService" });

    public async Task WaitForAsync(string what)
    {
        while (await _events.Reader.ReadAsync().AsTask().WaitAsync(TimeSpan.FromSeconds(60)) != what)
        {
        }
    }

    /// <summary>Forgets what calls did until now,
    /// so that the next to wait does not take it for its own.</summary>
    public void ForgetEvents()
    {
        while (_events.Reader.TryRead(out _))
        {
        }
    }

    public void Dispose() => _server.Dispose();

    private RpcStreamHandler Told(RpcStreamHandler handle) => async (context, stream) =>
    {
        _events.Writer.TryWrite($"began {context.Method.Name}");
        try
        {
            await handle(context, stream);
        }
        finally
        {
            _events.Writer.TryWrite($"ended {context.Method.Name}");
        }
    };

    private static ValueTask<IMessage> UnaryCall(RpcServerCallContext context, IMessage request)
    {
        DynamicMessage asked = (DynamicMessage)request;
        Echo(context);
        CheckCompression(context, asked);
        context.ReplyCompression = IsSet(asked, "response_compressed")
            ? RpcCompression.Gzip
            : RpcCompression.None;
        FailIfAsked(asked);
        return ValueTask.FromResult<IMessage>(Payload("SimpleResponse", (int)Value(asked, "response_size")!));
    }

    private static async ValueTask ReplyAsync(RpcServerCallContext context, RpcServerStream stream)
    {
        Echo(context);
        context.ReplyCompression = RpcCompression.Gzip;
        while (await stream.ReadAsync() is DynamicMessage request)
        {
            FailIfAsked(request);
            IEnumerable<object?> replies = (IEnumerable<object?>)Value(request, "response_parameters")!;
            foreach (DynamicMessage parameters in replies.Cast<DynamicMessage>())
            {
                TimeSpan interval = TimeSpan.FromMicroseconds((int)Value(parameters, "interval_us")!);
                await Task.Delay(interval, context.CancellationToken);
                await stream.WriteAsync(
                    Payload("StreamingOutputCallResponse", (int)Value(parameters, "size")!),
                    IsSet(parameters, "compressed"));
            }
        }
    }

    private static async ValueTask SumAsync(RpcServerCallContext context, RpcServerStream stream)
    {
        int sum = 0;
        while (await stream.ReadAsync() is DynamicMessage request)
        {
            CheckCompression(context, request);
            sum += Value(request, "payload") is DynamicMessage payload
                ? ((byte[])Value(payload, "body")!).Length
                : 0;
        }

        await stream.WriteAsync(
            Message("StreamingInputCallResponse", new() { ["aggregated_payload_size"] = sum }));
    }

    private static void Echo(RpcServerCallContext context)
    {
        if (context.RequestHeaders.GetText(EchoInitial) is { } initial)
        {
            context.ReplyHeaders.Add(EchoInitial, initial);
        }

        if (context.RequestHeaders.GetBytes(EchoTrailing) is { } trailing)
        {
            context.ReplyTrailers.Add(EchoTrailing, trailing);
        }
    }

    // The probe of the client_compressed cases: what was to come compressed and did not, or the reverse,
    // is refused.
    private static void CheckCompression(RpcServerCallContext context, DynamicMessage request)
    {
        if (Value(request, "expect_compressed") is DynamicMessage expected
            && (bool)Value(expected, "value")! != context.IsRequestCompressed)
        {
            throw new RpcException(RpcStatusCode.InvalidArgument, "The request did not come as it says.");
        }
    }

    private static void FailIfAsked(DynamicMessage request)
    {
        if (Value(request, "response_status") is DynamicMessage status && (int)Value(status, "code")! != 0)
        {
            throw new RpcException(
                (RpcStatusCode)(int)Value(status, "code")!, (string)Value(status, "message")!)
            {
                Details = (string)Value(status, "message")! == "with details"
                    ? [Payload("SimpleResponse", 7)]
                    : [],
            };
        }
    }

    private static bool IsSet(DynamicMessage message, string field) =>
        Value(message, field) is DynamicMessage wrapped && (bool)Value(wrapped, "value")!;

    private static object? Value(DynamicMessage message, string field) =>
        message.Get(message.Type.FindField(field)!);

    private static DynamicMessage Payload(string type, int size) =>
        Message(type, new() { ["payload"] = new Dictionary<string, object> { ["body"] = new byte[size] } });

    private static DynamicMessage Message(string type, Dictionary<string, object> value) =>
        new MessageMapper().ToMessage(GrpcServer.Schema.GetMessage($"grpc.testing.{type}"), value);
}
