using System.Buffers;
using System.Text;
using Google.Protobuf;
using Google.Protobuf.Reflection;
using ProtoRpc.Protocols;
using ProtoRpc.Server;
using Kind = Google.Protobuf.Reflection.FieldDescriptorProto.Types.Type;

namespace ProtoRpc.Tests.Server;

/// <summary>What decoding a request takes: its memory counts, and it ends with the call.</summary>
public static class RequestDecodingTests
{
    private const int WideFields = 900;
    private const int Pieces = 20_000;

    // What docs/security-promises.md states.
    private const int BytesPerElement = 64;
    private const int BytesPerByte = 32;
    private const int FixedBytes = 64 * 1024;

    private static readonly RpcLimits Wide = new() { MaxMessageElements = int.MaxValue };

    private static readonly RpcMethodInfo Method = MakeSchema().GetService("Test").Methods[0];

    public static TheoryData<string, string, string, string> Lists => new()
    {
        { "Binary", "", "\x0a\0", "" },
        { "Json", "{\"wide\":[{}", ",{}", "]}" },
        { "Xml", "<a>", "<wide/>", "</a>" },
        { "Text", "", "wide{}", "" },
    };

    public static TheoryData<string, string, string, string> Shapes => new()
    {
        { "Binary", "", "\x12\0", "" },
        { "Binary", "", "\x1a\x01x", "" },
        { "Binary", "", "\x1a\0", "" },
        { "Binary", "", "\x22\0", "" },
        { "Binary", "", "\x28\x01", "" },
        { "Binary", "", "\x2a\x04\x01\x01\x01\x01", "" },
        { "Binary", "", "\x38\0", "" },
        { "Binary", "", "\x42\0", "" },
        { "Binary", "", "\xf8\x7f\x01", "" },
        { "Binary", "", "\x0a\0", "" },
        { "Json", "{\"none\":[{}", ",{}", "]}" },
        { "Json", "{\"texts\":[\"\"", ",\"x\"", "]}" },
        { "Json", "{\"blobs\":[\"\"", ",\"AA\"", "]}" },
        { "Json", "{\"numbers\":[1", ",1", "]}" },
        { "Json", "{\"wide\":[{}", ",{}", "]}" },
        { "Xml", "<a>", "<none/>", "</a>" },
        { "Xml", "<a>", "<texts>x</texts>", "</a>" },
        { "Xml", "<a>", "<numbers>1</numbers>", "</a>" },
        { "Xml", "<a>", "<wide/>", "</a>" },
        { "Text", "", "none{}", "" },
        { "Text", "texts:['x'", ",'x'", "]" },
        { "Text", "numbers:[1", ",1", "]" },
        { "Text", "", "wide{}", "" },
        { "Form", "texts=x", "&texts=x", "" },
        { "Form", "numbers=1", "&numbers=1", "" },
    };

    [Theory]
    [MemberData(nameof(Lists))]
    public static void Short_requests_count_with_the_memory_of_unset_fields(
        string format, string before, string one, string after)
    {
        const int Children = 1_100;
        RequestMemory memory = new(512 * 1024 * 1024);
        RpcServerCallContext context = RequestContexts.Of(Method, memory, Wide);
        Read(format, Make(before, one, after, 1), context);
        context.Memory!.Release();

        Read(format, Make(before, one, after, Children), context);

        Assert.InRange(memory.Held, Children * WideFields * 8, Children * WideFields * 10);
        context.Memory!.Release();
        Assert.Equal(0, memory.Held);
    }

    [Theory]
    [MemberData(nameof(Lists))]
    public static void Requests_for_whose_messages_there_is_no_room_are_refused_as_busy(
        string format, string before, string one, string after)
    {
        RequestMemory memory = new(6 * 1024 * 1024);
        byte[] bytes = Make(before, one, after, 500);
        Read(format, bytes, RequestContexts.Of(Method, memory, Wide));

        RpcException error = Assert.Throws<RpcException>(
            () => Read(format, bytes, RequestContexts.Of(Method, memory, Wide)));

        Assert.Equal("ServerBusy", error.ErrorId);
    }

    [Theory]
    [MemberData(nameof(Shapes))]
    public static void A_message_takes_no_more_than_the_page_says(
        string format, string before, string one, string after)
    {
        RequestMemory memory = new(long.MaxValue);
        byte[] bytes = Make(before, one, after, Pieces);
        RpcServerCallContext context = RequestContexts.Of(Method, memory, Wide);

        Read(format, Make(before, one, after, 1), context);
        context.Memory!.Release();

        IMessage read = Read(format, bytes, context);

        int messages = (Count(read, "wide") * (WideFields + 1)) + Count(read, "none")
            + (2 * Count(read, "small"));
        Assert.InRange(
            memory.Held, messages * 8L,
            ((long)BytesPerElement * messages) + ((long)BytesPerByte * bytes.Length) + FixedBytes);
    }

    [Fact]
    public static void Messages_of_generated_classes_count_as_well()
    {
        RequestMemory memory = new(long.MaxValue);
        RpcMethodInfo method = MethodOf("everything.proto3.Singular");
        ServerMethod typed = new(
            method, (_, request) => ValueTask.FromResult(request), Everything.Proto3.Singular.Parser);

        byte[] bytes = new Everything.Proto3.Singular { FString = new string('x', 1_000) }.ToByteArray();
        RpcServerCallContext context = RequestContexts.Of(method, memory, Wide);

        // The first request makes what is made once for its type.
        typed.ReadRequest(bytes, context);
        context.Memory!.Release();
        typed.ReadRequest(bytes, context);

        Assert.InRange(memory.Held, 2_000, 3_000);
    }

    [Theory]
    [MemberData(nameof(Lists))]
    public static void A_request_whose_caller_left_is_not_decoded_to_its_end(
        string format, string before, string one, string after)
    {
        using CancellationTokenSource left = new();
        left.Cancel();
        RequestMemory memory = new(long.MaxValue);

        Assert.ThrowsAny<OperationCanceledException>(() => Read(
            format, Make(before, one, after, Pieces),
            RequestContexts.Of(Method, memory, Wide, cancellation: left.Token)));

        Assert.InRange(memory.Held, 0, Pieces * WideFields * 4);
    }

    [Theory]
    [MemberData(nameof(Lists))]
    public static void A_request_whose_deadline_passes_is_not_decoded_to_its_end(
        string format, string before, string one, string after)
    {
        RpcException error = Assert.Throws<RpcException>(() => Read(
            format, Make(before, one, after, Pieces),
            RequestContexts.Of(Method, limits: Wide, deadline: DateTimeOffset.UtcNow.AddSeconds(-1))));

        Assert.Equal(RpcStatusCode.DeadlineExceeded, error.Code);
    }

    private static int Count(IMessage message, string field) =>
        ((DynamicMessage)message)[field] is System.Collections.ICollection { Count: var count } ? count : 0;

    private static IMessage Read(string name, byte[] bytes, RpcServerCallContext context)
    {
        Assert.True(MessageFormats.TryFind(name, out MessageFormat? format));
        ServerMethod method = new(Method, (_, request) => ValueTask.FromResult(request));
        FormatOptions options = new() { MaxFormFields = int.MaxValue, MaxElements = int.MaxValue };
        return method.ReadRequest(format, new ReadOnlySequence<byte>(bytes), options, context);
    }

    private static byte[] Make(string before, string one, string after, int count) =>
        Encoding.Latin1.GetBytes(
            new StringBuilder(before).Insert(before.Length, one, count).Append(after).ToString());

    /// <summary>A method that takes and returns a type of the test schema.</summary>
    internal static RpcMethodInfo MethodOf(string type)
    {
        FileDescriptorSet files = FileDescriptorSet.Parser.ParseFrom(
            Messages.TestMessages.Type("proto3.Leaf").Schema.ToDescriptorSet());
        files.File.Single(file => file.Package == "everything.proto3").Service.Add(ServiceOf($".{type}"));
        RpcSchema schema = RpcSchema.FromDescriptorSet(files.ToByteArray());
        return schema.GetService("everything.proto3.Test").Methods[0];
    }

    private static ServiceDescriptorProto ServiceOf(string type) => new()
    {
        Name = "Test",
        Method = { new MethodDescriptorProto { Name = "Call", InputType = type, OutputType = type } },
    };

    private static RpcSchema MakeSchema()
    {
        DescriptorProto wide = new() { Name = "Wide" };
        for (int i = 1; i <= WideFields; i++)
        {
            wide.Field.Add(FieldOf($"f{i}", i, Kind.String));
        }

        DescriptorProto request = new()
        {
            Name = "Request",
            Field =
            {
                FieldOf("wide", 1, Kind.Message, ".Wide"),
                FieldOf("none", 2, Kind.Message, ".None"),
                FieldOf("texts", 3, Kind.String),
                FieldOf("blobs", 4, Kind.Bytes),
                FieldOf("numbers", 5, Kind.Int64),
                FieldOf("flags", 7, Kind.Bool),
                FieldOf("small", 8, Kind.Message, ".Small"),
            },
        };
        DescriptorProto small = new() { Name = "Small", Field = { FieldOf("texts", 1, Kind.String) } };
        return RpcSchema.FromDescriptorSet(new FileDescriptorSet
        {
            File =
            {
                new FileDescriptorProto
                {
                    Name = "decoding.proto",
                    Syntax = "proto3",
                    MessageType = { wide, request, small, new DescriptorProto { Name = "None" } },
                    Service = { ServiceOf(".Request") },
                },
            },
        }.ToByteArray());
    }

    private static FieldDescriptorProto FieldOf(string name, int number, Kind kind, string? type = null)
    {
        FieldDescriptorProto field = new()
        {
            Name = name,
            Number = number,
            Type = kind,
            Label = FieldDescriptorProto.Types.Label.Repeated,
        };
        if (type is not null)
        {
            field.TypeName = type;
        }

        return field;
    }
}
