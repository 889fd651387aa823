using System.Net;
using System.Net.Http.Json;
using System.Text.Json;
using Google.Protobuf;

namespace ProtoRpc.Http.Tests;

/// <summary>Replies with an Any of a type that the schema lacks, and replies that a format cannot
/// hold.</summary>
public sealed class UnwritableReplyTests : IDisposable
{
    private const string Proto =
        """
        syntax = "proto3";
        package box;
        import "google/protobuf/any.proto";
        import "google/protobuf/timestamp.proto";
        message Item {
          google.protobuf.Any extra = 1;
          repeated google.protobuf.Any more = 2;
          string text = 3;
          google.protobuf.Timestamp at = 4;
        }
        service Shop { rpc Get (Item) returns (Item); rpc Watch (Item) returns (stream Item); }
        """;

    private static readonly RpcSchema Schema = Load();

    private readonly RpcServer _server;
    private readonly HttpClient _http;
    private DynamicMessage _reply = new(Schema.GetMessage("box.Item"));

    public UnwritableReplyTests()
    {
        _server = RpcServer.Create(Schema, null, new RpcServerOptions().WithHttp(null))
            .Handle("Get", (_, _) => ValueTask.FromResult<IMessage>(_reply))
            .HandleStreaming("Watch", async (_, stream) =>
            {
                await stream.ReadAsync();
                await stream.WriteAsync(_reply);
            })
            .AddEndpoint("http://127.0.0.1:0/")
            .AddEndpoint("grpc://127.0.0.1:0")
            .StartListening();
        _http = new HttpClient(new SocketsHttpHandler { UseProxy = false })
        {
            BaseAddress = new Uri(_server.Endpoints[0].Uri),
        };
    }

    [Theory]
    [InlineData("Get")]
    [InlineData("Watch")]
    public async Task An_any_of_an_unknown_type_is_its_bytes_in_base64(string method)
    {
        SetReply("type.googleapis.com/no.Such");

        using HttpResponseMessage response = await PostAsync(method, "application/json");

        Assert.Equal(HttpStatusCode.OK, response.StatusCode);
        JsonElement reply = await response.Content.ReadFromJsonAsync<JsonElement>();
        foreach (JsonElement any in new[] { reply.GetProperty("extra"), reply.GetProperty("more")[0] })
        {
            Assert.Equal("type.googleapis.com/no.Such", any.GetProperty("@type").GetString());
            Assert.Equal("AQI=", any.GetProperty("value").GetString());
        }

        Assert.Equal(_reply, MessageFormats.Json.Read(_reply.Type, reply.GetRawText()));
    }

    [Fact]
    public async Task The_tool_writes_an_any_of_an_unknown_type()
    {
        SetReply("type.googleapis.com/no.Such");

        Tool.ClientRun run = await Tool.ClientRun.RunAsync(
            ["call", $"{_server.Endpoints[1]}", "Shop/Get", "--compact"]);

        Assert.Equal(0, run.Code);
        Assert.Contains("\"@type\":\"type.googleapis.com/no.Such\",\"value\":\"AQI=\"", run.Output);
    }

    [Theory]
    [InlineData("Get", "application/json")]
    [InlineData("Watch", "application/json")]
    [InlineData("Get", "text/xml")]
    public async Task A_reply_that_cannot_be_written_does_not_blame_the_caller(string method, string accept)
    {
        // JSON has no time after the year 9999, XML no such character.
        Google.Protobuf.WellKnownTypes.Timestamp late = new() { Seconds = long.MaxValue };
        _reply = new(_reply.Type) { ["at"] = late, ["text"] = "\u0001" };

        using HttpResponseMessage refused = await PostAsync(method, accept);
        using HttpResponseMessage binary = await PostAsync(method, "application/x-protobuf");

        Assert.Equal(HttpStatusCode.InternalServerError, refused.StatusCode);
        Assert.Equal(HttpStatusCode.OK, binary.StatusCode);
        Assert.EndsWith(
            Convert.ToHexString(_reply.ToByteArray()),
            Convert.ToHexString(await binary.Content.ReadAsByteArrayAsync()),
            StringComparison.Ordinal);
    }

    public void Dispose()
    {
        _http.Dispose();
        _server.Dispose();
    }

    private void SetReply(string typeUrl)
    {
        Google.Protobuf.WellKnownTypes.Any any = new()
        {
            TypeUrl = typeUrl,
            Value = ByteString.CopyFrom(1, 2),
        };
        _reply = new(_reply.Type) { ["extra"] = any, ["more"] = new[] { any } };
    }

    private async Task<HttpResponseMessage> PostAsync(string method, string accept)
    {
        using HttpRequestMessage request = new(HttpMethod.Post, $"/box.Shop/{method}")
        {
            Content = new StringContent("{}", System.Text.Encoding.UTF8, "application/json"),
        };
        request.Headers.Add("Accept", accept);
        return await _http.SendAsync(request);
    }

    private static RpcSchema Load()
    {
        string folder = Directory.CreateTempSubdirectory("any").FullName;
        string proto = Path.Combine(folder, "box.proto");
        File.WriteAllText(proto, Proto);
        RpcSchema schema = RpcSchema.Load([proto]);
        Directory.Delete(folder, recursive: true);
        return schema;
    }
}
