using System.Net;
using System.Net.Http.Headers;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;
using ProtoRpc.Http.Tests.Hosting;

namespace ProtoRpc.Http.Tests.Gateway;

/// <summary>Headers that a server sends before its first reply.</summary>
public static class EarlyHeaderTests
{
    private const string Grpc = GatewayChain.Grpc;
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(20);

    // An empty message.
    private static readonly byte[] Frame = new byte[5];

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    public static async Task Reach_a_caller_that_waits_for_them_before_its_first_request(int gateways)
    {
        await using HostedApp app = await HostedApp.StartAsync(_ => { }, AnswerAfterRequests);
        using RpcClient client = RpcClient.Connect(app.Grpc, WordsServer.Schema);
        using RpcServer first = Forward(client, gateways == 1 ? Grpc : $"inproc://{Guid.NewGuid():N}");
        using RpcClient second = RpcClient.Connect(first.Endpoints[0], WordsServer.Schema);
        using RpcServer front = gateways == 1 ? first : Forward(second, Grpc);
        using HttpClient http = new();
        using LateContent requests = new();
        using HttpRequestMessage call = new(
            HttpMethod.Post, $"http://127.0.0.1:{front.Endpoints[0].Port}/streams.Words/Chat")
        {
            Version = HttpVersion.Version20,
            VersionPolicy = HttpVersionPolicy.RequestVersionExact,
            Content = requests,
        };

        using HttpResponseMessage response = await http
            .SendAsync(call, HttpCompletionOption.ResponseHeadersRead).WaitAsync(Patience);
        requests.Send();
        byte[] replies = await response.Content.ReadAsByteArrayAsync().WaitAsync(Patience);

        Assert.Equal("there", response.Headers.GetValues("x-first").Single());
        Assert.Equal(Frame, replies[..Frame.Length]);
        Assert.Equal("0", response.TrailingHeaders.GetValues("grpc-status").Single());
        Assert.Equal("end", response.TrailingHeaders.GetValues("x-last").Single());
    }

    [Fact]
    public static async Task Are_followed_by_the_failure_of_a_call_without_replies()
    {
        await using HostedApp app = await HostedApp.StartAsync(_ => { }, FailAfterHeaders);
        using RpcClient client = RpcClient.Connect(app.Grpc, WordsServer.Schema);
        using RpcServer gateway = Forward(client, Grpc);
        using RpcClient caller = RpcClient.Connect(gateway.Endpoints[0], WordsServer.Schema);
        RpcReplyInfo info = new();
        await using RpcStreamingCall call = caller.Open("Chat", new() { ReplyInfo = info });

        RpcException error = await Assert.ThrowsAsync<RpcException>(
            () => call.ReadAsync().AsTask().WaitAsync(Patience));

        Assert.Equal((RpcStatusCode.Aborted, "lost"), (error.Code, error.Message));
        Assert.Equal("there", info.Headers.GetText("x-first"));
        Assert.Equal("end", info.Trailers.GetText("x-last"));
    }

    private static RpcServer Forward(RpcClient client, string endpoint) =>
        RpcGateway.Create(client, serverOptions: new RpcServerOptions().WithHttp())
            .AddEndpoint(endpoint)
            .StartListening();

    private static void AnswerAfterRequests(WebApplication app) => app.MapPost(
        "/streams.Words/Chat",
        async http =>
        {
            await BeginAsync(http.Response);
            await http.Request.Body.CopyToAsync(Stream.Null);
            await http.Response.Body.WriteAsync(Frame);
            End(http.Response, "0");
        });

    private static void FailAfterHeaders(WebApplication app) => app.MapPost(
        "/streams.Words/Chat",
        async http =>
        {
            await BeginAsync(http.Response);
            End(http.Response, "10");
            http.Response.AppendTrailer("grpc-message", "lost");
        });

    private static Task BeginAsync(HttpResponse response)
    {
        response.ContentType = "application/grpc";
        response.Headers["x-first"] = "there";
        return response.Body.FlushAsync();
    }

    private static void End(HttpResponse response, string status)
    {
        response.AppendTrailer("grpc-status", status);
        response.AppendTrailer("x-last", "end");
    }

    // The headers of the call at once, and its only message later.
    private sealed class LateContent : HttpContent
    {
        private readonly TaskCompletionSource _sends =
            new(TaskCreationOptions.RunContinuationsAsynchronously);

        public LateContent() => Headers.ContentType = new MediaTypeHeaderValue("application/grpc");

        public void Send() => _sends.SetResult();

        protected override async Task SerializeToStreamAsync(Stream stream, TransportContext? context)
        {
            await stream.FlushAsync();
            await _sends.Task;
            await stream.WriteAsync(Frame);
        }

        protected override bool TryComputeLength(out long length)
        {
            length = 0;
            return false;
        }
    }
}
