using Google.Protobuf;
using ProtoRpc.Tests.Messages;

namespace ProtoRpc.Http.Tests;

/// <summary>Each side encodes what it sends once, and checks the required fields of what it sends and of what
/// it receives once.</summary>
public static class EncodeOnceTests
{
    private const string Http = "http://127.0.0.1:0/";
    private const string Grpc = "grpc://127.0.0.1:0";

    [Theory]
    [InlineData("local", "Binary", 1)]
    [InlineData("ncacn_ip_tcp:127.0.0.1[0]", "Binary", 1)]
    [InlineData(Grpc, "Binary", 1)]
    [InlineData(Http, "Binary", 1)]
    [InlineData(Http, "Json", 0)]
    [InlineData(Http, "Xml", 0)]
    public static void Of_a_call_with_one_message_each_way(string endpoint, string format, int encodes)
    {
        using Sides sides = new(endpoint, format);

        sides.Client.Invoke(sides.Method("Say"), sides.Text());

        Assert.Equal((encodes, 2), sides.OfClient);
        Assert.Equal((encodes, 2), sides.OfServer);
    }

    [Theory]
    [InlineData("local", "Binary", 1)]
    [InlineData(Grpc, "Binary", 1)]
    [InlineData(Http, "Binary", 1)]
    [InlineData(Http, "Json", 0)]
    public static async Task Of_a_call_without_a_thread(string endpoint, string format, int encodes)
    {
        using Sides sides = new(endpoint, format);

        await sides.Client.InvokeAsync(sides.Method("Say"), sides.Text());

        Assert.Equal((encodes, 2), sides.OfClient);
        Assert.Equal((encodes, 2), sides.OfServer);
    }

    [Theory]
    [InlineData("local")]
    [InlineData(Grpc)]
    [InlineData(Http)]
    public static void Of_a_call_that_a_handler_of_streams_answers(string endpoint)
    {
        using Sides sides = new(endpoint, "Binary", byStreams: true);

        sides.Client.Invoke(sides.Method("Say"), sides.Text());

        Assert.Equal((1, 2), sides.OfClient);
        Assert.Equal((1, 2), sides.OfServer);
    }

    [Theory]
    [InlineData(Grpc, "Binary", "Chat", 3, 3, 3)]
    [InlineData(Grpc, "Binary", "Join", 3, 3, 1)]
    [InlineData(Grpc, "Binary", "Split", 1, 1, 3)]
    [InlineData(Http, "Binary", "Split", 1, 1, 3)]
    public static async Task Of_a_call_that_streams(
        string endpoint, string format, string method, int requests, int encodes, int replies)
    {
        using Sides sides = new(endpoint, format);
        List<DynamicMessage> received = [];

        await foreach (DynamicMessage reply in sides.Client.InvokeDuplexStreamAsync(
            sides.Method(method), sides.Texts(requests)))
        {
            received.Add(reply);
        }

        Assert.Equal(replies, received.Count);
        Assert.Equal((encodes, requests + replies), sides.OfClient);
        Assert.Equal((replies, requests + replies), sides.OfServer);
    }

    [Fact]
    public static async Task Of_lines_of_json()
    {
        using Sides sides = new(Http, "Json");

        await foreach (DynamicMessage _ in sides.Client.InvokeDuplexStreamAsync(
            sides.Method("Split"), sides.Texts(1)))
        {
        }

        Assert.Equal((0, 4), sides.OfClient);
        Assert.Equal((0, 4), sides.OfServer);
    }

    private sealed class Sides : IDisposable
    {
        private readonly RpcSchema _schema = Load();
        private readonly RpcServer _server;
        private readonly PassCount _ofClient;
        private readonly PassCount _ofServer;

        public Sides(string endpoint, string format, bool byStreams = false)
        {
            RpcSchema schema = Load();
            _server = RpcServer.Create(schema, "streams.Words", new RpcServerOptions().WithHttp());
            _server = byStreams
                ? _server.HandleStreaming("Say", async (_, stream) =>
                    await stream.WriteAsync((await stream.ReadAsync())!))
                : _server.Handle("Say", (_, request) => ValueTask.FromResult(request));
            _server = _server
                .HandleStreaming("Split", (_, stream) => AnswerAsync(stream, 3))
                .HandleStreaming("Join", (_, stream) => AnswerAsync(stream, 1))
                .HandleStreaming("Chat", (_, stream) => AnswerAsync(stream, 3))
                .AddEndpoint(endpoint == "local" ? $"ncalrpc:[t{Guid.NewGuid():N}]" : endpoint)
                .StartListening();
            Client = RpcClient.Connect(
                _server.Endpoints[0], _schema,
                new RpcClientOptions { Service = "streams.Words", Format = FormatOf(format) });
            _ofClient = new PassCount(_schema.GetMessage("streams.Text"));
            _ofServer = new PassCount(schema.GetMessage("streams.Text"));
        }

        public RpcClient Client { get; }

        public (int Encodes, int Checks) OfClient => _ofClient.Now;

        public (int Encodes, int Checks) OfServer => _ofServer.Now;

        public RpcMethodInfo Method(string name) => Client.GetMethod(name);

        public DynamicMessage Text()
        {
            DynamicMessage message = new(_schema.GetMessage("streams.Text"));
            message.Set(message.Type.FindField("text")!, new string('x', 3000));
            return message;
        }

        public async IAsyncEnumerable<IMessage> Texts(int count)
        {
            for (int i = 0; i < count; i++)
            {
                await Task.Yield();
                yield return Text();
            }
        }

        public void Dispose()
        {
            Client.Dispose();
            _server.Dispose();
        }

        private static MessageFormat FormatOf(string name) =>
            MessageFormats.TryFind(name, out MessageFormat? format)
                ? format
                : throw new ArgumentException(name);

        private static RpcSchema Load() =>
            RpcSchema.Load([Path.Combine(AppContext.BaseDirectory, "protos", "streams.proto")]);

        private static async ValueTask AnswerAsync(RpcServerStream stream, int replies)
        {
            IMessage? last = null;
            while (await stream.ReadAsync() is { } request)
            {
                last = request;
            }

            for (int i = 0; i < replies; i++)
            {
                await stream.WriteAsync(last!);
            }
        }
    }
}
