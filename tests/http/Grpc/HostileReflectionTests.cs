using System.Diagnostics;
using System.Net;
using Google.Protobuf.Reflection;
using ProtoRpc.Protocols.Grpc.Proto;

namespace ProtoRpc.Http.Tests.Grpc;

/// <summary>Reflection services that try to exhaust a client, and those behind proxies.</summary>
public static class HostileReflectionTests
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(60);

    [Fact]
    public static void An_endless_list_ends_with_the_services_that_were_asked_for()
    {
        ReflectionScript script = new();
        script.Instead = request => Endless(script.Good(request));

        RpcException error = Fetch(script);

        Assert.Equal("BadReflection", error.ErrorId);
        Assert.Contains("again and again", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void A_hundred_thousand_services_are_too_many()
    {
        ReflectionScript script = new();
        script.Services.AddRange(Enumerable.Range(0, 100_000).Select(i => $"many.S{i}"));

        RpcException error = Fetch(script);

        Assert.Equal("BadReflection", error.ErrorId);
        Assert.Contains("10,000 services", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void Thousands_of_services_without_a_file_are_twenty_warnings()
    {
        ReflectionScript script = new();
        script.Services.AddRange(Enumerable.Range(0, 2000).Select(i => $"many{i}.S"));

        using ScriptedReflection server = new(script);
        using RpcClient client = RpcClient.Connect(server.Endpoint);
        RpcSchema schema = client.FetchSchema();

        Assert.Equal(21, schema.Warnings.Count);
        Assert.Equal(2002, schema.Services.Count);
        Assert.Null(schema.GetMethod("shop.Shop/Say").Problem);
    }

    [Fact]
    public static void A_gigabyte_of_files_ends_at_the_limit()
    {
        ReflectionScript script = new();
        int count = 0;
        script.Instead = request => request.FileByFilename.Length > 0
            ? [ReflectionScript.Send(new FileDescriptorProto
                {
                    Name = $"f{++count}.proto",
                    Dependency = { $"g{count}.proto" },
                    SourceCodeInfo = new SourceCodeInfo
                    {
                        Location =
                        {
                            new SourceCodeInfo.Types.Location
                            {
                                LeadingComments = new string('x', 2_000_000) + count,
                            },
                        },
                    },
                })]
            : null;

        RpcException error = Fetch(script);

        Assert.Equal("BadReflection", error.ErrorId);
        Assert.Contains("67,108,864 bytes", error.Message, StringComparison.Ordinal);
        Assert.InRange(count, 30, 40);
    }

    [Fact]
    public static void Imports_without_end_stop_at_the_limit()
    {
        ReflectionScript script = new();
        int count = 0;
        script.Instead = request => request.FileByFilename.Length > 0
            ? [ReflectionScript.Send(new FileDescriptorProto
                {
                    Name = $"f{++count}.proto", Dependency = { $"g{count}.proto" },
                })]
            : null;

        RpcException error = Fetch(script);

        Assert.Equal("BadReflection", error.ErrorId);
        Assert.InRange(script.Questions, 9_000, 10_100);
    }

    [Fact]
    public static void Missing_types_without_end_stop_at_the_limit()
    {
        ReflectionScript script = new();
        FileDescriptorProto file = script["other/other.proto"];
        for (int i = 0; i < 5000; i++)
        {
            file.MessageType[0].Field.Add(new FieldDescriptorProto
            {
                Name = $"f{i}",
                Number = i + 2,
                Label = FieldDescriptorProto.Types.Label.Optional,
                Type = FieldDescriptorProto.Types.Type.Message,
                TypeName = $".gone{i}.Gone",
            });
        }

        using ScriptedReflection server = new(script);
        using RpcClient client = RpcClient.Connect(server.Endpoint);
        RpcSchema schema = client.FetchSchema();

        Assert.InRange(script.Questions, 200, 220);
        Assert.NotNull(schema.GetMethod("other.Other/Send").Problem);
        Assert.Null(schema.GetMethod("shop.Shop/Get").Problem);
    }

    [Fact]
    public static void An_answer_that_never_comes_ends_with_the_deadline()
    {
        ReflectionScript script = new()
        {
            Instead = request => request.FileContainingSymbol.Length > 0 ? [null] : null,
        };
        using ScriptedReflection server = new(script);
        using RpcClient client = RpcClient.Connect(server.Endpoint);
        long start = Stopwatch.GetTimestamp();

        RpcException error = Assert.Throws<RpcException>(
            () => client.FetchSchema(new() { Timeout = TimeSpan.FromMilliseconds(300) }));

        Assert.Equal(RpcStatusCode.DeadlineExceeded, error.Code);
        Assert.InRange(Stopwatch.GetElapsedTime(start), TimeSpan.Zero, Patience);
    }

    [Theory]
    [InlineData(HttpStatusCode.NotFound)]
    [InlineData(HttpStatusCode.OK)]
    [InlineData(HttpStatusCode.BadGateway)]
    public static void Version_1_alpha_is_asked_where_a_proxy_answers_for_version_1(HttpStatusCode status)
    {
        using WordsServer server = new();
        using RpcClient client = RpcClient.Connect(server.Endpoint, Behind(status, isForAll: false));

        Assert.NotNull(client.FetchSchema().FindMethod("streams.Words/Say"));
    }

    [Fact]
    public static void A_proxy_that_answers_for_both_versions_is_reported()
    {
        using WordsServer server = new();
        using RpcClient client =
            RpcClient.Connect(server.Endpoint, Behind(HttpStatusCode.NotFound, isForAll: true));

        RpcException error = Assert.Throws<RpcException>(() => client.FetchSchema());

        Assert.Equal("NotGrpc", error.ErrorId);
        Assert.Contains("HTTP 404", error.Message, StringComparison.Ordinal);
    }

    private static RpcException Fetch(ReflectionScript script)
    {
        using ScriptedReflection server = new(script);
        using RpcClient client = RpcClient.Connect(
            server.Endpoint,
            new RpcClientOptions { Limits = new RpcLimits { CallTimeout = Patience } });
        return Assert.Throws<RpcException>(() => client.FetchSchema());
    }

    private static IEnumerable<ServerReflectionResponse?> Endless(ServerReflectionResponse reply)
    {
        while (true)
        {
            yield return reply;
        }
    }

    private static RpcClientOptions Behind(HttpStatusCode status, bool isForAll) => new()
    {
        HttpHandler = () => new Proxy(status, isForAll),
        Lazy = true,
        RetryCount = 0,
    };

    private sealed class Proxy(HttpStatusCode status, bool isForAll)
        : DelegatingHandler(new SocketsHttpHandler { UseProxy = false })
    {
        protected override async Task<HttpResponseMessage> SendAsync(
            HttpRequestMessage request, CancellationToken cancellationToken) =>
            isForAll || request.RequestUri!.AbsolutePath.StartsWith(
                "/grpc.reflection.v1.", StringComparison.Ordinal)
                ? new HttpResponseMessage(status) { Content = new StringContent("<html>no</html>") }
                : await base.SendAsync(request, cancellationToken);
    }
}
