using ProtoRpc.Protocols.Headers;
using ProtoRpc.Tests.Server;

namespace ProtoRpc.Tests.Gateway;

/// <summary>Headers that callers of native endpoints write themselves, past what a client of ours would
/// send.</summary>
public static class HostileMetadataTests
{
    [Theory]
    [InlineData("a\r\nb", "x")]
    [InlineData(":path", "/other")]
    [InlineData("", "x")]
    [InlineData("ünicode", "x")]
    [InlineData("a b", "x")]
    [InlineData("name", "x\r\nset-cookie: a=b")]
    [InlineData("name", "x\0y")]
    [InlineData("name", "\u001b[31m")]
    [InlineData("name-bin", "text where bytes go")]
    public static void That_are_no_headers_are_refused_at_the_gateway(string name, string value)
    {
        int calls = 0;
        using Chain chain = new(_ => calls++);

        RpcResponseHeader reply = chain.Call((name, value));

        Assert.Equal(
            (int)RpcStatusCode.InvalidArgument,
            reply.GetExtension(ProtorpcTransportExtensions.StatusCode));
        Assert.Equal(0, calls);
    }

    [Theory]
    [InlineData("host")]
    [InlineData("connection")]
    [InlineData("keep-alive")]
    [InlineData("te")]
    [InlineData("upgrade")]
    [InlineData("transfer-encoding")]
    [InlineData("content-length")]
    [InlineData("content-type")]
    [InlineData("grpc-timeout")]
    [InlineData("grpc-encoding")]
    [InlineData("grpc-status")]
    [InlineData("Proxy-Authorization")]
    [InlineData("AUTHORIZATION")]
    [InlineData("x-forwarded-for")]
    public static void Of_connections_and_identities_stay_at_the_gateway(string name)
    {
        RpcMetadata? came = null;
        using Chain chain = new(headers => came = headers);

        RpcResponseHeader reply = chain.Call((name, "1"), ("x-tenant", "acme"));

        Assert.Null(reply.Exception);
        Assert.Equal(["protorpc-hops", "x-tenant"], came!.Names.Order());
    }

    [Theory]
    [InlineData("-1")]
    [InlineData("99999999999999999999")]
    [InlineData("0x7")]
    [InlineData(" 7")]
    [InlineData("")]
    public static void A_count_of_gateways_that_none_wrote_begins_anew(string hops)
    {
        RpcMetadata? came = null;
        using Chain chain = new(headers => came = headers);

        chain.Call(("protorpc-hops", hops));

        Assert.Equal("1", came!.GetText("protorpc-hops"));
        Assert.Single(came.GetAll("protorpc-hops"));
    }

    [Fact]
    public static void Too_many_are_refused_before_they_are_copied()
    {
        int calls = 0;
        using Chain chain = new(_ => calls++);

        RpcResponseHeader reply = chain.Call(
            [.. Enumerable.Range(0, 10_000).Select(number => ($"x-{number}", "1"))]);

        Assert.NotNull(reply.Exception);
        Assert.Equal(0, calls);
    }

    /// <summary>A server that looks at headers, and a gateway before it.</summary>
    private sealed class Chain : IDisposable
    {
        private readonly RpcServer _server;
        private readonly RpcClient _client;
        private readonly RpcServer _gateway;
        private readonly WireCaller _caller;

        public Chain(Action<RpcMetadata> look)
        {
            _server = RpcServer.Create(EchoServer.Schema, "calls.Echo")
                .Handle<EchoRequest, EchoReply>("Say", (context, request) =>
                {
                    look(context.RequestHeaders);
                    return new EchoReply { Text = request.Text };
                })
                .AddEndpoint(EchoServer.NewEndpoint(RpcTransport.Local))
                .StartListening();
            _client = EchoServer.Connect(_server);
            _gateway = RpcServer.Create(EchoServer.Schema, "calls.Echo")
                .Forward(_client, "calls.Echo")
                .AddEndpoint(EchoServer.NewEndpoint(RpcTransport.Local))
                .StartListening();
            _caller = new WireCaller(_gateway.Endpoints[0], _gateway.Services[0].Value);
        }

        public RpcResponseHeader Call(params (string Name, string Value)[] headers)
        {
            Metadata metadata = new();
            metadata.Entries.AddRange(headers.Select(
                header => new Metadata.Types.Entry { Name = header.Name, Text = header.Value }));
            return _caller.Call("Say", new EchoRequest { Text = "x" }, headers: metadata);
        }

        public void Dispose()
        {
            _caller.Dispose();
            _gateway.Dispose();
            _client.Dispose();
            _server.Dispose();
        }
    }
}
