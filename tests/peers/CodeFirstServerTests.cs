using System.Text.Json.Nodes;
using Microsoft.AspNetCore.Builder;
using Microsoft.Extensions.DependencyInjection;
using ProtoBuf.Grpc.Server;
using ProtoRpc.Tool;

namespace ProtoRpc.Peers;

/// <summary>Our client against a server of protobuf-net.Grpc, with the schema that protobuf-net
/// writes.</summary>
[PeerCall(
    "protobuf-net.Grpc", "gRPC", PeerSide.Server, PeerCalls.AllKinds | PeerCalls.Errors
        | PeerCalls.Metadata | PeerCalls.Cancellation)]
public sealed class CodeFirstServerTests : IAsyncLifetime
{
    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("protorpc-peers-");
    private readonly StockService _stock = new();
    private PeerApplication _server = null!;
    private RpcClient _client = null!;

    private string SchemaPath => Path.Combine(_folder.FullName, "stock.proto");

    public async ValueTask InitializeAsync()
    {
        await File.WriteAllTextAsync(SchemaPath, StockService.Schema);
        _server = await PeerApplication.StartAsync(
            services =>
            {
                services.AddCodeFirstGrpc();
                services.AddSingleton(_stock);
            },
            application => application.MapGrpcService<StockService>());
        _client = await RpcClient.ConnectAsync(
            _server.Endpoint,
            RpcSchema.Load([SchemaPath], [Path.Combine(AppContext.BaseDirectory, "protos")]));
    }

    public async ValueTask DisposeAsync()
    {
        await _client.DisposeAsync();
        await _server.DisposeAsync();
        _folder.Delete(recursive: true);
    }

    [Fact]
    public async Task Types_of_dotnet_are_read_from_a_reply()
    {
        DynamicMessage item = await _client.InvokeAsync("Get", new { Name = "tea" });

        Assert.Equal(("tea", -1), (item["Name"], item["Count"]));
        DynamicMessage day = (DynamicMessage)item["Day"]!;
        Assert.Equal(20_782L, day["value"]);
        Assert.Equal(0, day["scale"]);
        DynamicMessage took = (DynamicMessage)item["Took"]!;
        Assert.Equal((90L, 3), ((long)took["value"]! * ((int)took["scale"]! == 2 ? 60 : 1), 3));
        DynamicMessage id = (DynamicMessage)item["Id"]!;
        byte[] guid = Guid.Parse("00112233-4455-6677-8899-aabbccddeeff").ToByteArray();
        Assert.Equal(
            (BitConverter.ToUInt64(guid, 0), BitConverter.ToUInt64(guid, 8)), (id["lo"], id["hi"]));
        DynamicMessage price = (DynamicMessage)item["Price"]!;
        Assert.Equal((1250UL, 0U, 5U), (price["lo"], price["hi"], price["signScale"]));
        Assert.Equal(["a", "b"], ((IEnumerable<object?>)item["Tags"]!).Cast<string>());
        Assert.Equal(1, item["Colour"]);
        Assert.Equal(0.0, item["Weight"]);
        Assert.Equal([0, 255], (byte[])item["Image"]!);
    }

    [Fact]
    public async Task Types_of_dotnet_are_written_to_a_request()
    {
        byte[] guid = Guid.Parse("00112233-4455-6677-8899-aabbccddeeff").ToByteArray();

        DynamicMessage reply = await _client.InvokeAsync("Describe", new
        {
            Day = new { value = 20_782, scale = "DAYS", kind = "UTC" },
            Took = new { value = 90, scale = "SECONDS" },
            Id = new { lo = BitConverter.ToUInt64(guid, 0), hi = BitConverter.ToUInt64(guid, 8) },
            Price = new { lo = 1250, signScale = 5 },
            Tags = new[] { "a", "b" },
            Places = new Dictionary<string, int> { ["x"] = 7 },
            Colour = "Green",
            Weight = 1.5,
            Image = new byte[] { 0, 255 },
        });

        Assert.Equal(
            "2026-11-25T00:00:00 00:01:30 00112233-4455-6677-8899-aabbccddeeff -12.50 a+b 7 Green 1.5 00FF",
            reply["Name"]);
    }

    [Fact]
    public async Task Well_known_types_go_both_ways()
    {
        DynamicMessage reply = await _client.InvokeAsync("DescribeModern", new
        {
            Day = new DateTimeOffset(2026, 11, 25, 1, 2, 3, TimeSpan.Zero),
            Took = TimeSpan.FromSeconds(90),
            Id = "00112233-4455-6677-8899-aabbccddeeff",
            Price = "-12.50",
        });

        Assert.Equal(
            "2026-11-25T01:02:03 00:01:30 00112233-4455-6677-8899-aabbccddeeff -12.50", reply["Name"]);
        Assert.Equal("google.protobuf.Timestamp", ((DynamicMessage)reply["Day"]!).Type.FullName);
        Assert.Equal(90L, ((DynamicMessage)reply["Took"]!)["seconds"]);
        Assert.Equal("00112233-4455-6677-8899-aabbccddeeff", reply["Id"]);
        Assert.Equal("-12.50", reply["Price"]);
    }

    [Fact]
    public async Task A_class_that_inherits_is_a_oneof()
    {
        DynamicMessage dog = await _client.InvokeAsync(
            "Rename", new { Name = "Rex", Dog = new { Barks = 3 } });
        DynamicMessage cat = await _client.InvokeAsync("Rename", new { Name = "Tom", Cat = new { } });
        DynamicMessage animal = await _client.InvokeAsync("Rename", new { Name = "Anna" });

        Assert.Equal(("Dog Rex", "Cat Tom", "Animal Anna"), (dog["Name"], cat["Name"], animal["Name"]));
        Assert.Equal(3, ((DynamicMessage)dog["Dog"]!)["Barks"]);
        Assert.Null(dog["Cat"]);
        Assert.NotNull(cat["Cat"]);
        Assert.Null(animal["Dog"]);
    }

    [Fact]
    public async Task Replies_stream() =>
        Assert.Equal([0, 1, 2], await CountsAsync("List", new { Count = 3 }));

    [Fact]
    public async Task Requests_stream()
    {
        object[] items = [new { Name = "a", Count = 1 }, new { Name = "b", Count = 2 }, new { Count = 3 }];

        Assert.Equal([6], await CountsAsync("Sum", items));
    }

    [Fact]
    public async Task Both_sides_stream()
    {
        object[] items = [new { Count = 3 }, new { Count = 0 }, new { Count = 5 }];

        Assert.Equal([3, 0, 5], await CountsAsync("Echo", items));
    }

    [Fact]
    public async Task A_method_without_messages_is_called_with_an_empty_one()
    {
        DynamicMessage reply = await _client.InvokeAsync("Forget", new { });

        Assert.Equal("google.protobuf.Empty", reply.Type.FullName);
        Assert.True(_stock.HasForgotten);
    }

    [Fact]
    public async Task Metadata_and_failures_come_as_with_other_servers()
    {
        RpcReplyInfo info = new();

        await _client.InvokeAsync(
            "Get", new { }, new() { Headers = new() { { "x-asked", "here" } }, ReplyInfo = info });
        RpcException error = await Assert.ThrowsAsync<RpcException>(
            () => _client.InvokeAsync("Get", new { Name = "fail" }));

        Assert.Equal("here", info.Trailers.GetText("x-last"));
        Assert.Equal((RpcStatusCode.NotFound, "no such item"), (error.Code, error.Message));
    }

    [Fact]
    public async Task A_stream_that_is_read_no_further_is_cancelled_on_the_server()
    {
        await foreach (DynamicMessage item in _client.InvokeServerStreamAsync(
            "List", new { Name = "wait", Count = 1 }))
        {
            Assert.Equal("wait", item["Name"]);
            break;
        }

        await Patience.WaitAsync(_stock.Cancelled.Task);
    }

    [Fact]
    public async Task The_tool_calls_it_by_the_schema()
    {
        using StringWriter output = new() { NewLine = "\n" };
        int code = await ToolCommand.RunAsync(
            [
                "call", $"127.0.0.1:{_server.Endpoint.Port}", "stock.Stock/List", "--plaintext", "--compact",
                "--schema", SchemaPath, "--import-path", Path.Combine(AppContext.BaseDirectory, "protos"),
                "-d", """{"Name":"tea","Count":2}""",
            ],
            new ToolConsole(TextReader.Null, output, output));

        Assert.Equal(0, code);
        Assert.Equal(
            [("tea", null), ("tea", 1)],
            output.ToString().Split('\n', StringSplitOptions.RemoveEmptyEntries)
                .Select(line => JsonNode.Parse(line)!)
                .Select(item => ((string?)item["Name"], (int?)item["Count"])));
    }

    private Task<List<int>> CountsAsync(string method, object request) =>
        CountsAsync(_client.InvokeServerStreamAsync(method, request));

    private Task<List<int>> CountsAsync(string method, object[] requests) =>
        CountsAsync(_client.InvokeDuplexStreamAsync(method, requests.ToAsyncEnumerable()));

    private static async Task<List<int>> CountsAsync(IAsyncEnumerable<DynamicMessage> replies)
    {
        List<int> counts = [];
        await foreach (DynamicMessage reply in replies)
        {
            counts.Add((int)reply["Count"]!);
        }

        return counts;
    }
}
