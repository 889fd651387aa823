using System.Text;
using Google.Protobuf;
using Google.Protobuf.Reflection;
using Google.Protobuf.WellKnownTypes;
using ProtoRpc.Http.Tests.Tool;

namespace ProtoRpc.Http.Tests.Grpc;

/// <summary>Messages in an Any whose types only the server's reflection declares.</summary>
public sealed class ReflectedTypesTests
{
    private static readonly RpcSchema Boxes = ReflectionScript.Load(
        ("box.proto", """
            syntax = "proto3";
            package box;
            import "google/protobuf/any.proto";
            message Box { google.protobuf.Any content = 1; repeated google.protobuf.Any more = 2; }
            service Boxes { rpc Open (Box) returns (Box); }
            """),
        ("pen.proto", """
            syntax = "proto3";
            package pens;
            import "google/protobuf/any.proto";
            import "color.proto";
            message Pen { string name = 1; Color color = 2; google.protobuf.Any inside = 3; }
            """),
        ("color.proto", """
            syntax = "proto3";
            package pens;
            message Color { string name = 1; }
            """));

    private static readonly RpcSchema Bags = ReflectionScript.Load(
        ("bag.proto", """
            syntax = "proto2";
            package bag;
            message Bag { optional string name = 1; optional Bag inner = 2; extensions 100 to max; }
            service Bags { rpc Open (Bag) returns (Bag); }
            """),
        ("tag.proto", """
            syntax = "proto2";
            package tags;
            import "bag.proto";
            message Tag { optional string text = 1; }
            extend bag.Bag { optional Tag tag = 101; repeated int32 sizes = 102; }
            """));

    private readonly ReflectionScript _script;

    public ReflectedTypesTests() => _script = ScriptOf(Boxes, "box.Boxes");

    private const string Pen =
        """{"content":{"@type":"type.googleapis.com/pens.Pen","name":"Biro","color":{"name":"red"}}}""";

    [Fact]
    public async Task The_tool_reads_and_writes_them()
    {
        using ScriptedReflection server = new(_script, Boxes);

        ClientRun run = await ClientRun.RunAsync(
            ["call", server.Endpoint.ToString(), "box.Boxes/Open", "-d", Pen, "--compact"]);

        Assert.Equal("", run.Error);
        Assert.Equal(Pen, run.Output.Trim());
    }

    [Fact]
    public void They_are_asked_for_once_in_a_connection()
    {
        using ScriptedReflection server = new(_script, Boxes);
        using RpcClient client = RpcClient.Connect(server.Endpoint);
        client.FetchSchema();
        RpcMethodInfo open = client.GetMethod("Open");
        int before = _script.Questions;

        for (int i = 0; i < 3; i++)
        {
            DynamicMessage reply = client.Invoke(open, MessageFormats.Json.Read(open.RequestType, Pen));
            Assert.Contains("Biro", TextOf(reply), StringComparison.Ordinal);
        }

        // The file of the type, and the two that it imports.
        Assert.Equal(before + 3, _script.Questions);
    }

    [Fact]
    public async Task Nothing_is_read_for_symbols_of_which_one_is_missing()
    {
        using ScriptedReflection server = new(_script, Boxes);
        using RpcClient client = RpcClient.Connect(server.Endpoint);

        RpcSchema? missing = await client.FetchSymbolsAsync(
            ["pens.Pen", "pens.Gone"], null, CancellationToken.None);

        Assert.Null(missing);
        Assert.Equal(2, _script.Questions);
    }

    [Fact]
    public void One_within_another_is_found_as_well()
    {
        using ScriptedReflection server = new(_script, Boxes);
        using RpcClient client = RpcClient.Connect(server.Endpoint);
        RpcSchema schema = client.FetchSchema();
        const string Nested =
            """
            {"content":{"@type":"t/pens.Pen","inside":{"@type":"t/pens.Color","name":"blue"}}}
            """;

        DynamicMessage box = MessageFormats.Json.Read(schema.GetMessage("Box"), Nested);

        Assert.Contains("\"name\":\"blue\"", TextOf(box).Replace(" ", ""), StringComparison.Ordinal);
        Assert.Equal(box, new MessageMapper().ToMessage(box.Type, new MessageMapper().ToObject(box)));
    }

    [Fact]
    public async Task A_gateway_reads_and_writes_them()
    {
        using ScriptedReflection server = new(_script, Boxes);
        using RpcClient client = RpcClient.Connect(server.Endpoint);
        client.FetchSchema();
        using RpcServer gateway = RpcGateway
            .Create(client, serverOptions: new RpcServerOptions().WithHttp())
            .AddEndpoint("http://127.0.0.1:0/")
            .StartListening();
        using HttpClient http = new();
        using StringContent body = new(Pen, Encoding.UTF8, "application/json");

        using HttpResponseMessage response =
            await http.PostAsync($"{gateway.Endpoints[0].Uri}box.Boxes/Open", body);

        string text = await response.Content.ReadAsStringAsync();
        Assert.Equal(Pen, text.Replace(" ", "", StringComparison.Ordinal));
    }

    [Fact]
    public void A_reply_that_names_ten_thousand_types_makes_a_hundred_questions()
    {
        using ScriptedReflection server = new(_script, Boxes);
        using RpcClient client = RpcClient.Connect(server.Endpoint);
        RpcSchema schema = client.FetchSchema();
        int before = _script.Questions;
        DynamicMessage box = Box(schema, Enumerable.Range(0, 10_000).Select(i => $"none.N{i}"));

        string text = TextOf(box);
        int asked = _script.Questions - before;
        TextOf(box);

        Assert.Contains("none.N9999", text, StringComparison.Ordinal);
        Assert.Equal((100, 100), (asked, _script.Questions - before));
    }

    [Theory]
    [InlineData("type.googleapis.com/a b")]
    [InlineData("type.googleapis.com/\u001b[31m")]
    [InlineData("type.googleapis.com/.a")]
    public void A_name_that_is_none_is_not_asked_for(string url)
    {
        using ScriptedReflection server = new(_script, Boxes);
        using RpcClient client = RpcClient.Connect(server.Endpoint);
        RpcSchema schema = client.FetchSchema();
        int before = _script.Questions;

        new MessageMapper().ToObject(Box(schema, [], url));

        Assert.Equal(before, _script.Questions);
    }

    [Fact]
    public void A_server_that_fails_is_not_asked_again_at_once()
    {
        using ScriptedReflection server = new(_script, Boxes);
        using RpcClient client = RpcClient.Connect(server.Endpoint);
        RpcSchema schema = client.FetchSchema();
        int before = _script.Questions;
        _script.Instead = _ => throw new RpcException(RpcStatusCode.Unauthenticated, "no");
        DynamicMessage box = Box(schema, ["pens.Pen", "pens.Color", "pens.None"]);

        string text = TextOf(box);

        Assert.Contains("pens.None", text, StringComparison.Ordinal);
        Assert.Equal(before + 1, _script.Questions);
    }

    [Fact]
    public void They_are_unknown_when_the_connection_is_closed()
    {
        using ScriptedReflection server = new(_script, Boxes);
        RpcSchema schema;
        using (RpcClient client = RpcClient.Connect(server.Endpoint))
        {
            schema = client.FetchSchema();
        }

        Assert.Contains(
            "pens.Pen", TextOf(Box(schema, ["pens.Pen"])), StringComparison.Ordinal);
    }

    [Fact]
    public async Task Only_what_a_call_or_a_description_needs_is_asked_for()
    {
        _script.Services.AddRange(Enumerable.Range(0, 50).Select(i => $"more.S{i}"));
        using ScriptedReflection server = new(_script, Boxes);
        string endpoint = server.Endpoint.ToString();

        ClientRun call = await ClientRun.RunAsync(["call", endpoint, "box.Boxes/Open"]);
        int ofCall = _script.Questions;
        ClientRun describe = await ClientRun.RunAsync(["describe", endpoint, "pens.Color"]);
        int ofType = _script.Questions - ofCall;
        ClientRun bare = await ClientRun.RunAsync(["call", endpoint, "Open"]);

        Assert.Equal(("", 0, "", 0), (call.Error, call.Code, describe.Error, describe.Code));
        Assert.InRange(ofCall, 1, 2);
        Assert.Equal(1, ofType);
        Assert.Equal(0, bare.Code);
        Assert.Contains("more.S0", bare.Error, StringComparison.Ordinal);
    }

    private const string Bag =
        """{"name":"a","inner":{"[tags.sizes]":[1,2]},"[tags.tag]":{"text":"red"}}""";

    [Fact]
    public async Task The_tool_reads_and_writes_extensions_that_only_the_server_declares()
    {
        ReflectionScript script = ScriptOf(Bags, "bag.Bags");
        using ScriptedReflection server = new(script, Bags);

        ClientRun run = await ClientRun.RunAsync(
            ["call", server.Endpoint.ToString(), "bag.Bags/Open", "-d", Bag, "--compact"]);
        ClientRun unknown = await ClientRun.RunAsync(
            ["call", server.Endpoint.ToString(), "bag.Bags/Open", "-d", """{"[tags.none]":1}"""]);

        Assert.Equal("", run.Error);
        Assert.Equal(Bag, run.Output.Trim());
        Assert.NotEqual(0, unknown.Code);
        Assert.Contains("tags.none", unknown.Error, StringComparison.Ordinal);
    }

    [Fact]
    public void Extensions_of_replies_are_asked_for_by_number_and_can_be_changed()
    {
        ReflectionScript script = ScriptOf(Bags, "bag.Bags");
        using ScriptedReflection server = new(script, Bags);
        using RpcClient client = RpcClient.Connect(server.Endpoint);
        RpcMessageInfo type = client.FetchSchema().GetMessage("Bag");
        byte[] bytes = MessageFormats.Json.Read(Bags.GetMessage("Bag"), Bag).ToByteArray();
        DynamicMessage reply = DynamicMessage.Parse(type, bytes);
        MessageMapper mapper = new();
        int before = script.Questions;

        IDictionary<string, object?> members = mapper.ToRecord(reply).ToDictionary();
        string text = TextOf(reply);
        int asked = script.Questions - before;
        DynamicMessage changed = mapper.ToMessage(type, new Dictionary<string, object?>
        {
            ["name"] = "b",
            ["[tags.tag]"] = new Dictionary<string, object?> { ["text"] = "blue" },
        });

        Assert.Empty(type.Extensions);
        Assert.NotEmpty(members);
        Assert.Contains("red", text, StringComparison.Ordinal);
        Assert.InRange(asked, 2, 8);
        Assert.Contains("blue", TextOf(changed), StringComparison.Ordinal);
        Assert.Equal(reply, mapper.ToMessage(type, mapper.ToObject(reply)));
        Assert.Equal(bytes, reply.ToByteArray());
    }

    [Fact]
    public void A_reply_with_ten_thousand_unknown_fields_makes_a_hundred_questions()
    {
        ReflectionScript script = ScriptOf(Bags, "bag.Bags");
        using ScriptedReflection server = new(script, Bags);
        using RpcClient client = RpcClient.Connect(server.Endpoint);
        RpcMessageInfo type = client.FetchSchema().GetMessage("Bag");
        using MemoryStream bytes = new();
        using (CodedOutputStream output = new(bytes, leaveOpen: true))
        {
            for (int i = 0; i < 10_000; i++)
            {
                output.WriteTag(1000 + i, WireFormat.WireType.Varint);
                output.WriteInt32(1);
            }
        }

        int before = script.Questions;

        string text = TextOf(DynamicMessage.Parse(type, bytes.ToArray()));

        Assert.Equal("{}", text);
        Assert.Equal(before + 100, script.Questions);
    }

    private static ReflectionScript ScriptOf(RpcSchema schema, string service)
    {
        ReflectionScript script = new() { Reply = (_, request) => request };
        script.Files.Clear();
        foreach ((string name, FileDescriptorProto file) in ReflectionScript.FilesOf(schema))
        {
            script.Files.Add(name, file);
        }

        script.Services.Clear();
        script.Services.Add(service);
        return script;
    }

    private static string TextOf(DynamicMessage message)
    {
        using MemoryStream text = new();
        MessageFormats.Json.Write(message, text);
        return Encoding.UTF8.GetString(text.ToArray());
    }

    private static DynamicMessage Box(RpcSchema schema, IEnumerable<string> types, string url = "")
    {
        using MemoryStream bytes = new();
        using (CodedOutputStream output = new(bytes, leaveOpen: true))
        {
            Write(output, 1, url);
            foreach (string type in types)
            {
                Write(output, 2, $"type.googleapis.com/{type}");
            }
        }

        return DynamicMessage.Parse(schema.GetMessage("Box"), bytes.ToArray());
    }

    private static void Write(CodedOutputStream output, int number, string url)
    {
        output.WriteTag(number, WireFormat.WireType.LengthDelimited);
        output.WriteMessage(new Any { TypeUrl = url });
    }
}
