using Google.Protobuf;
using ProtoRpc.Http.Tests.Faults;

namespace ProtoRpc.Http.Tests.Grpc;

public static class GrpcServerTests
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(20);

    [Fact]
    public static void Methods_of_one_message_each_way_answer()
    {
        using WordsServer server = new();
        using RpcClient client = server.Connect();

        Assert.Equal("hello", Say(client, "hello"));
        Assert.Equal(1, server.Server.Counters.Calls);
        Assert.Equal(0, server.Server.Counters.Errors);
        Assert.Equal(1, server.Server.Counters.Connections);
    }

    [Fact]
    public static async Task Replies_stream_as_they_are_written()
    {
        using WordsServer server = new();
        using RpcClient client = server.Connect();

        await using RpcStreamingCall call = client.Open(client.GetMethod("Split"));
        await call.SendAsync(WordsServer.Text("one two wait"));
        await call.CompleteAsync();

        Assert.True(await call.ReadAsync());
        Assert.Equal("one", WordsServer.TextOf(call.Current));
        Assert.True(await call.ReadAsync());
        Assert.Equal("two", WordsServer.TextOf(call.Current));
    }

    [Fact]
    public static async Task Requests_stream_as_they_are_sent()
    {
        using WordsServer server = new();
        using RpcClient client = server.Connect();

        await using RpcStreamingCall call = client.Open(client.GetMethod("Join"));
        await call.SendAsync(WordsServer.Text("one"));
        await server.Waiting.Task.WaitAsync(Patience);
        await call.SendAsync(WordsServer.Text("two"));
        await call.CompleteAsync();

        Assert.True(await call.ReadAsync());
        Assert.Equal("one two", WordsServer.TextOf(call.Current));
        Assert.False(await call.ReadAsync());
    }

    [Fact]
    public static async Task Requests_and_replies_interleave_and_the_handler_may_end_first()
    {
        using WordsServer server = new();
        using RpcClient client = server.Connect();

        await using RpcStreamingCall call = client.Open(client.GetMethod("Chat"));
        for (int i = 0; i < 100; i++)
        {
            await call.SendAsync(WordsServer.Text($"{i}"));
            Assert.True(await call.ReadAsync());
            Assert.Equal($"{i}!", WordsServer.TextOf(call.Current));
        }

        await call.SendAsync(WordsServer.Text("bye"));

        Assert.False(await call.ReadAsync());
    }

    [Fact]
    public static void Headers_come_in_and_headers_and_trailers_go_out()
    {
        using WordsServer server = new();
        using RpcClient client = server.Connect();
        RpcReplyInfo info = new();
        RpcMetadata headers = new() { { "x-asked", "here" }, { "x-asked-bin", [1, 2, 255] } };

        client.Invoke(
            client.GetMethod("Say"),
            WordsServer.Text("headers"),
            new RpcCallOptions { Headers = headers, ReplyInfo = info });

        Assert.Equal("here", info.Headers.GetText("x-first"));
        Assert.Equal([1, 2, 255], info.Trailers.GetBytes("x-last-bin"));
    }

    [Fact]
    public static async Task An_empty_stream_has_its_status_as_a_header()
    {
        using WordsServer server = new();

        using HttpResponseMessage response = await server.PostAsync(
            WordsServer.Frame(WordsServer.Text("")), "/streams.Words/Split");

        Assert.Equal("0", Assert.Single(response.Headers.GetValues("grpc-status")));
        Assert.Empty(response.TrailingHeaders);
    }

    [Fact]
    public static async Task An_empty_stream_has_the_headers_that_its_handler_set()
    {
        using WordsServer server = new();
        using RpcClient client = server.Connect();
        RpcReplyInfo info = new();
        await using RpcStreamingCall call = client.Open(
            client.GetMethod("Split"), new RpcCallOptions { ReplyInfo = info });
        await call.SendAsync(WordsServer.Text("header"));

        Assert.False(await call.ReadAsync());

        Assert.Equal("there", info.Headers.GetText("x-first"));
        Assert.Empty(info.Trailers);
    }

    [Fact]
    public static void A_failure_has_its_status_text_details_and_trailers()
    {
        using WordsServer server = new();
        using RpcClient client = server.Connect();

        RpcException error = Assert.Throws<RpcException>(() => Say(client, "fail"));

        Assert.Equal(RpcStatusCode.NotFound, error.Code);
        Assert.Equal("Kein Öl: 100 % leer\n", error.Message);
        Assert.Equal("streams.Text", ((DynamicMessage)Assert.Single(error.Details)).Type.FullName);
        Assert.Equal("of a failure", error.Trailers["x-last"]);
        Assert.Equal(1, server.Server.Counters.Errors);
    }

    [Theory]
    [InlineData(RpcErrorDetail.None, "^The call failed on the server. .* id [0-9a-f]{16}\\.$")]
    [InlineData(
        RpcErrorDetail.Type, "^The call failed on the server with System.InvalidOperationException. ")]
    [InlineData(RpcErrorDetail.Message, "^broken$")]
    public static void Callers_are_told_as_much_of_an_exception_as_the_server_says(
        RpcErrorDetail detail, string text)
    {
        using WordsServer server = new(options: new() { ErrorDetail = detail });
        using RpcClient client = server.Connect();

        RpcException error = Assert.Throws<RpcException>(() => Say(client, "throw"));

        Assert.Equal(RpcStatusCode.Unknown, error.Code);
        Assert.Matches(text, error.Message);
        Assert.Matches("^[0-9a-f]{16}$", error.CorrelationId);
    }

    [Fact]
    public static void A_failure_with_a_long_text_fits_into_the_headers_that_clients_take()
    {
        using WordsServer server = new();
        using RpcClient client = server.Connect();

        RpcException error = Assert.Throws<RpcException>(() => Say(client, "overlong"));

        Assert.Equal(RpcStatusCode.DataLoss, error.Code);
        Assert.Matches("^\u6F22{300,}\\.\\.\\.$", error.Message);
        Assert.InRange(Uri.EscapeDataString(error.Message).Length, 1, 3072);
        Assert.Single(error.Details);
    }

    [Fact]
    public static async Task A_failure_after_replies_comes_behind_them()
    {
        using WordsServer server = new();
        using RpcClient client = server.Connect();
        List<string> replies = [];

        RpcException error = await Assert.ThrowsAsync<RpcException>(async () =>
        {
            await foreach (DynamicMessage reply in client.InvokeDuplexStreamAsync(
                client.GetMethod("Split"), OneAsync(WordsServer.Text("one two fail"))))
            {
                replies.Add(WordsServer.TextOf(reply));
            }
        });

        Assert.Equal(["one", "two"], replies);
        Assert.Equal(RpcStatusCode.Aborted, error.Code);
        Assert.Equal("in the middle", error.Message);
    }

    [Fact]
    public static async Task A_deadline_reaches_the_handler()
    {
        using WordsServer server = new();
        using RpcClient client = server.Connect();

        RpcException error = Assert.Throws<RpcException>(
            () => client.Invoke(
                client.GetMethod("Say"),
                WordsServer.Text("wait"),
                new RpcCallOptions { Timeout = TimeSpan.FromSeconds(0.3) }));

        Assert.Equal(RpcStatusCode.DeadlineExceeded, error.Code);
        Assert.Equal("cancelled", await server.Ended.Task.WaitAsync(Patience));
    }

    [Fact]
    public static async Task A_deadline_that_passes_on_the_server_is_told()
    {
        using WordsServer server = new();

        using HttpResponseMessage response = await server.PostAsync(
            WordsServer.Frame(WordsServer.Text("wait")), headers: ("grpc-timeout", "200m"));

        Assert.Equal("4", WordsServer.Find(response, "grpc-status"));
    }

    [Fact]
    public static async Task Cancelling_reaches_the_handler()
    {
        using WordsServer server = new();
        using RpcClient client = server.Connect();
        RpcStreamingCall call = client.Open(client.GetMethod("Split"));
        await call.SendAsync(WordsServer.Text("one wait"));
        await call.CompleteAsync();
        await server.Waiting.Task.WaitAsync(Patience);

        await call.DisposeAsync();

        Assert.Equal("cancelled", await server.Ended.Task.WaitAsync(Patience));
        Assert.Equal("still there", Say(client, "still there"));
    }

    [Theory]
    [InlineData(RpcCompression.Gzip, "compressed")]
    [InlineData(RpcCompression.None, "plain")]
    public static void Messages_are_compressed_both_ways_where_asked(RpcCompression compression, string seen)
    {
        using WordsServer server = new();
        using RpcClient client = server.Connect(new() { Compression = compression });

        Assert.Equal(seen, Say(client, "gzip"));
    }

    [Fact]
    public static async Task Empty_messages_are_taken_with_compression_and_sent_without()
    {
        using WordsServer server = new();
        using RpcClient client = server.Connect(new() { Compression = RpcCompression.Gzip });

        Assert.Equal("", Say(client, ""));
        Assert.Empty(All(client, "Split", ""));
        using HttpResponseMessage response = await server.PostAsync(
            [1, 0, 0, 0, 0], headers: ("grpc-encoding", "gzip"));
        Assert.Equal("0", WordsServer.Find(response, "grpc-status"));
        Assert.Equal([0, 0, 0, 0, 0], await response.Content.ReadAsByteArrayAsync());
    }

    [Fact]
    public static void Rules_and_sessions_are_those_of_every_endpoint()
    {
        using WordsServer server = new(options: new()
        {
            Interceptors = [RpcAuthorization.FromRules(
                new Dictionary<string, string> { ["*/Split"] = "ann", ["*"] = "anonymous" })],
        });
        using RpcClient client = server.Connect();

        Assert.Equal("1", Say(client, "count"));
        Assert.Equal("2", Say(client, "count"));
        Assert.Equal(
            RpcStatusCode.Unauthenticated, Assert.Throws<RpcException>(() => All(client, "Split", "a")).Code);
    }

    [Fact]
    public static void A_request_over_the_limit_is_refused()
    {
        using WordsServer server = new(options: new() { Limits = new() { MaxMessageBytes = 1000 } });
        using RpcClient client = server.Connect();

        RpcException error = Assert.Throws<RpcException>(
            () => client.Invoke(client.GetMethod("Say"), WordsServer.Payload(1001)));

        Assert.Equal(RpcStatusCode.ResourceExhausted, error.Code);
        Assert.Equal("small", Say(client, "small"));
    }

    [Fact]
    public static void A_message_of_four_mebibytes_passes_and_replies_may_be_larger_than_requests()
    {
        using WordsServer server = new();
        using RpcClient client = server.Connect();

        DynamicMessage reply = client.Invoke(
            client.GetMethod("Say"), WordsServer.Payload((4 * 1024 * 1024) - 100));

        Assert.Equal(
            (4 * 1024 * 1024) - 100, ((byte[])reply.Get(WordsServer.TextType.FindField("payload")!)!).Length);
    }

    [Fact]
    public static void A_service_or_method_that_is_not_there_is_unimplemented()
    {
        using WordsServer server = new();
        using RpcClient other = RpcClient.Connect(
            server.Endpoint, WordsServer.Schema, new() { Service = "streams.Silent" });

        RpcException error = Assert.Throws<RpcException>(() => Say(other, "x"));

        Assert.Equal(RpcStatusCode.Unimplemented, error.Code);
        Assert.Contains("streams.Words", error.Message);
    }

    [Fact]
    public static void A_unix_socket_tells_who_calls_and_is_its_owners_alone()
    {
        string path = Path.Combine(Path.GetTempPath(), $"{Guid.NewGuid():N}.sock");
        using (WordsServer server = new($"grpc+unix://{path}"))
        using (RpcClient client = server.Connect())
        {
            Assert.Equal($"{Environment.UserName}|True|Privacy|True", Say(client, "who"));
            if (!OperatingSystem.IsWindows())
            {
                Assert.Equal(UnixFileMode.UserRead | UnixFileMode.UserWrite, File.GetUnixFileMode(path));
            }

            RpcException inUse = Assert.Throws<RpcException>(() => new WordsServer($"grpc+unix://{path}"));
            Assert.Equal(RpcStatusCode.AlreadyExists, inUse.Code);
        }

        Assert.False(File.Exists(path));
    }

    [Fact]
    public static void A_file_that_is_no_socket_is_not_replaced()
    {
        string path = Path.GetTempFileName();

        Assert.Throws<RpcException>(() => new WordsServer($"grpc+unix://{path}"));

        Assert.True(File.Exists(path));
        File.Delete(path);
    }

    [LinuxFact]
    public static async Task The_socket_of_a_server_that_does_not_accept_is_in_use()
    {
        string path = Path.Combine(Path.GetTempPath(), $"{Guid.NewGuid():N}.sock");
        using FullSocket full = new(path);

        RpcException inUse = await Assert.ThrowsAsync<RpcException>(
            () => Task.Run(() => new WordsServer($"grpc+unix://{path}")).WaitAsync(TimeSpan.FromSeconds(20)));

        Assert.Equal(RpcStatusCode.AlreadyExists, inUse.Code);
    }

    [Fact]
    public static void Endpoints_that_others_reach_want_encryption_or_a_word()
    {
        Assert.Equal(
            "UnencryptedEndpoint",
            Assert.Throws<RpcException>(() => new WordsServer("grpc://0.0.0.0:0")).ErrorId);
        Assert.Equal(
            "MissingCertificate",
            Assert.Throws<RpcException>(() => new WordsServer("grpcs://127.0.0.1:0")).ErrorId);
        Assert.Equal("NoProofOnGrpc", Assert.Throws<RpcException>(() => new WordsServer(
            options: new() { Security = new() { Authentication = RpcAuthentication.Ntlm } })).ErrorId);
        using WordsServer open = new("grpc://0.0.0.0:0", http: new() { AllowUnencrypted = true });
    }

    [Fact]
    public static async Task Stopping_cancels_what_runs_and_refuses_the_rest()
    {
        using WordsServer server = new();
        using RpcClient client = server.Connect();
        Task<DynamicMessage> call = client.InvokeAsync(client.GetMethod("Say"), WordsServer.Text("wait"));
        await server.Waiting.Task.WaitAsync(Patience);

        await server.Server.StopAsync(TimeSpan.FromSeconds(0.1)).WaitAsync(Patience);

        Assert.Equal("cancelled", await server.Ended.Task.WaitAsync(Patience));
        RpcException error = await Assert.ThrowsAsync<RpcException>(() => call);
        Assert.Contains(
            error.Code, new[] { RpcStatusCode.Unavailable, RpcStatusCode.Cancelled, RpcStatusCode.Internal });
    }

    private static string Say(RpcClient client, string text) =>
        WordsServer.TextOf(client.Invoke(client.GetMethod("Say"), WordsServer.Text(text)));

    private static async IAsyncEnumerable<IMessage> OneAsync(IMessage message)
    {
        yield return message;
        await Task.CompletedTask;
    }

    private static string[] All(RpcClient client, string method, string text) =>
        [.. client.InvokeDuplexStreamAsync(client.GetMethod(method), OneAsync(WordsServer.Text(text)))
            .ToBlockingEnumerable().Select(WordsServer.TextOf)];
}
