using System.Collections.Concurrent;
using System.Globalization;
using System.Text;
using Google.Protobuf;

namespace ProtoRpc.Http.Tests;

/// <summary>What callers receive of failures, the same on every protocol: native, HTTP and gRPC.</summary>
public sealed class ErrorPolicyTests : IDisposable
{
    private const string Tcp = "ncacn_ip_tcp:127.0.0.1[0]";
    private const string Http = "http://127.0.0.1:0/";
    private const string Grpc = "grpc://127.0.0.1:0";
    private const string Author = "Come back tomorrow.";

    private static readonly string[] Remote = [Tcp, Http, Grpc];

    // Every way by which the text of an exception may come along.
    private static readonly string[] Unsaid =
    [
        "plain", "inner", "data", "missing", "unimplemented", "cancelled", "aggregate", "call",
        "schema", "message",
        "typename",
    ];

    private readonly ConcurrentQueue<RpcFailedCall> _record = new();
    private readonly List<RpcServer> _servers = [];

    public static TheoryData<string, string> EachUnsaid()
    {
        TheoryData<string, string> data = [];
        foreach (string endpoint in Remote)
        {
            Array.ForEach(Unsaid, kind => data.Add(endpoint, kind));
        }

        return data;
    }

    public static TheoryData<string, RpcErrorDetail?> EachLevel()
    {
        TheoryData<string, RpcErrorDetail?> data = [];
        foreach (string endpoint in Remote)
        {
            data.Add(endpoint, null);
            Array.ForEach(Enum.GetValues<RpcErrorDetail>(), level => data.Add(endpoint, level));
        }

        return data;
    }

    [Theory]
    [MemberData(nameof(EachUnsaid))]
    public void Remote_callers_get_an_id_in_place_of_what_was_not_written_for_them(
        string endpoint, string kind)
    {
        RpcException error = Call(Start(endpoint, null), kind);

        Assert.DoesNotContain("secret", Everything(error), StringComparison.OrdinalIgnoreCase);
        Assert.Contains(error.CorrelationId!, error.Message, StringComparison.Ordinal);
        RpcFailedCall recorded = Assert.Single(_record);
        Assert.Equal(error.CorrelationId, recorded.CorrelationId);
        Assert.Equal(error.Code, recorded.Code);
        Assert.Contains(
            "secret", recorded.Error.ToString() + recorded.Error.Data["k"],
            StringComparison.OrdinalIgnoreCase);
        Assert.Equal("ProtoService.SearchService/Fail", recorded.Context?.Method.FullName);
    }

    [Theory]
    [MemberData(nameof(EachLevel))]
    public void What_the_author_says_to_the_caller_is_told_at_every_level(
        string endpoint, RpcErrorDetail? level)
    {
        RpcException error = Call(Start(endpoint, level), "author");

        Assert.Equal(RpcStatusCode.ResourceExhausted, error.Code);
        Assert.Equal(Author, error.Message);
        Assert.Null(error.CorrelationId);
        Assert.Equal(level == RpcErrorDetail.Full && endpoint != Grpc, Everything(error).Contains("secret"));
    }

    [Theory]
    [MemberData(nameof(EachLevel))]
    public void An_exception_is_told_as_the_level_says_on_every_face(string endpoint, RpcErrorDetail? level)
    {
        RpcException error = Call(Start(endpoint, level), "plain");

        string told = Everything(error);
        Assert.Equal(level >= RpcErrorDetail.Message, told.Contains("secret: pw=1"));
        Assert.Equal(
            level == RpcErrorDetail.Type, error.Message.Contains("System.InvalidOperationException"));
        Assert.Equal(Assert.Single(_record).CorrelationId, error.CorrelationId);
        if (level is null or RpcErrorDetail.None)
        {
            Assert.DoesNotContain("InvalidOperation", told, StringComparison.Ordinal);
        }
    }

    [Fact]
    public void A_caller_whom_the_kernel_knows_is_told_everything()
    {
        RpcException error = Call(Start($"ncalrpc:[test-{Guid.NewGuid():N}]", null), "inner");

        Assert.Equal("secret: pw=1", error.Remote?.Inner?.Message);
        Assert.NotEmpty(error.Remote!.StackTrace);
        Assert.Equal(Assert.Single(_record).CorrelationId, error.CorrelationId);
    }

    [Theory]
    [InlineData(Tcp, "Binary")]
    [InlineData(Http, "Binary")]
    [InlineData(Http, "Json")]
    [InlineData(Http, "Xml")]
    public void The_message_of_an_exception_that_is_told_in_full_is_its_property(string endpoint, string name)
    {
        RpcServer server = Start(endpoint, RpcErrorDetail.Full);
        Assert.True(MessageFormats.TryFind(name, out MessageFormat? format));
        using RpcClient client = RpcClient.Connect(
            server.Endpoints[0], SearchServer.Schema, new RpcClientOptions { Format = format });

        RpcException error = Assert.Throws<RpcException>(
            () => client.Invoke(client.GetMethod("Fail"), Request("parameter")));

        Assert.Equal("Wrong. (Parameter 'order')", error.Message);
        Assert.Equal("Wrong. (Parameter 'order')", error.Remote?.Message);
        Assert.Equal("Must be there. (Parameter 'id')", error.Remote?.Inner?.Message);
    }

    [Theory]
    [InlineData("Json", null, @"\u001B[31mred\u0000" + "\uFFFF \U0001F600")]
    [InlineData("Xml", null, @"\u001B[31mred\u0000" + "\uFFFD \U0001F600")]
    [InlineData("Xml", RpcErrorDetail.Full, @"\u001B[31mred\u0000" + "\uFFFD \U0001F600")]
    public void A_text_with_characters_that_XML_forbids_arrives(
        string name, RpcErrorDetail? level, string text)
    {
        RpcServer server = Start(Http, level);
        Assert.True(MessageFormats.TryFind(name, out MessageFormat? format));
        using RpcClient client = RpcClient.Connect(
            server.Endpoints[0], SearchServer.Schema, new RpcClientOptions { Format = format });

        RpcException error = Assert.Throws<RpcException>(
            () => client.Invoke(client.GetMethod("Fail"), Request("controls")));

        Assert.Equal(RpcStatusCode.NotFound, error.Code);
        Assert.Equal(text, error.Message);
    }

    [Theory]
    [InlineData(Tcp)]
    [InlineData(Http)]
    [InlineData(Grpc)]
    public void What_is_wrong_with_a_request_is_told(string endpoint)
    {
        RpcServer server = Start(endpoint, RpcErrorDetail.None);
        using RpcClient client = RpcClient.Connect(server.Endpoints[0], SearchServer.Schema);

        RpcException error = Assert.Throws<RpcException>(
            () => client.Invoke(client.GetMethod("Who"), Request("x")));

        Assert.Equal(RpcStatusCode.Unimplemented, error.Code);
        Assert.Contains(
            "ProtoService.SearchService/Who has no handler", error.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(Tcp)]
    [InlineData(Http)]
    [InlineData(Grpc)]
    public void An_authors_exception_may_have_an_id_and_an_endpoint_of_its_own(string endpoint)
    {
        RpcException error = Call(Start(endpoint, null), "own");

        Assert.Equal(RpcStatusCode.FailedPrecondition, error.Code);
        Assert.Equal(Author, error.Message);
    }

    [Fact]
    public void A_record_that_fails_does_not_change_the_answer()
    {
        RpcServer server = Start(Tcp, null, _ => throw new IOException("disk full"));

        RpcException error = Call(server, "author");

        Assert.Equal(Author, error.Message);
    }

    [Fact]
    public async Task The_body_and_the_headers_of_an_HTTP_answer_have_nothing_of_the_exception()
    {
        RpcServer server = Start(Http, null);
        using HttpClient client = new() { BaseAddress = new Uri(server.Endpoints[0].Uri) };
        foreach ((string name, string value) in new[]
        {
            ("Accept", "application/json"), ("Accept", "text/xml"), ("Accept", "application/x-protobuf"),
            ("Connect-Protocol-Version", "1"),
        })
        {
            using HttpRequestMessage request = new(HttpMethod.Post, "/ProtoService.SearchService/Fail")
            {
                Content = new StringContent("""{"query":"inner"}""", Encoding.UTF8, "application/json"),
            };
            request.Headers.Add(name, value);
            using HttpResponseMessage response = await client.SendAsync(request);
            string all = response.ToString() + await response.Content.ReadAsStringAsync();

            Assert.Equal(500, (int)response.StatusCode);
            Assert.DoesNotContain("secret", all, StringComparison.OrdinalIgnoreCase);
            Assert.DoesNotContain("InvalidOperation", all, StringComparison.Ordinal);
            Assert.Contains(_record.Last().CorrelationId!, all, StringComparison.Ordinal);
        }
    }

    public void Dispose() => _servers.ForEach(server => server.Dispose());

    private static IMessage Request(string text) =>
        DynamicMessage.Parse(SearchServer.RequestType, SearchServer.Request(text));

    private static string Everything(RpcException error) => string.Join(
        '\n',
        error.ToString(), error.Remote?.ToString(), string.Join(' ', error.Details),
        string.Join(' ', error.Trailers.Select(t => $"{t.Key}={t.Value}")));

    private static RpcException Call(RpcServer server, string kind)
    {
        using RpcClient client = RpcClient.Connect(server.Endpoints[0], SearchServer.Schema);
        return Assert.Throws<RpcException>(() => client.Invoke(client.GetMethod("Fail"), Request(kind)));
    }

    private RpcServer Start(string endpoint, RpcErrorDetail? level, Action<RpcFailedCall>? record = null)
    {
        RpcServerOptions options = new() { ErrorDetail = level, CallFailed = record ?? _record.Enqueue };
        RpcServer server = RpcServer.Create(SearchServer.Schema, null, options.WithHttp())
            .Handle("Fail", (_, request) => throw Failure(SearchServer.TextOf(request)))
            .AddEndpoint(endpoint)
            .StartListening();
        _servers.Add(server);
        return server;
    }

    private static Exception Failure(string kind) => kind switch
    {
        "author" =>
            new RpcException(RpcStatusCode.ResourceExhausted, Author, new IOException("secret: pw=1")),
        "parameter" =>
            new ArgumentException("Wrong.", "order", new ArgumentNullException("id", "Must be there.")),
        "controls" => new RpcException(RpcStatusCode.NotFound, "\u001B[31mred\0\uFFFF \U0001F600"),
        "own" => new RpcException(RpcStatusCode.FailedPrecondition, Author)
        {
            ErrorId = "AccountLocked",
            Endpoint = RpcEndpoint.Parse("tcp://backend:1"),
        },
        "inner" =>
            new InvalidOperationException("secret outside", new InvalidOperationException("secret: pw=1")),
        "data" => new InvalidDataException("wrong") { Data = { ["k"] = "secret: pw=1" } },
        "missing" => new MissingMethodException("secret: pw=1"),
        "unimplemented" => new NotImplementedException("secret: pw=1"),
        "cancelled" => new OperationCanceledException("secret: pw=1"),
        "aggregate" => new AggregateException(new RpcException(RpcStatusCode.NotFound, "secret: pw=1")),
        "call" => Caught(() => RpcClient.Connect("ncalrpc:[no-such-secret]", SearchServer.Schema)),
        "schema" => Caught(() => RpcSchema.Load(["/no/such/secret.proto"])),
        "message" => Caught(() => new MessageMapper(PlainObjectModel.Instance).ToMessage(
            SearchServer.RequestType, new Dictionary<string, object> { ["secret"] = "x" })),
        "typename" => new SecretException(),
        _ => new InvalidOperationException(string.Create(CultureInfo.InvariantCulture, $"secret: pw={1}")),
    };

    private static RpcException Caught(Action fails) => Assert.Throws<RpcException>(fails);

    private sealed class SecretException : Exception;
}
