using System.Diagnostics;
using Google.Protobuf;
using Google.Protobuf.Reflection;
using ProtoRpc.Schema.Sources.Protoc;

namespace ProtoRpc.Tests.Schema;

public static class ProtoTextTests
{
    [Theory]
    [InlineData("custom_options.proto")]
    [InlineData("everything_proto2.proto")]
    [InlineData("everything_proto3.proto")]
    [InlineData("everything_editions.proto")]
    [InlineData("editions_file_features.proto")]
    [InlineData("edition_2024.proto")]
    [InlineData("tricky_names.proto")]
    [InlineData("no_package.proto")]
    public static void Written_text_compiles_to_an_equal_descriptor(string name) =>
        AssertRoundTrip(RpcSchema.Load([TestProtos.PathOf(name)]));

    [Fact]
    public static void The_shipped_files_and_what_they_import_come_back_equal() =>
        AssertRoundTrip(RpcSchema.Load([Path.Combine(TestProtos.Shipped, "**", "*.proto")]));

    [Theory]
    [InlineData("any")]
    [InlineData("api")]
    [InlineData("descriptor")]
    [InlineData("duration")]
    [InlineData("empty")]
    [InlineData("field_mask")]
    [InlineData("source_context")]
    [InlineData("struct")]
    [InlineData("timestamp")]
    [InlineData("type")]
    [InlineData("wrappers")]
    public static void The_well_known_files_come_back_equal(string name) =>
        AssertRoundTrip(RpcSchema.Load(
            [Path.Combine(
                AppContext.BaseDirectory, "protoc", "include", "google", "protobuf", $"{name}.proto")]));

    [Theory]
    [InlineData("everything_proto2.proto")]
    [InlineData("everything_editions.proto")]
    public static void Text_comes_back_equal_when_the_source_is_not_known(string name)
    {
        RpcSchema loaded = RpcSchema.Load([TestProtos.PathOf(name)]);

        AssertRoundTrip(RpcSchema.FromDescriptorSet(SetWithoutSource(loaded)));
    }

    [Fact]
    public static void Comments_are_written_where_they_were()
    {
        RpcSchema schema = RpcSchema.Load([Path.Combine(TestProtos.Shipped, "search.proto")]);

        string text = schema.ToProtoText("search.proto");

        Assert.Equal(
            """
            // The search service of the HTTP example.
            syntax = "proto2";

            package ProtoService;

            // What to look for.
            message SearchRequest {
              // The words to look for.
              required string query = 1;
              // The page of results, from 0.
              optional int32 page_number = 2;
              // The number of results on a page.
              optional int32 result_per_page = 3;
            }

            // The found pages.
            message SearchResponse {
              repeated group Result = 1 {
                required string url = 2;
                optional string title = 3;
                repeated string snippets = 4;
              }
            }

            // The reply of a failed method, if the transport has no other field for the error text.
            message ErrorResult {
              // The largest possible field number, so it cannot conflict with a field of a reply.
              required string error_text = 536870911;
            }

            // Searches pages.
            service SearchService {
              // Finds pages.
              rpc Search (SearchRequest) returns (SearchResponse);
            }

            """, text);
    }

    [Fact]
    public static void Comments_survive_two_rounds()
    {
        using TempFolder folder = new();
        RpcSchema first = RpcSchema.Load([TestProtos.PathOf("everything_proto2.proto")]);
        first.WriteProtoFiles(folder.Path);

        RpcSchema second = RpcSchema.Load([Path.Combine(folder.Path, "everything_proto2.proto")]);

        Assert.Equal(
            first.ToProtoText("everything_proto2.proto"), second.ToProtoText("everything_proto2.proto"));
        Assert.Equal("Like grass.", second.GetEnum("everything.proto2.Color").GetValueComment("GREEN"));
    }

    [Fact]
    public static void A_message_an_enum_and_a_service_can_be_written_alone()
    {
        RpcSchema schema = TestProtos.Everything;

        Assert.Equal(
            """
            // Names as JSON has them.
            message Names {
              int32 plain = 1;
              int32 snake_case_name = 2;
              int32 camelCase = 3;
              int32 PascalCase = 4;
              int32 _leading = 5;
              int32 trailing_ = 6;
              int32 with_1_number = 7;
              int32 renamed = 8 [json_name = "@other"];
              int32 SHOUTED_NAME = 9;
            }

            """, schema.GetMessage("everything.proto3.Names").ToProtoText());
        Assert.Equal(
            """
            // Keeps unknown numbers.
            enum OpenColor {
              OPEN_UNSPECIFIED = 0;
              OPEN_RED = 1;
            }

            """, schema.GetEnum("everything.editions.OpenColor").ToProtoText());
        Assert.Equal(
            """
            service Calls {
              rpc Unary (Explicit) returns (Repeated);
              rpc Streams (stream Explicit) returns (stream google.protobuf.Timestamp);
            }

            """, schema.GetService("everything.editions.Calls").ToProtoText());
        Assert.Equal(
            "rpc Streams (stream Explicit) returns (stream google.protobuf.Timestamp);\n",
            schema.GetMethod("everything.editions.Calls/Streams").ToProtoText());
        Assert.Equal(
            "Streams (stream everything.editions.Explicit) returns (stream google.protobuf.Timestamp)",
            schema.GetMethod("everything.editions.Calls/Streams").Signature);
    }

    [Fact]
    public static void Files_that_come_with_protoc_are_not_written()
    {
        using TempFolder folder = new();
        RpcSchema schema = RpcSchema.Load([Path.Combine(TestProtos.Shipped, "order.proto")]);

        IReadOnlyList<string> paths = schema.WriteProtoFiles(folder.Path);

        Assert.Equal([Path.Combine(folder.Path, "order.proto")], paths);
    }

    [Theory]
    [InlineData("../outside.proto")]
    [InlineData("/outside.proto")]
    [InlineData("a/../../outside.proto")]
    public static void A_file_name_cannot_lead_out_of_the_folder(string name)
    {
        using TempFolder folder = new();
        FileDescriptorSet set = new();
        set.File.Add(new FileDescriptorProto { Name = name, Package = "a" });
        RpcSchema schema = RpcSchema.FromDescriptorSet(set.ToByteArray());

        RpcException e = Assert.Throws<RpcException>(() => schema.WriteProtoFiles(folder.Path));

        Assert.Contains(name, e.Message, StringComparison.Ordinal);
        Assert.Empty(Directory.GetFileSystemEntries(folder.Path));
    }

    [Fact]
    public static void An_option_whose_declaration_is_missing_is_told_in_a_comment()
    {
        byte[] field50001 = [0x8A, 0xB5, 0x18, 0x01, 0x41];
        FileDescriptorSet set = new();
        set.File.Add(new FileDescriptorProto
        {
            Name = "a.proto",
            Options = Google.Protobuf.Reflection.FileOptions.Parser.ParseFrom(field50001),
        });

        string text = RpcSchema.FromDescriptorSet(set.ToByteArray()).ToProtoText("a.proto");

        Assert.Contains(
            "// Option 50001 of FileOptions is not declared in this schema.", text, StringComparison.Ordinal);
    }

    /// <summary>Writes all files, compiles them and lets protoc print both descriptors.</summary>
    private static void AssertRoundTrip(RpcSchema schema)
    {
        using TempFolder folder = new();
        IReadOnlyList<string> paths = schema.WriteProtoFiles(folder.Path);

        RpcSchema again = RpcSchema.Load(paths, [folder.Path]);

        Assert.Equal(Print(schema, folder), Print(again, folder));
    }

    private static string Print(RpcSchema schema, TempFolder folder)
    {
        string input = Path.Combine(folder.Path, "set.pb");
        File.WriteAllBytes(input, SetWithoutSource(schema));
        ProcessStartInfo start = new(ProtocLocator.Find(),
        [
            "--decode=google.protobuf.FileDescriptorSet",
            $"--proto_path={TestProtos.Folder}",
            .. ProtocLocator.IncludeFolders.Select(f => $"--proto_path={f}"),
            "google/protobuf/descriptor.proto",
            "google/protobuf/csharp_options.proto",
            "custom_options.proto",
        ])
        {
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
        };
        using Process process = Process.Start(start)!;
        Task<string> output = process.StandardOutput.ReadToEndAsync();
        using (Stream standardInput = process.StandardInput.BaseStream)
        {
            standardInput.Write(File.ReadAllBytes(input));
        }

        string text = output.Result;
        process.WaitForExit();
        Assert.Equal(0, process.ExitCode);
        return text;
    }

    private static byte[] SetWithoutSource(RpcSchema schema)
    {
        FileDescriptorSet set = new();
        foreach (FileDescriptor file in schema.Files.OrderBy(f => f.Name, StringComparer.Ordinal))
        {
            FileDescriptorProto proto = file.ToProto();
            proto.SourceCodeInfo = null;
            set.File.Add(proto);
        }

        return set.ToByteArray();
    }
}
