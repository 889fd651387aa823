using Google.Protobuf;
using Google.Protobuf.Reflection;
using Field = Google.Protobuf.Reflection.FieldDescriptorProto.Types;

namespace ProtoRpc.Http.Tests.Grpc;

/// <summary>Details of errors that cannot be written.</summary>
public static class DeepDetailTests
{
    [Fact]
    public static void The_status_arrives_without_them()
    {
        RpcMessageInfo type = RpcSchema.FromDescriptors(NodeFile()).GetMessage("deep.Node");
        DynamicMessage node = new(type);
        for (int i = 0; i < 150; i++)
        {
            DynamicMessage parent = new(type);
            parent.Set(type.FindField("child")!, node);
            node = parent;
        }

        using RpcServer server = RpcServer
            .Create(WordsServer.Schema, "streams.Words", new RpcServerOptions().WithHttp())
            .Handle(
                "Say", (_, _) => throw new RpcException(RpcStatusCode.NotFound, "gone") { Details = [node] })
            .AddEndpoint("grpc://127.0.0.1:0")
            .StartListening();
        using RpcClient client = RpcClient.Connect(
            server.Endpoints[0], WordsServer.Schema, new() { Service = "streams.Words" });

        RpcException error = Assert.Throws<RpcException>(
            () => client.Invoke(client.GetMethod("Say"), WordsServer.Text("x")));

        Assert.Equal((RpcStatusCode.NotFound, "gone"), (error.Code, error.Message));
        Assert.Empty(error.Details);
    }

    private static FileDescriptor NodeFile() => FileDescriptor.BuildFromByteStrings(
    [
        new FileDescriptorProto
        {
            Name = "node.proto",
            Package = "deep",
            Syntax = "proto3",
            MessageType =
            {
                new DescriptorProto
                {
                    Name = "Node",
                    Field =
                    {
                        new FieldDescriptorProto
                        {
                            Name = "child", Number = 1, Label = Field.Label.Optional,
                            Type = Field.Type.Message,
                            TypeName = ".deep.Node",
                        },
                    },
                },
            },
        }.ToByteString(),
    ])[0];
}
