namespace ProtoRpc.Tests.Schema;

public static class RpcSchemaLoadTests
{
    private static string Protos => Path.Combine(AppContext.BaseDirectory, "protos");

    [Fact]
    public static void Loads_a_proto_with_its_service_messages_and_comments()
    {
        RpcSchema schema = RpcSchema.Load([Path.Combine(Protos, "sample.proto")]);

        RpcMethodInfo method = schema.GetMethod("Sample.MyService/Send");
        Assert.Equal("Sample.MyRequest", method.RequestType.FullName);
        Assert.Equal("Shows a message on the server.", method.Comment);
        Assert.Equal("Receives messages.", method.Service.Comment);
        RpcFieldInfo field = Assert.Single(method.RequestType.Fields);
        Assert.True(field.IsRequired);
        Assert.Equal("string", field.TypeName);
        Assert.Equal("The text.", field.Comment);
        Assert.Equal(["sample.proto"], schema.RootFiles);
        Assert.Empty(schema.Warnings);
    }

    [Fact]
    public static void Loads_every_proto_that_is_shipped()
    {
        RpcSchema schema = RpcSchema.Load([Path.Combine(Protos, "**", "*.proto")]);

        Assert.Equal(Directory.GetFiles(Protos, "*.proto", SearchOption.AllDirectories).Length,
            schema.RootFiles.Count);
        Assert.Empty(schema.Warnings);
        Assert.Contains("google/protobuf/csharp_options.proto", schema.RootFiles);
    }
}
