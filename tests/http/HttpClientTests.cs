namespace ProtoRpc.Http.Tests;

public static class HttpClientTests
{
    [Theory]
    [InlineData("Binary", RpcCompression.None)]
    [InlineData("Binary", RpcCompression.Brotli)]
    [InlineData("Json", RpcCompression.Gzip)]
    [InlineData("Xml", RpcCompression.None)]
    [InlineData("Form", RpcCompression.None)]
    public static async Task Calls_in_every_format(string name, RpcCompression compression)
    {
        using SearchServer server =
            new(options: new RpcServerOptions { ErrorDetail = RpcErrorDetail.Message });
        Assert.True(MessageFormats.TryFind(name, out MessageFormat? format));
        using RpcClient client = RpcClient.Connect(
            server.Endpoint, SearchServer.Schema,
            new RpcClientOptions { Format = format, Compression = compression });

        // A form is for flat messages, and the reply is not flat.
        string method = name == "Form" ? "Fail" : "Search";
        if (name == "Form")
        {
            RpcException error = Assert.Throws<RpcException>(
                () => client.Invoke(client.GetMethod(method), Request("oh")));
            Assert.Equal("oh", error.Message);
            return;
        }

        string query = new('q', 1000);
        DynamicMessage blocking = client.Invoke(client.GetMethod(method), Request(query));
        DynamicMessage waiting = await client.InvokeAsync(client.GetMethod(method), Request(query));

        Assert.Equal(SearchServer.Found($"http://example.com/{query}").ToByteArray(), blocking.ToByteArray());
        Assert.Equal(blocking.ToByteArray(), waiting.ToByteArray());
    }

    [Fact]
    public static void The_address_of_a_file_has_its_methods_below()
    {
        using SearchServer server = new();
        using RpcClient client = RpcClient.Connect(
            $"{server.Endpoint.Uri}protoservice.proto/", SearchServer.Schema);

        DynamicMessage reply = client.Invoke(client.GetMethod("Search"), Request("x"));

        Assert.Equal(SearchServer.Found("http://example.com/x").ToByteArray(), reply.ToByteArray());
    }

    [Theory]
    [InlineData("Binary")]
    [InlineData("Json")]
    [InlineData("Xml")]
    public static void The_error_of_a_handler_is_the_error_of_the_call(string name)
    {
        using SearchServer server =
            new(options: new RpcServerOptions { ErrorDetail = RpcErrorDetail.Message });
        Assert.True(MessageFormats.TryFind(name, out MessageFormat? format));
        using RpcClient client = RpcClient.Connect(
            server.Endpoint, SearchServer.Schema, new RpcClientOptions { Format = format });

        RpcException error = Assert.Throws<RpcException>(
            () => client.Invoke(client.GetMethod("Fail"), Request("oh dear")));

        Assert.Equal(RpcStatusCode.Unknown, error.Code);
        Assert.Equal("oh dear", error.Message);
        Assert.Equal("ProtoService.SearchService/Fail", error.MethodName);
        Assert.True(error.MayHaveExecuted);
    }

    [Fact]
    public static void A_listener_that_tells_all_tells_the_type_of_the_exception()
    {
        using SearchServer server = new(options: new RpcServerOptions { ErrorDetail = RpcErrorDetail.Full });
        using RpcClient client = RpcClient.Connect(server.Endpoint, SearchServer.Schema);

        RpcException error = Assert.Throws<RpcException>(
            () => client.Invoke(client.GetMethod("Fail"), Request("oh dear")));

        Assert.Equal("System.InvalidOperationException", error.Remote?.TypeName);
    }

    [Fact]
    public static void The_deadline_ends_a_call()
    {
        using SearchServer server = new();
        using RpcClient client = RpcClient.Connect(server.Endpoint, SearchServer.Schema);

        RpcException error = Assert.Throws<RpcException>(
            () => client.Invoke(client.GetMethod("Wait"), Request("x"),
                new() { Timeout = TimeSpan.FromMilliseconds(200) }));

        Assert.Equal(RpcStatusCode.DeadlineExceeded, error.Code);
    }

    [Fact]
    public static async Task The_caller_ends_a_call_that_blocks()
    {
        using SearchServer server = new();
        using RpcClient client = RpcClient.Connect(server.Endpoint, SearchServer.Schema);
        using CancellationTokenSource stop = new();
        Task call = Task.Run(
            () => client.Invoke(client.GetMethod("Wait"), Request("x"), cancellationToken: stop.Token));
        await server.Waiting.Task;

        await stop.CancelAsync();

        RpcException error = await Assert.ThrowsAsync<RpcException>(
            () => call.WaitAsync(TimeSpan.FromSeconds(20)));
        Assert.Equal(RpcStatusCode.Cancelled, error.Code);
    }

    [Fact]
    public static void A_reply_over_the_limit_is_refused()
    {
        using SearchServer server = new();
        RpcClientOptions options = new() { Limits = new RpcLimits { MaxMessageBytes = 100 } };
        using RpcClient client = RpcClient.Connect(server.Endpoint, SearchServer.Schema, options);

        RpcException error = Assert.Throws<RpcException>(
            () => client.Invoke(client.GetMethod("Search"), Request(new string('x', 90))));

        Assert.Equal(RpcStatusCode.ResourceExhausted, error.Code);
    }

    [Fact]
    public static void Loads_the_schema_with_its_imports_from_the_listener()
    {
        using SearchServer server = new();

        RpcSchema schema = RpcHttpSchema.Load(new Uri($"{server.Endpoint.Uri}ProtoService.proto"));

        Assert.Equal("ProtoService.SearchService", Assert.Single(schema.Services).FullName);
        Assert.NotNull(schema.FindMessage("parts.Result"));
        Assert.Equal(["ProtoService.proto"], schema.RootFiles);
    }

    [Fact]
    public static void Finds_the_root_of_imports_above_the_file()
    {
        using SearchServer server = new(endpoint: "http://127.0.0.1:0/deep/er");

        RpcSchema schema = RpcHttpSchema.Load(
            new Uri(new Uri(server.Endpoint.Uri + "/"), "parts/result.proto"));

        Assert.NotNull(schema.FindMessage("parts.Result"));
    }

    [Fact]
    public static void A_file_that_is_not_there_is_not_found()
    {
        using SearchServer server = new();

        RpcException error = Assert.Throws<RpcException>(
            () => RpcHttpSchema.Load(new Uri($"{server.Endpoint.Uri}Other.proto")));

        Assert.Equal(RpcStatusCode.NotFound, error.Code);
    }

    [Fact]
    public static void A_server_that_speaks_something_else_is_found_out_at_once()
    {
        using SearchServer server = new();

        RpcException error = Assert.Throws<RpcException>(
            () => RpcClient.Connect($"https://127.0.0.1:{server.Endpoint.Port}/", SearchServer.Schema));

        Assert.Equal("WrongProtocol", error.ErrorId);
    }

    private static DynamicMessage Request(string query) =>
        MessageFormats.Json.Read(SearchServer.RequestType, $$"""{"query":"{{query}}"}""");
}
