using Google.Protobuf;
using Google.Protobuf.Reflection;

namespace ProtoRpc.Http.Tests;

/// <summary>The bound of what a message is made of,
/// at both ends of a call on each kind of endpoint.</summary>
public static class ElementLimitTests
{
    private const int Many = 5000;

    internal static readonly RpcSchema Schema = RpcSchema.FromDescriptorSet(new FileDescriptorSet
    {
        File =
        {
            new FileDescriptorProto
            {
                Name = "tree.proto",
                Package = "tree",
                Syntax = "proto3",
                MessageType =
                {
                    new DescriptorProto
                    {
                        Name = "Node",
                        Field =
                        {
                            FieldOf("nodes", 1, FieldDescriptorProto.Types.Type.Message, ".tree.Node"),
                            FieldOf("notes", 2, FieldDescriptorProto.Types.Type.String),
                            FieldOf("sizes", 3, FieldDescriptorProto.Types.Type.Int32),
                            FieldOf("names", 4, FieldDescriptorProto.Types.Type.String),
                            FieldOf("times", 5, FieldDescriptorProto.Types.Type.Int64),
                            FieldOf("marks", 6, FieldDescriptorProto.Types.Type.Bool),
                            FieldOf("texts", 7, FieldDescriptorProto.Types.Type.String),
                        },
                    },
                },
                Service =
                {
                    new ServiceDescriptorProto
                    {
                        Name = "Trees",
                        Method =
                        {
                            new MethodDescriptorProto
                            {
                                Name = "Grow", InputType = ".tree.Node", OutputType = ".tree.Node",
                            },
                        },
                    },
                },
            },
        },
    }.ToByteArray());

    private static readonly RpcLimits Few = new() { MaxMessageElements = 100 };

    public static TheoryData<string, string> Endpoints => new()
    {
        { "http://127.0.0.1:0/", "Json" },
        { "http://127.0.0.1:0/", "Xml" },
        { "http://127.0.0.1:0/", "Binary" },
        { "grpc://127.0.0.1:0", "Binary" },
        { "ncacn_ip_tcp:127.0.0.1[0]", "Binary" },
    };

    [Theory]
    [MemberData(nameof(Endpoints))]
    public static void Listeners_refuse_requests_of_too_many_elements(string endpoint, string format)
    {
        using RpcServer server = Serve(endpoint, Few);
        using RpcClient client = Connect(server, format, RpcLimits.Default);

        RpcException error = Assert.Throws<RpcException>(
            () => client.Invoke(client.GetMethod("Grow"), Tree(Many)));

        Assert.Equal(RpcStatusCode.ResourceExhausted, error.Code);
        Assert.Contains("MaxMessageElements", error.Message);
        Assert.NotNull(client.Invoke(client.GetMethod("Grow"), Tree(3)));
    }

    [Theory]
    [MemberData(nameof(Endpoints))]
    public static void Clients_refuse_replies_of_too_many_elements(string endpoint, string format)
    {
        using RpcServer server = Serve(endpoint, RpcLimits.Default);
        using RpcClient client = Connect(server, format, Few);

        RpcException error = Assert.Throws<RpcException>(
            () => client.Invoke(client.GetMethod("Grow"), Tree(0)));

        Assert.Equal(RpcStatusCode.ResourceExhausted, error.Code);
        Assert.Contains("MaxMessageElements", error.Message);
    }

    // The reply is large where the clients are those that refuse it.
    private static RpcServer Serve(string endpoint, RpcLimits limits) => RpcServer
        .Create(Schema, null, new RpcServerOptions { Limits = limits }.WithHttp(null))
        .Handle("Grow", (_, _) => ValueTask.FromResult<IMessage>(Tree(limits == Few ? 1 : Many)))
        .AddEndpoint(endpoint)
        .StartListening();

    private static RpcClient Connect(RpcServer server, string format, RpcLimits limits)
    {
        Assert.True(MessageFormats.TryFind(format, out MessageFormat? known));
        return RpcClient.Connect(
            server.Endpoints[0], Schema, new RpcClientOptions { Format = known, Limits = limits });
    }

    // Children without anything, which take two bytes each.
    private static DynamicMessage Tree(int children) => DynamicMessage.Parse(
        Schema.GetMessage("tree.Node"), Enumerable.Repeat<byte[]>([0x0A, 0], children)
            .SelectMany(b => b).ToArray());

    private static FieldDescriptorProto FieldOf(
        string name, int number, FieldDescriptorProto.Types.Type type, string? typeName = null)
    {
        FieldDescriptorProto field = new()
        {
            Name = name,
            Number = number,
            Type = type,
            Label = FieldDescriptorProto.Types.Label.Repeated,
        };
        if (typeName is not null)
        {
            field.TypeName = typeName;
        }

        return field;
    }
}
