using System.Net;
using System.Text;
using Google.Api;
using Google.Protobuf;
using Google.Protobuf.Reflection;
using Google.Protobuf.WellKnownTypes;
using Google.Rpc;
using Grpc.Core;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;
using ProtoRpc.TestServers.Rest;
using Request = ProtoRpc.TestServers.Rest.Request;

namespace ProtoRpc.Peers.Rest;

/// <summary>Calls of our client on rest:// endpoints to gRPC JSON transcoding of ASP.NET Core.</summary>
[PeerCall(
    "Microsoft.AspNetCore.Grpc.JsonTranscoding", "REST", PeerSide.Server, PeerCalls.Unary
        | PeerCalls.ServerStream | PeerCalls.Errors | PeerCalls.ErrorDetails)]
public sealed class JsonTranscodingClientTests : IAsyncLifetime
{
    private WebApplication _application = null!;
    private RpcEndpoint _endpoint = null!;

    public async ValueTask InitializeAsync()
    {
        WebApplicationBuilder builder = WebApplication.CreateBuilder();
        builder.Logging.ClearProviders();
        builder.Services.AddGrpc().AddJsonTranscoding(
            options => options.TypeRegistry = TypeRegistry.FromMessages(ErrorInfo.Descriptor));
        builder.WebHost.ConfigureKestrel(kestrel => kestrel.Listen(
            IPAddress.Loopback, 0, listen => listen.Protocols = HttpProtocols.Http1));
        _application = builder.Build();
        _application.MapGrpcService<FailingLibraryService>();
        await _application.StartAsync();
        _endpoint = RpcEndpoint.Parse($"rest://127.0.0.1:{new Uri(_application.Urls.First()).Port}");
    }

    public ValueTask DisposeAsync() => _application.DisposeAsync();

    [Theory]
    [InlineData("Root", "{}")]
    [InlineData("GetShelf", """{"name":"a b %?#+\u00fc\ud83d\ude00","number":5}""")]
    [InlineData("GetBook", """{"name":"shelves/1/books/a:b c"}""")]
    [InlineData("ArchiveBook", """{"name":"shelves/1/books/2","number":3,"struct":{"a":[1,null]}}""")]
    [InlineData("UpdateBook", """{"number":4,"inner":{"name":"shelves/1/books/2","number":3}}""")]
    [InlineData("UpdateBook", """{"number":4,"inner":{"name":"x","number":3},"tags":["t"]}""")]
    [InlineData("CreateShelf", """{"name":"x","inners":[{"name":"y"}],"labels":{"a":"b"}}""")]
    [InlineData("CreateShelf", "{}")]
    [InlineData("SetTags", """{"tags":["a","b"],"number":3}""")]
    [InlineData("SetInners", """{"inners":[{"name":"a"},{}]}""")]
    [InlineData("ReadFile", """{"name":"a/b/c d"}""")]
    [InlineData("Undelete", """{"name":"a/b"}""")]
    [InlineData("Purge", """{"name":"x","inner":{"name":"y","inner":{"tags":["1","2"]}}}""")]
    [InlineData("DeleteShelf", """{"name":"x"}""")]
    [InlineData("ListShelves", """{"color":"RED","colors":["RED","GREEN"],"flag":true,"numbers":[1,-2]}""")]
    [InlineData("ListShelves", """{"mask":"aBc,d","time":"2024-01-01T00:00:00Z","pause":"1.5s"}""")]
    [InlineData("ListShelves", """{"maybeNumber":0,"right":"r","pageToken":"&=+ %","big":"-5"}""")]
    public async Task It_gets_the_request_that_was_sent(string method, string request)
    {
        DynamicMessage sent = RestProtos.Request(request);
        using RpcClient client = Connect();

        DynamicMessage reply = await client.InvokeAsync(method, sent);

        Assert.Equal(method, reply.Get(reply.Type.FindField("method")!));
        Assert.Equal(sent, reply.Get(reply.Type.FindField("request")!));
        Assert.Equal(reply, client.Invoke(method, sent));
    }

    [Fact]
    public async Task Generated_classes_fields_of_replies_and_raw_bodies_go_both_ways()
    {
        using RpcClient client = Connect();
        FileRequest file = new()
        {
            Name = "a",
            File = new HttpBody { ContentType = "text/x-raw", Data = ByteString.CopyFromUtf8("<raw>") },
        };

        Reply shelf = await client.InvokeAsync<Reply>("GetShelf", new Request { Name = "n", Number = 3 });
        Reply tags = await client.InvokeAsync<Reply>("GetTags", new Request { Tags = { "x", "y" } });
        Reply part = await client.InvokeAsync<Reply>("GetRequest", new Request { Name = "n" });
        Reply uploaded = await client.InvokeAsync<Reply>("Upload", file);
        HttpBody download = await client.InvokeAsync<HttpBody>("Download", new Request { Name = "hello" });

        Assert.Equal(("n", 3), (shelf.Request.Name, shelf.Request.Number));
        Assert.Equal(["x", "y"], tags.Tags);
        Assert.Equal("n", part.Request.Name);
        Assert.Equal(file, uploaded.File);
        Assert.Equal(("text/x-name", "hello"), (download.ContentType, download.Data.ToStringUtf8()));
    }

    [Fact]
    public async Task Streams_and_their_errors_are_read()
    {
        using RpcClient client = Connect();
        List<Reply> replies = [];
        await foreach (Reply reply in client.InvokeServerStreamAsync<Reply>(
            "Watch", new Request { Number = 3 }))
        {
            replies.Add(reply);
        }

        int count = 0;
        RpcException error = await Assert.ThrowsAsync<RpcException>(async () =>
        {
            await foreach (Reply _ in client.InvokeServerStreamAsync<Reply>(
                "Watch", new Request { Number = 2, Maybe = "x" }))
            {
                count++;
            }
        });
        StringBuilder parts = new();
        await foreach (HttpBody part in client.InvokeServerStreamAsync<HttpBody>(
            "DownloadParts", new Request { Number = 3 }))
        {
            parts.Append(part.Data.ToStringUtf8());
        }

        Assert.Equal(["1", "2", "3"], replies.Select(reply => reply.Tags.Single()));
        Assert.Equal((2, RpcStatusCode.Aborted, "enough"), (count, error.Code, error.Message));

        // The peer ends the line of each message of a stream, also of raw bytes.
        Assert.Equal("1;\n2;\n3;\n", parts.ToString());
    }

    [Theory]
    [InlineData(StatusCode.NotFound)]
    [InlineData(StatusCode.AlreadyExists)]
    [InlineData(StatusCode.FailedPrecondition)]
    [InlineData(StatusCode.DataLoss)]
    [InlineData(StatusCode.Unavailable)]
    public void A_failure_has_its_status_and_details(StatusCode code)
    {
        using RpcClient client = Connect();

        RpcException error = Assert.Throws<RpcException>(
            () => client.Invoke("Fail", new { number = (int)code }));

        Assert.Equal(((RpcStatusCode)code, "as you like"), (error.Code, error.Message));
        Assert.Equal(
            "google.rpc.ErrorInfo",
            Assert.IsType<DynamicMessage>(Assert.Single(error.Details)).Type.FullName);
    }

    [Fact]
    public void A_path_that_it_does_not_have_and_a_ping_say_who_answers()
    {
        using RpcClient wrong = RpcClient.Connect(
            RpcEndpoint.Parse($"{_endpoint.Uri}base"), RestProtos.Library,
            new() { Service = "rest.Library" });

        RpcException error = Assert.Throws<RpcException>(() => wrong.Invoke("GetShelf", new { name = "x" }));

        Assert.Equal(RpcStatusCode.NotFound, error.Code);
        Assert.Contains("(GET /v1/shelves/{name}) was answered with HTTP status 404", error.Message);
        Assert.Equal((false, "Kestrel"), (wrong.Ping().IsProtoRpc, wrong.Ping().Product));
    }

    private RpcClient Connect() =>
        RpcClient.Connect(_endpoint, RestProtos.Library, new() { Service = "rest.Library" });

    /// <summary>The service of the other tests, with failures that have details.</summary>
    private sealed class FailingLibraryService : LibraryService
    {
        public override Task<Reply> Fail(Request request, ServerCallContext context) =>
            throw new Google.Rpc.Status
            {
                Code = request.Number,
                Message = "as you like",
                Details = { Any.Pack(new ErrorInfo { Reason = "TEST" }) },
            }.ToRpcException();
    }
}
