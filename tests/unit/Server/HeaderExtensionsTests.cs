using System.Buffers;
using Google.Protobuf;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Native;
using ProtoRpc.Tests.Messages;
using static ProtoRpc.Tests.Server.ExtendedServer;

namespace ProtoRpc.Tests.Server;

/// <summary>Extensions of applications in the headers and the exception of the native protocol.</summary>
public static class HeaderExtensionsTests
{
    [Theory]
    [InlineData(0)]
    [InlineData(2048)]
    public static void Go_both_ways_beside_the_headers(int parts)
    {
        using RpcServer server = Start(context =>
        {
            Assert.Equal("acme", context.RequestExtensions.Get("[ext.tenant]"));
            Assert.Equal(["a", "b"], (IEnumerable<string>)context.RequestExtensions.Get("[ext.tags]")!);
            DynamicMessage span = (DynamicMessage)context.RequestExtensions.Get("[ext.span]")!;
            Assert.Equal("s1", span.Get("id"));
            Assert.Equal("Ann", context.RequestHeaders.GetText("x-who"));
            SetNode(context);
            context.ReplyHeaders.Add("x-node", "n2");
        });
        using RpcClient client = Connect(
            server, new RpcClientOptions { Limits = new() { MultiPartThreshold = parts } });
        RpcMetadata headers = new();
        headers.Add("x-who", "Ann");
        RpcReplyInfo info = new();

        ExtendedServer.Do(
            client,
            new RpcCallOptions
            {
                Headers = headers,
                Extensions = Message(
                    RequestHeader, ("[ext.tenant]", "acme"), ("[ext.tags]", new[] { "a", "b" }),
                    ("[ext.span]", Message("ext.Span", ("id", "s1"), ("sampled", true)))),
                ReplyInfo = info,
            },
            size: 5000);

        Assert.Equal("n1", info.Extensions!.Get("[ext.node]"));
        Assert.Equal("n2", info.Headers.GetText("x-node"));
    }

    [Fact]
    public static void Are_empty_where_nobody_sets_them()
    {
        using RpcServer server = Start(context => Assert.Equal(0, context.RequestExtensions.CalculateSize()));
        using RpcClient client = Connect(server);
        RpcReplyInfo info = new();

        ExtendedServer.Do(
            client, new RpcCallOptions { ReplyInfo = info, Timeout = TimeSpan.FromSeconds(20) });

        Assert.Equal(0, info.Extensions!.CalculateSize());
        Assert.Equal(ResponseHeader, info.Extensions!.Type.FullName);
    }

    [Theory]
    [InlineData(RpcErrorDetail.Full)]
    [InlineData(RpcErrorDetail.None)]
    public static void Of_a_failure_come_with_the_exception(RpcErrorDetail detail)
    {
        using RpcServer server = Start(
            context =>
            {
                SetNode(context);
                throw new RpcException(RpcStatusCode.Unavailable, "later")
                {
                    Extensions = Message(
                        ExceptionInfo, ("[ext.retry_after]", 30), ("[ext.hints]", new[] { "x" })),
                };
            },
            new RpcServerOptions { ErrorDetail = detail });
        using RpcClient client = Connect(server);
        RpcReplyInfo info = new();

        RpcException error = Assert.Throws<RpcException>(
            () => ExtendedServer.Do(client, new RpcCallOptions { ReplyInfo = info }));

        DynamicMessage extensions = Assert.IsType<DynamicMessage>(error.Extensions);
        Assert.Equal("later", error.Message);
        Assert.Equal(30, extensions.Get("[ext.retry_after]"));
        Assert.Equal(["x"], (IEnumerable<string>)extensions.Get("[ext.hints]")!);
        Assert.Equal("n1", info.Extensions!.Get("[ext.node]"));
    }

    [Fact]
    public static void Of_a_failure_without_any_are_null()
    {
        using RpcServer server = Start(_ => throw new ArgumentNullException("order"));
        using RpcClient client = Connect(server);

        RpcException error = Assert.Throws<RpcException>(() => ExtendedServer.Do(client));

        Assert.Null(error.Extensions);
        Assert.Equal("order", error.Remote!.Data["ParamName"]);
    }

    [Fact]
    public static void Of_a_failed_call_to_another_server_are_not_passed_on()
    {
        using RpcServer inner = Start(_ => throw new RpcException(RpcStatusCode.Unavailable, "later")
        {
            Extensions = Message(ExceptionInfo, ("[ext.retry_after]", 30)),
        });
        using RpcClient between = Connect(inner);
        using RpcServer outer = Start(_ => ExtendedServer.Do(between));
        using RpcClient client = Connect(outer);

        RpcException error = Assert.Throws<RpcException>(() => ExtendedServer.Do(client));

        Assert.Null(error.Extensions);
    }

    [Theory]
    [InlineData("method_name", "Other", "'method_name'")]
    [InlineData("version", 7, "'version'")]
    [InlineData("[ext.mine]", 1u, "41001 ([protorpc.timeout_ms])")]
    public static void Of_the_protocol_cannot_be_set(string name, object value, string told)
    {
        int calls = 0;
        using RpcServer server = Start(_ => calls++);
        using RpcClient client = Connect(server);

        RpcException error = Assert.Throws<RpcException>(() => ExtendedServer.Do(
            client, new RpcCallOptions { Extensions = Message(RequestHeader, (name, value)) }));

        Assert.Equal(
            (RpcStatusCode.InvalidArgument, "InvalidExtension", 0), (error.Code, error.ErrorId, calls));
        Assert.Contains(told, error.Message, StringComparison.Ordinal);
        Assert.Contains(RequestHeader, error.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("12054F74686572", "'method_name'")] // A field that a type without it keeps as unknown.
    [InlineData("C88214" + "01", "'41001'")]
    public static void Of_the_protocol_cannot_be_set_as_unknown_fields(string hex, string told)
    {
        // Read by a type that does not know those numbers, under the name of the header.
        DynamicMessage given = new(ReplyLikeHeader);
        given.MergeFrom(Convert.FromHexString(hex));
        using RpcServer server = Start(_ => { });
        using RpcClient client = Connect(server);

        RpcException error = Assert.Throws<RpcException>(
            () => ExtendedServer.Do(client, new RpcCallOptions { Extensions = given }));

        Assert.Equal("InvalidExtension", error.ErrorId);
        Assert.Contains(told.Trim('\''), error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void Of_another_message_or_too_large_are_refused()
    {
        using RpcServer server = Start(_ => { });
        using RpcClient client = Connect(server, new RpcClientOptions
        {
            Limits = RpcLimits.Default with { MaxHeaderBytes = 100 },
        });

        RpcException Sending(DynamicMessage extensions) => Assert.Throws<RpcException>(
            () => ExtendedServer.Do(client, new RpcCallOptions { Extensions = extensions }));

        RpcException other = Sending(Message(ResponseHeader, ("[ext.node]", "n")));
        RpcException large = Sending(Message(RequestHeader, ("[ext.tenant]", new string('x', 99))));
        RpcException required = Sending(Message(RequestHeader, ("[ext.span]", Message("ext.Span"))));

        Assert.Contains(
            $"given as {RequestHeader}, not as {ResponseHeader}", other.Message,
            StringComparison.Ordinal);
        Assert.Contains("MaxHeaderBytes", large.Message, StringComparison.Ordinal);
        Assert.Contains("sampled", required.Message, StringComparison.Ordinal);
    }

    public static TheoryData<string, object> WrongOfServers { get; } = new()
    {
        { ResponseHeader, ("success", (object)true) },
        { ResponseHeader, ("[ext.status]", (object)0) },
        { ExceptionInfo, ("message", (object)"x") },
        { ExceptionInfo, ("[ext.display]", (object)"x") },
        { RequestHeader, ("[ext.tenant]", (object)"x") },
    };

    [Theory]
    [MemberData(nameof(WrongOfServers))]
    public static void Of_the_protocol_cannot_be_set_by_handlers(string type, object field)
    {
        DynamicMessage given = Message(type, ((string, object))field);
        using RpcServer fails = Start(_ => throw new RpcException(
            RpcStatusCode.Unavailable, "later", innerException: null, isByProtoRpc: false)
        {
            Extensions = given,
        });
        using RpcServer replies = Start(context => context.ReplyExtensions = given);
        using RpcClient ofFails = Connect(fails);
        using RpcClient ofReplies = Connect(replies);

        RpcException failed = Assert.Throws<RpcException>(() => ExtendedServer.Do(ofFails));
        RpcException replied = Assert.Throws<RpcException>(() => ExtendedServer.Do(ofReplies));

        Assert.Equal(RpcStatusCode.Internal, failed.Code);
        Assert.Contains("'later' cannot be sent", failed.Message, StringComparison.Ordinal);
        Assert.Null(failed.Extensions);
        Assert.Equal(RpcStatusCode.Internal, replied.Code);
    }

    [Fact]
    public static void Of_requests_are_read_from_the_bytes_of_any_client()
    {
        List<string> seen = [];
        using RpcServer server = Start(context => seen.Add(
            $"{context.RequestExtensions.Get("[ext.tenant]")} {context.RequestExtensions.Get("[ext.mine]")} "
            + $"{((DynamicMessage?)context.RequestExtensions.Get("[ext.span]"))?.Get("id")} "
            + $"{context.RequestExtensions.CalculateSize()} {context.Method.Name} "
            + $"{context.Deadline is not null}"));
        using RpcRawClient raw = RpcRawClient.Connect(
            server.Endpoints[0], InterfaceId);

        // method_name "Do", unknown 3000, tenant "acme", timeout_ms 60000, span { id: "s" sampled: true },
        // unknown 300000 as a group.
        string header = "1202446F" + "C0BB0105" + "C23E0461636D65" + "C88214E0D403"
            + "FAFFFFFF0F05" + "0A01731801" + "83BE92010801" + "84BE9201";
        byte[] reply = raw.Execute(Convert.FromHexString($"{header.Length / 2:X2}{header}"));

        Assert.Equal("acme 0 s 18 Do True", Assert.Single(seen));
        Assert.True(NativeHeaders.Read(NativeHeaders.ResponseParser, reply, out _).Success);
    }

    [Theory]
    [InlineData("FAFFFFFF0F02" + "0A05", "cannot be read")] // An id that is cut off.
    [InlineData("FAFFFFFF0F03" + "0A0173", "sampled")] // Without the required field.
    public static void Of_requests_that_are_malformed_are_the_callers_fault(string extension, string told)
    {
        int calls = 0;
        using RpcServer server = Start(_ => calls++);
        using RpcRawClient raw = RpcRawClient.Connect(
            server.Endpoints[0], InterfaceId);
        string header = "1202446F" + extension;

        RpcResponseHeader response = NativeHeaders.Read(
            NativeHeaders.ResponseParser,
            raw.Execute(Convert.FromHexString($"{header.Length / 2:X2}{header}")), out _);

        Assert.Equal(
            ((int)RpcStatusCode.InvalidArgument, 0),
            (response.GetExtension(ProtorpcTransportExtensions.StatusCode), calls));
        Assert.Contains(told, response.Exception.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void Of_requests_are_bounded_and_unknown_ones_are_not_counted()
    {
        int calls = 0;
        using RpcServer server = Start(_ => calls++, new RpcServerOptions
        {
            Limits = RpcLimits.Default with { MaxHeaderBytes = 200 },
        });
        using WireCaller caller = new(server.Endpoints[0], InterfaceId);

        RpcResponseHeader unknown = caller.Call("Do", new RpcVoid(), extensions: Field(3000, 500));
        RpcResponseHeader known = caller.Call("Do", new RpcVoid(), extensions: Field(1000, 500));

        Assert.True(unknown.Success);
        Assert.Equal(1, calls);
        Assert.Equal(
            (int)RpcStatusCode.InvalidArgument, known.GetExtension(ProtorpcTransportExtensions.StatusCode));
        Assert.Contains("MaxHeaderBytes", known.Exception.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void Of_replies_are_read_from_the_bytes_of_any_server()
    {
        // node "n", unknown 3000, status_code 0 under the number that the schema shadows.
        using RpcRawServer server = Answering(header => header.MergeFrom(
            Convert.FromHexString("C23E016E" + "C0BB0105" + "C88214" + "00")));
        using RpcClient client = RpcClient.Connect(
            server.Endpoints[0], ExtendedServer.Schema, new RpcClientOptions { Service = "ext.Extended" });
        RpcReplyInfo info = new();

        ExtendedServer.Do(client, new RpcCallOptions { ReplyInfo = info });

        Assert.Equal("n", info.Extensions!.Get("[ext.node]"));
        Assert.Equal(4, info.Extensions!.CalculateSize());
    }

    [Theory]
    [InlineData("CA3E" + "020A05")]
    [InlineData("CA3E" + "00")]
    public static void Of_replies_that_are_malformed_fail_the_call(string extension)
    {
        using RpcRawServer server = Answering(header => header.MergeFrom(Convert.FromHexString(extension)));
        using RpcClient client = RpcClient.Connect(
            server.Endpoints[0], ExtendedServer.Schema, new RpcClientOptions { Service = "ext.Extended" });

        RpcException error = Assert.Throws<RpcException>(
            () => ExtendedServer.Do(client, new RpcCallOptions { ReplyInfo = new RpcReplyInfo() }));

        Assert.Equal((RpcStatusCode.Internal, "BadHeader"), (error.Code, error.ErrorId));
    }

    [Theory]
    [InlineData("A0060F", 15)] // retry_after: 15
    [InlineData("A0060F" + "AA060168" + "CA82140178" + "C03E05", 15)] // And hints, display_message, unknown.
    [InlineData("A2060161", null)] // The number as text.
    public static void Of_exceptions_are_read_from_the_bytes_of_any_server(string extensions, int? expected)
    {
        using RpcRawServer server = Answering(header =>
        {
            header.Success = false;
            header.Exception = new RpcExceptionInfo { Message = "no" };
            header.Exception.MergeFrom(Convert.FromHexString(extensions));
        });
        using RpcClient client = RpcClient.Connect(
            server.Endpoints[0], ExtendedServer.Schema, new RpcClientOptions { Service = "ext.Extended" });

        RpcException error = Assert.Throws<RpcException>(() => ExtendedServer.Do(client));

        Assert.Equal(expected, (error.Extensions as DynamicMessage)?.Get("[ext.retry_after]"));
        Assert.Equal("", (error.Extensions as DynamicMessage)?.Get("[ext.display]") ?? "");
    }

    private static Guid InterfaceId => ExtendedServer.Schema.GetService("ext.Extended").InterfaceId;

    // The header's name with nothing in it, so that all of its numbers are unknown.
    private static RpcMessageInfo ReplyLikeHeader { get; } = ReplyMismatchTests.Load("""
        syntax = "proto2";
        package google.protobuf.rpc_messages;
        message RpcRequestHeader { }
        """).GetMessage(RequestHeader);

    private static byte[] Field(int number, int length)
    {
        using MemoryStream bytes = new();
        using CodedOutputStream output = new(bytes);
        output.WriteTag(number, WireFormat.WireType.LengthDelimited);
        output.WriteBytes(ByteString.CopyFrom(new byte[length]));
        output.Flush();
        return bytes.ToArray();
    }

    private static RpcRawServer Answering(Action<RpcResponseHeader> change) =>
        RpcRawServer.Create(InterfaceId)
            .OnExecute((RpcRawContext _, byte[] request) =>
            {
                RpcRequestHeader asked = NativeHeaders.Read(
                    NativeHeaders.RequestParser, request, out ReadOnlySpan<byte> _);
                RpcResponseHeader response = new() { MessageId = asked.MessageId };
                change(response);
                ArrayBufferWriter<byte> reply = new();
                NativeHeaders.Write(reply, response, body: null);
                return reply.WrittenSpan.ToArray();
            })
            .AddEndpoint(EchoServer.NewEndpoint(RpcTransport.Local))
            .StartListening();
}
