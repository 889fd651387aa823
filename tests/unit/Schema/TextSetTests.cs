using System.IO.Compression;
using System.Text;
using Google.Protobuf.Reflection;

namespace ProtoRpc.Tests.Schema;

/// <summary>Descriptor sets that are JSON, text or compressed, as buf and others write them.</summary>
public static class TextSetTests
{
    // An image of buf: each file has a field of buf's own, and options are named by their extensions.
    private const string Image = """
        {"file":[
         {"name":"own/opts.proto","package":"own","dependency":["google/protobuf/descriptor.proto"],
          "extension":[{"name":"mark","number":50001,"label":"LABEL_OPTIONAL","type":"TYPE_STRING",
            "extendee":".google.protobuf.FieldOptions"}],
          "syntax":"proto2","bufExtension":{"isImport":true,"isSyntaxUnspecified":false}},
         {"name":"a.proto","package":"shop","dependency":["own/opts.proto"],
          "messageType":[{"name":"Order","field":[{"name":"id","number":1,"label":"LABEL_OPTIONAL",
            "type":"TYPE_INT32","jsonName":"ID",
            "options":{"deprecated":true,"[own.mark]":"key","[no.x]":1}}]}],
          "service":[{"name":"Shop","method":[{"name":"Get","inputType":".shop.Order",
            "outputType":".shop.Order","serverStreaming":true}]}],
          "syntax":"proto3","bufExtension":{"isImport":false,"unusedDependency":[0]}}
        ]}
        """;

    private const string Text = """
        # proto-file: google/protobuf/descriptor.proto
        file {
          name: "own/opts.proto" package: "own" dependency: "google/protobuf/descriptor.proto"
          extension {
            name: "mark" number: 50001 label: LABEL_OPTIONAL type: TYPE_STRING
            extendee: ".google.protobuf.FieldOptions"
          }
          syntax: "proto2"
          [buf.alpha.image.v1.buf_extension] { is_import: true }
        }
        file: <
          name: "a.proto" package: "shop" dependency: "own/opts.proto"
          message_type {
            name: "Order"
            field {
              name: "id" number: 1 label: LABEL_OPTIONAL type: TYPE_INT32 json_name: "ID"
              options { deprecated: true [own.mark]: "key" [no.x]: 1 }
            }
          }
          service {
            name: "Shop"
            method { name: "Get" input_type: ".shop.Order" output_type: ".shop.Order" server_streaming: true }
          }
          syntax: "proto3"
        >
        """;

    [Theory]
    [InlineData("image.json", Image, false)]
    [InlineData("image.json.gz", Image, true)]
    [InlineData("image.binpb", Image, false)]
    [InlineData("image.txtpb", Text, false)]
    [InlineData("image.txtpb.gz", Text, true)]
    [InlineData("image.pb", Text, true)]
    public static void Sets_in_JSON_and_text_are_read_with_their_options(
        string name, string text, bool isPacked)
    {
        using TempFolder folder = new();
        byte[] bytes = Encoding.UTF8.GetBytes(text);
        File.WriteAllBytes(Path.Combine(folder.Path, name), isPacked ? Pack(bytes) : bytes);

        RpcSchema schema = Load(folder, name);

        Assert.Equal(["a.proto"], schema.RootFiles);
        RpcMethodInfo method = Assert.Single(schema.GetService("shop.Shop").Methods);
        Assert.True(method.IsServerStreaming);
        Assert.Equal("ID", method.RequestType.Fields[0].JsonName);
        string options = schema.ToProtoText("a.proto");
        Assert.Contains("deprecated = true", options, StringComparison.Ordinal);
        Assert.Contains("mark) = \"key\"", options, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("set.bin.gz")]
    [InlineData("set.binpb.gz")]
    [InlineData("set.pb")]
    [InlineData("set.json")]
    public static void Binary_sets_are_read_compressed(string name)
    {
        using TempFolder folder = new();
        byte[] set = TestProtos.Everything.ToDescriptorSet();
        File.WriteAllBytes(Path.Combine(folder.Path, name), Pack(set));

        Assert.Equal(set, Load(folder, name).ToDescriptorSet());
        Assert.Equal(set, RpcSchema.FromDescriptorSet(Pack(set)).ToDescriptorSet());
    }

    [Theory]
    [InlineData("everything_proto2.proto")]
    [InlineData("everything_proto3.proto")]
    [InlineData("edition_2024.proto")]
    [InlineData("custom_options.proto")]
    public static void What_protoc_compiles_is_the_same_in_JSON_and_text(string file)
    {
        using TempFolder folder = new();
        RpcSchema schema = RpcSchema.Load([TestProtos.PathOf(file)]);
        byte[] set = schema.ToDescriptorSet();
        DynamicMessage message = DynamicMessage.Parse(TypeIn(schema), set);
        folder.Write("set.json", MessageFormats.Json.ToText(message));
        folder.Write("set.txtpb", MessageFormats.Text.ToText(message));

        // Options have another order: that of their numbers.
        string[] lines = [.. schema.ToProtoText(file).Split('\n').Order()];
        Assert.Equal(lines, Load(folder, "set.json").ToProtoText(file).Split('\n').Order());
        Assert.Equal(lines, Load(folder, "set.txtpb").ToProtoText(file).Split('\n').Order());
    }

    [Theory]
    [InlineData("set.json", "{", "in Json")]
    [InlineData("set.json", "{\"file\":[{\"name\":1}]}", "in Json")]
    [InlineData("package.json", "{\"name\":\"x\"}", "it contains no file")]
    [InlineData("set.json", "[]", "not a serialized FileDescriptorSet")]
    [InlineData("set.txtpb", "file {", "in Text")]
    [InlineData("set.txtpb", "file_name", "in Text")]
    [InlineData("set.pb", "hello", "not a serialized FileDescriptorSet")]
    public static void What_is_no_set_is_an_error_that_names_the_file(
        string name, string text, string problem)
    {
        using TempFolder folder = new();
        folder.Write(name, text);

        RpcException e = Assert.Throws<RpcException>(() => Load(folder, name));

        Assert.Equal("SchemaError", e.ErrorId);
        Assert.Contains($"'{name}'", e.Message, StringComparison.Ordinal);
        Assert.Contains(problem, e.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void The_loader_of_files_alone_says_who_reads_JSON()
    {
        using TempFolder folder = new();

        RpcException e = Assert.Throws<RpcException>(() => RpcSchema.Load([folder.Write("a.json", Image)]));

        Assert.Contains("RpcSchemaLoader reads it", e.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void A_wildcard_matches_JSON_only_by_its_ending()
    {
        using TempFolder folder = new();
        folder.Write("image.json", Image);
        folder.Write("b.proto", "syntax = \"proto3\"; message B {}");

        Assert.Equal(["b.proto"], Load(folder, "*").RootFiles);
        Assert.Equal(["a.proto"], Load(folder, "*.json").RootFiles);
    }

    [Fact]
    public static void A_gzip_bomb_is_an_error()
    {
        using TempFolder folder = new();
        string path = Path.Combine(folder.Path, "bomb.bin.gz");
        using (GZipStream gzip = new(File.Create(path), CompressionLevel.Fastest))
        {
            byte[] zeros = new byte[1024 * 1024];
            for (int i = 0; i < 200; i++)
            {
                gzip.Write(zeros);
            }
        }

        RpcException e = Assert.Throws<RpcException>(() => Load(folder, "bomb.bin.gz"));

        Assert.Contains("128 MB", e.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(10)]
    [InlineData(30)]
    [InlineData(-20)]
    public static void Damaged_gzip_data_are_an_error(int cut)
    {
        using TempFolder folder = new();
        byte[] packed = Pack(Encoding.UTF8.GetBytes(Image));
        File.WriteAllBytes(Path.Combine(folder.Path, "a.gz"), cut > 0 ? packed[..cut] : packed[..^-cut]);

        Assert.Equal("SchemaError", Assert.Throws<RpcException>(() => Load(folder, "a.gz")).ErrorId);
    }

    [Theory]
    [InlineData("{\"file\":[{\"messageType\":", "[{\"nestedType\":", 100_000)]
    [InlineData("{\"file\":[{\"x\":", "[", 100_000)]
    [InlineData("file {", " message_type { nested_type {", 100_000)]
    [InlineData("{\"file\":[", "{},", 4_000_000)]
    public static void A_hostile_text_is_an_error(string start, string part, int count)
    {
        using TempFolder folder = new();
        folder.Write("a.json", start + string.Concat(Enumerable.Repeat(part, count)));

        Assert.Equal("SchemaError", Assert.Throws<RpcException>(() => Load(folder, "a.json")).ErrorId);
    }

    private static RpcSchema Load(TempFolder folder, string name) =>
        RpcSchemaLoader.Load(name, new RpcSchemaLoadOptions { BaseFolder = folder.Path });

    // With the extensions of the schema, if it has some.
    private static RpcMessageInfo TypeIn(RpcSchema schema) =>
        schema.FindMessage("google.protobuf.FileDescriptorSet")
        ?? RpcSchema.FromDescriptors(DescriptorReflection.Descriptor)
            .GetMessage("google.protobuf.FileDescriptorSet");

    private static byte[] Pack(byte[] bytes)
    {
        using MemoryStream packed = new();
        using (GZipStream gzip = new(packed, CompressionLevel.Fastest))
        {
            gzip.Write(bytes);
        }

        return packed.ToArray();
    }
}
