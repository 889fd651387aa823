using Google.Protobuf;

namespace ProtoRpc.Tests.Schema;

public static class InterfaceIdsTests
{
    [Theory]
    // The example of RFC 9562, appendix A.4.
    [InlineData(
        "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "www.example.com", "2ed6657d-e927-568b-95e1-2665a8aea6a2")]
    // Made with Python's uuid.uuid5, so that both sides of a call agree whatever they are written in.
    [InlineData(
        "c9be564e-39be-4c06-9670-3d1cbad30e64", "Sample.MyService", "7cf59c80-812c-5f63-a18a-aa443a358c0b")]
    [InlineData("c9be564e-39be-4c06-9670-3d1cbad30e64", "ünï.Dienst", "4427fc23-5e5d-50da-ad1c-ad6cc2a919c3")]
    public static void Name_based_ids_are_those_of_the_standard(string space, string name, string expected) =>
        Assert.Equal(new Guid(expected), InterfaceIds.OfName(new Guid(space), name));

    [Fact]
    public static void A_service_without_an_option_has_the_id_of_its_full_name()
    {
        RpcSchema schema = RpcSchema.Load([Path.Combine(TestProtos.Shipped, "sample.proto")]);

        Assert.Equal(new Guid("7cf59c80-812c-5f63-a18a-aa443a358c0b"), schema.Services[0].InterfaceId);
    }

    [Fact]
    public static void The_option_gives_the_id()
    {
        RpcServiceInfo service = TestProtos.Everything.GetService("everything.proto2.Calls");

        Assert.Equal(new Guid("abcdef01-2345-6789-abcd-ef0123456789"), service.InterfaceId);
    }

    [Fact]
    public static void The_id_survives_a_descriptor_set_without_the_file_of_the_option()
    {
        using TempFolder folder = new();
        Google.Protobuf.Reflection.FileDescriptorProto file = new()
        {
            Name = "a.proto",
            Service =
            {
                new Google.Protobuf.Reflection.ServiceDescriptorProto
                {
                    Name = "S",
                    Options = Google.Protobuf.Reflection.ServiceOptions.Parser.ParseFrom(
                        [0xC2, 0x3E, 38, 0x0A, 36, .. "11111111-2222-3333-4444-555555555555"u8]),
                },
            },
        };

        RpcSchema schema = RpcSchema.FromDescriptorSet(
            new Google.Protobuf.Reflection.FileDescriptorSet { File = { file } }.ToByteArray());

        Assert.Equal(new Guid("11111111-2222-3333-4444-555555555555"), schema.Services[0].InterfaceId);
    }

    [Theory]
    [InlineData("")]
    [InlineData("no guid")]
    [InlineData("11111111-2222-3333-4444-55555555555")]
    public static void An_option_that_is_no_guid_is_an_error_that_names_service_and_file(string text)
    {
        using TempFolder folder = new();
        string path = folder.Write("wrong.proto", $$"""
            syntax = "proto3";
            package p;
            import "google/protobuf/csharp_options.proto";
            service S {
              option (google.protobuf.csharp_service_options).interface_id = "{{text}}";
            }
            """);

        RpcException e = Assert.Throws<RpcException>(() => RpcSchema.Load([path]));

        Assert.Equal(RpcStatusCode.InvalidArgument, e.Code);
        Assert.StartsWith(
            $"wrong.proto: the interface_id '{text}' of service 'p.S'", e.Message, StringComparison.Ordinal);
    }
}
