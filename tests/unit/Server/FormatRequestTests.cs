using System.Buffers;
using System.Text;
using Google.Protobuf;
using Google.Protobuf.Reflection;
using ProtoRpc.Server;
using ProtoRpc.Tests.Formats;
using ProtoRpc.Tests.Messages;

namespace ProtoRpc.Tests.Server;

/// <summary>Requests in text formats for handlers that take generated classes.</summary>
public static class FormatRequestTests
{
    private const string Complete =
        """{"id":1,"name":"a","place":{"x":2},"leaf":{"text":"b"},"color":"RED"}""";

    private static readonly FormatOptions Options =
        new() { Schema = TestMessages.Type("proto3.Leaf").Schema };

    [Fact]
    public static void A_class_with_required_fields_is_read_each_time()
    {
        ServerMethod method = Method();
        Everything.Proto2.Required expected = new()
        {
            Id = 1,
            Name = "a",
            Place = new() { X = 2 },
            Leaf = new() { Text = "b" },
            Color = Everything.Proto2.Color.Red,
        };

        for (int i = 0; i < 3; i++)
        {
            Assert.Equal(expected, Read(method, Segments.Pieces(Encoding.UTF8.GetBytes(Complete), 3)));
        }
    }

    [Fact]
    public static void Required_fields_that_are_missing_are_named()
    {
        ServerMethod method = Method();
        for (int i = 0; i < 3; i++)
        {
            RpcException error = Assert.Throws<RpcException>(
                () => Read(method, new ReadOnlySequence<byte>("""{"id":1}"""u8.ToArray())));

            Assert.Equal(RpcErrorIds.MissingRequiredField, error.ErrorId);
            Assert.Equal("Required.name", error.FieldPath);
            Read(method, new ReadOnlySequence<byte>(Encoding.UTF8.GetBytes(Complete)));
        }
    }

    private static IMessage Read(ServerMethod method, ReadOnlySequence<byte> body) =>
        method.ReadRequest(MessageFormats.Json, body, Options, RequestContexts.Of(method.Info));

    // A service with a method that takes a message with required fields.
    private static ServerMethod Method()
    {
        RpcSchema schema = RpcSchema.FromDescriptorSet(WithService().ToByteArray());
        return new ServerMethod(
            schema.GetService("everything.proto2.Needs").Methods[0],
            (_, request) => ValueTask.FromResult(request), Everything.Proto2.Required.Parser);
    }

    private static FileDescriptorSet WithService()
    {
        FileDescriptorSet files =
            FileDescriptorSet.Parser.ParseFrom(
                TestMessages.Type("proto2.Required").Schema.ToDescriptorSet());
        files.File.Single(file => file.Package == "everything.proto2").Service.Add(new ServiceDescriptorProto
        {
            Name = "Needs",
            Method =
            {
                new MethodDescriptorProto
                {
                    Name = "Call",
                    InputType = ".everything.proto2.Required",
                    OutputType = ".everything.proto2.Leaf",
                },
            },
        });
        return files;
    }
}
