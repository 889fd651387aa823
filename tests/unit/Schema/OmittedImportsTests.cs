using System.Text;

namespace ProtoRpc.Tests.Schema;

/// <summary>Files with imports that nobody has.</summary>
public static class OmittedImportsTests
{
    private const string Gogo = """
        syntax = "proto3";
        package etcd;
        import "gogoproto/gogo.proto";
        import "google/api/annotations.proto";

        // for grpc-gateway
        import "protoc-gen-openapiv2/options/annotations.proto";

        option (gogoproto.marshaler_all) = true; // faster
        option (gogoproto.unmarshaler_all) = true;
        option go_package = "etcd";
        option (grpc.gateway.protoc_gen_openapiv2.options.openapiv2_swagger) = {
          info: { title: "etcd; \"the\" store {" version: '1' /* } */ }
          schemes: [HTTP, HTTPS]
        };

        // Reads and writes.
        service KV {
          rpc Range(RangeRequest) returns (RangeResponse) {
            option (google.api.http) = { post: "/v3/kv/range" body: "*" };
            option (grpc.gateway.protoc_gen_openapiv2.options.openapiv2_operation).summary = "x";
          }
        }
        message RangeRequest {
          option (gogoproto.goproto_getters) = false;
          bytes key = 1 [(gogoproto.customname) = "Key", deprecated = true];
          enum Order {
            option (gogoproto.goproto_enum_prefix) = false;
            NONE = 0 [(gogoproto.enumvalue_customname) = "None"];
          }
          Order order = 2 [json_name = "sort", (.gogoproto.nullable) = false];
          oneof kind {
            option (validate.required) = true;
            string name = 3 [(validate.rules).string.min_len = 1];
          }
        }
        message RangeResponse {}
        """;

    [Fact]
    public static void A_file_loads_without_the_options_of_imports_that_nobody_has()
    {
        using TempFolder folder = new();
        folder.Write("rpc.proto", Gogo);

        RpcSchema schema = RpcSchema.Load(["rpc.proto"], baseFolder: folder.Path);

        Assert.Equal(
            [
                "rpc.proto: The imports 'gogoproto/gogo.proto', "
                + "'protoc-gen-openapiv2/options/annotations.proto' were not found. Only options need them, "
                + "and they were left out. To keep them, give the folders that contain the imports as an "
                + "import path.",
            ],
            schema.Warnings);
        RpcMessageInfo request = schema.GetMessage("RangeRequest");
        Assert.Equal(["key", "order", "name"], request.Fields.Select(field => field.Name));
        Assert.Equal("sort", request.Fields[1].JsonName);
        Assert.True(request.Fields[0].Descriptor.GetOptions().Deprecated);
        Assert.Equal("Reads and writes.", schema.GetService("KV").Comment);
        string text = schema.ToProtoText("rpc.proto");
        Assert.Contains("post: \"/v3/kv/range\"", text, StringComparison.Ordinal);
        Assert.DoesNotContain("gogo", text, StringComparison.Ordinal);
        Assert.DoesNotContain("faster", schema.GetService("KV").Comment, StringComparison.Ordinal);
    }

    [Fact]
    public static void Options_of_the_file_and_of_imports_that_are_there_are_kept()
    {
        using TempFolder folder = new();
        folder.Write("own/opts.proto", """
            syntax = "proto2";
            package own;
            import "google/protobuf/descriptor.proto";
            message Rule { optional int32 min = 1; extensions 10 to 20; }
            extend google.protobuf.FieldOptions { optional Rule rule = 50001; optional bool seen = 50002; }
            """);
        folder.Write("a.proto", """
            syntax = "proto2";
            package own;
            import "google/protobuf/descriptor.proto";
            import "own/opts.proto";
            import "none/opts.proto";
            extend google.protobuf.MessageOptions { optional string table = 50003; }
            message A {
              option (table) = "a";
              option (none.table) = "b";
              optional int32 b = 1 [(own.rule).min = 1, (none.b) = 1, (seen) = true, (rule).(none.max) = 2];
              optional int32 c = 2 [(none.c) = { [none.x]: 1 }, (rule) = { min: 3 [none.max]: 4 }];
              optional group D = 3 [(none.d) = 1] { optional int32 e = 4 [(.none.e) = 1]; }
            }
            """);

        RpcSchema schema = RpcSchema.Load(["a.proto"], baseFolder: folder.Path);

        Assert.Contains("'none/opts.proto'", Assert.Single(schema.Warnings), StringComparison.Ordinal);
        string text = schema.ToProtoText("a.proto");
        Assert.Contains("table) = \"a\"", text, StringComparison.Ordinal);
        Assert.Contains("seen) = true", text, StringComparison.Ordinal);
        Assert.Contains("min", text, StringComparison.Ordinal);
        Assert.DoesNotContain("none", text, StringComparison.Ordinal);
    }

    [Fact]
    public static void A_name_that_only_one_message_has_is_left_out_in_the_others_alone()
    {
        using TempFolder folder = new();
        folder.Write("a.proto", """
            syntax = "proto2";
            import "google/protobuf/descriptor.proto";
            import "none.proto";
            message A {
              extend google.protobuf.FieldOptions { optional string mark = 50001; }
              optional int32 a = 1 [(mark) = "kept"];
            }
            message B {
              optional int32 b = 1 [(mark) = "lost"];
            }
            """);

        RpcSchema schema = RpcSchema.Load(["a.proto"], baseFolder: folder.Path);

        string text = schema.ToProtoText("a.proto");
        Assert.Contains("\"kept\"", text, StringComparison.Ordinal);
        Assert.DoesNotContain("\"lost\"", text, StringComparison.Ordinal);
    }

    [Fact]
    public static void A_type_that_is_missing_is_an_error_that_names_the_import_first()
    {
        using TempFolder folder = new();
        folder.Write("a.proto", """
            syntax = "proto3";
            import "gogoproto/gogo.proto";
            import "common/money.proto";
            message A { common.Money money = 1 [(gogoproto.nullable) = false]; }
            """);

        RpcException e = Assert.Throws<RpcException>(
            () => RpcSchema.Load(["a.proto"], baseFolder: folder.Path));

        Assert.Equal(
            [
                "2 imports were not found. Give the folders that contain them as an import path:",
                "a.proto:2:1: 'gogoproto/gogo.proto'",
                "a.proto:3:1: 'common/money.proto'",
            ],
            e.Message.Split('\n'));
    }

    [Fact]
    public static void With_the_folder_of_the_type_the_file_loads()
    {
        using TempFolder folder = new();
        folder.Write("inc/common/money.proto", "syntax = \"proto3\"; package common; message Money {}");
        folder.Write("a.proto", """
            syntax = "proto3";
            import "gogoproto/gogo.proto";
            import "common/money.proto";
            message A { common.Money money = 1 [(gogoproto.nullable) = false]; }
            """);

        RpcSchema schema = RpcSchema.Load(["a.proto"], ["inc"], folder.Path);

        Assert.Equal("common.Money", schema.GetMessage("A").Fields[0].TypeName);
        Assert.Contains("'gogoproto/gogo.proto'", Assert.Single(schema.Warnings), StringComparison.Ordinal);
    }

    [Fact]
    public static void An_unknown_option_without_a_missing_import_stays_an_error()
    {
        using TempFolder folder = new();
        folder.Write("a.proto", "syntax = \"proto3\"; import \"none.proto\"; message A { string a = 1; }");
        folder.Write("b.proto", "syntax = \"proto3\";\nmessage B { string b = 1 [(none.x) = 1]; }");

        RpcException e = Assert.Throws<RpcException>(
            () => RpcSchema.Load(["a.proto", "b.proto"], baseFolder: folder.Path));

        Assert.StartsWith("b.proto:2:27: Option \"(none.x)\" unknown.", e.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void Errors_in_a_file_have_their_own_place_and_path()
    {
        using TempFolder folder = new();
        folder.Write("a.proto", """
            syntax = "proto3";
            import "none.proto"; option (none.a) = "ü";
            message A { string a = 1; string b = 1; }
            """);

        RpcException e = Assert.Throws<RpcException>(
            () => RpcSchema.Load(["a.proto"], baseFolder: folder.Path));

        Assert.Contains("a.proto:2:1: The import 'none.proto'", e.Message, StringComparison.Ordinal);
        Assert.Contains("a.proto:3:38: Field number 1 has", e.Message, StringComparison.Ordinal);
        Assert.DoesNotContain("protorpc-", e.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void Imports_of_imports_may_be_missing_too()
    {
        using TempFolder folder = new();
        folder.Write("inc/kv.proto", """
            syntax = "proto3"; package kv; import weak "gogoproto/gogo.proto";
            option (gogoproto.sizer_all) = true;
            message KeyValue { bytes key = 1 [(gogoproto.customname) = "K"]; }
            """);
        folder.Write("rpc.proto", """
            syntax = "proto3"; import "kv.proto"; import weak "gogoproto/gogo.proto";
            option (gogoproto.sizer_all) = true;
            option (gogoproto.marshaler_all) = true;
            message Put { kv.KeyValue kv = 1 [(gogoproto.nullable) = false]; }
            """);

        RpcSchema schema = RpcSchema.Load(["rpc.proto"], ["inc"], folder.Path);

        Assert.Equal("kv.KeyValue", schema.GetMessage("Put").Fields[0].TypeName);
        string file = Path.Combine("inc", "kv.proto");
        Assert.Equal(2, schema.Warnings.Count);
        Assert.Single(schema.Warnings, text => text.StartsWith($"{file}: ", StringComparison.Ordinal));
    }

    [Fact]
    public static void A_public_import_that_is_missing_costs_the_importers_their_options()
    {
        using TempFolder folder = new();
        folder.Write("opts.proto", "syntax = \"proto3\"; import public \"none.proto\"; message O {}");
        folder.Write("a.proto", """
            syntax = "proto3"; import "opts.proto";
            message A { O o = 1 [(none.x) = 1]; }
            """);

        RpcSchema schema = RpcSchema.Load(["a.proto"], baseFolder: folder.Path);

        Assert.Equal("O", schema.GetMessage("A").Fields[0].TypeName);
        Assert.Equal(
            "a.proto: Some options were left out, because imports of its imports were not found.",
            schema.Warnings[^1]);
        folder.Write("a.proto", "syntax = \"proto3\"; import \"opts.proto\"; message A { none.X x = 1; }");
        Assert.Contains(
            "opts.proto:1:20: The import 'none.proto' was not found.",
            Assert.Throws<RpcException>(() => RpcSchema.Load(["a.proto"], baseFolder: folder.Path)).Message,
            StringComparison.Ordinal);
    }

    [Fact]
    public static void Editions_lose_features_and_options_that_nobody_declares()
    {
        using TempFolder folder = new();
        folder.Write("a.proto", """
            edition = "2024";
            import option "google/protobuf/go_features_of_nobody.proto";
            import option "none.proto";
            option features.(nobody.go).api_level = API_OPAQUE;
            option features.field_presence = IMPLICIT;
            message A { string a = 1 [(none.x) = 1, features.field_presence = EXPLICIT]; int32 b = 2; }
            """);

        RpcSchema schema = RpcSchema.Load(["a.proto"], baseFolder: folder.Path);

        Assert.Single(schema.Warnings);
        Assert.True(schema.GetMessage("A").Fields[0].HasPresence);
        Assert.False(schema.GetMessage("A").Fields[1].HasPresence);
    }

    [Fact]
    public static void Files_of_a_folder_that_have_other_errors_are_left_out()
    {
        using TempFolder folder = new();
        const string Head = "syntax = \"proto3\"; import \"gogo.proto\";";
        folder.Write("a.proto", $"{Head} option (gogo.a) = 1; message A {{}}");
        folder.Write("b.proto", $"{Head} message B {{ gogo.X x = 1; }}");
        folder.Write("c.proto", "syntax = \"proto3\"; message {}");
        folder.Write("d.proto", "syntax = \"proto3\"; import \"a.proto\"; message D { A a = 1; }");

        RpcSchema schema = RpcSchemaLoader.Load(folder.Path);

        Assert.Equal(["A", "D"], schema.Messages.Select(message => message.FullName));
        Assert.Equal(3, schema.Warnings.Count);
        Assert.Contains("b.proto' is left out", schema.Warnings[0], StringComparison.Ordinal);
        Assert.Contains("c.proto' is left out", schema.Warnings[1], StringComparison.Ordinal);
        Assert.Contains("a.proto: The import 'gogo.proto'", schema.Warnings[2], StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("-dash.proto")]
    [InlineData("with space ü 漢.proto")]
    [InlineData("a;b,c=d.proto")]
    [InlineData("quote'\"\\s.proto")]
    public static void Files_with_odd_names_lose_options(string name)
    {
        if (OperatingSystem.IsWindows())
        {
            return;
        }

        using TempFolder folder = new();
        const string Head = "syntax = \"proto3\"; import \"none.proto\"; option (none.a) = 1;";
        folder.Write("a:b/" + name, $"{Head} message A {{}}");
        folder.Write("a:b/b.proto", $"{Head} message B {{}}");

        RpcSchema schema = RpcSchema.Load(["a:b/" + name, "a:b/b.proto"], baseFolder: folder.Path);

        Assert.Equal(["A", "B"], schema.Messages.Select(message => message.FullName).Order());
    }

    [Fact]
    public static void An_option_that_spans_the_file_is_left_out()
    {
        using TempFolder folder = new();
        string values = string.Concat(Enumerable.Range(0, 300_000).Select(i => $"  value: \"{i} }} ; ]\"\n"));
        string path = folder.Write(
            "a.proto",
            "syntax = \"proto3\";\nimport \"none.proto\";\n"
            + $"option (none.a) = {{\n{values}}};\nmessage A {{}}");

        RpcSchema schema = RpcSchema.Load([path]);

        Assert.Single(schema.Messages);
        Assert.Single(schema.Warnings);
    }

    [Fact]
    public static void Many_options_of_one_field_are_left_out()
    {
        using TempFolder folder = new();
        string options = string.Join(", ", Enumerable.Range(0, 30).Select(i => $"(none.x{i}) = {i}"));
        string path = folder.Write(
            "a.proto",
            $"syntax = \"proto3\"; import \"none.proto\"; message A {{ int32 a = 1 [{options}]; }}");

        Assert.Equal("a", RpcSchema.Load([path]).GetMessage("A").Fields[0].Name);
    }

    [Fact]
    public static void More_errors_than_are_read_from_protoc_are_found_in_turn()
    {
        using TempFolder folder = new();

        // Long names, since protoc takes longer for a line than for a thousand letters.
        string name = new('x', 1_000);
        string fields = string.Concat(
            Enumerable.Range(1, 1_500).Select(i => $"int32 f{i} = {i} [(none.{name}{i}) = {i}];\n"));
        string path = folder.Write(
            "a.proto", $"syntax = \"proto3\"; import \"none.proto\"; message A {{\n{fields}}}");

        Assert.Equal(1_500, RpcSchema.Load([path]).GetMessage("A").Fields.Count);
    }

    [Fact]
    public static void A_file_of_ten_megabytes_loads()
    {
        using TempFolder folder = new();
        StringBuilder text = new("\uFEFFsyntax = \"proto3\"; import \"none.proto\"; option (none.a) = 1;\n");
        for (int i = 0; text.Length < 10_000_000; i++)
        {
            text.Append($"message M{i} {{ // {new string('x', 900)}\n int32 a = 1 [(none.b) = {i}]; }}\n");
        }

        RpcSchema schema = RpcSchema.Load([folder.Write("a.proto", text.ToString())]);

        Assert.True(schema.Messages.Count > 10_000);
        Assert.Single(schema.Warnings);
    }

    [Theory]
    [InlineData("message A {", 100_000)]
    [InlineData("option (none.a) = {", 100_000)]
    [InlineData("option (none.a) = { a {", 100_000)]
    [InlineData("/* ", 1)]
    [InlineData("option (none.a) = \"", 1)]
    [InlineData("option (none.a) = '\0';", 1)]
    [InlineData("\0", 1_000)]
    public static void A_hostile_text_is_an_error(string part, int count)
    {
        using TempFolder folder = new();
        string path = folder.Write(
            "a.proto",
            "syntax = \"proto3\"; import \"none.proto\";" + string.Concat(Enumerable.Repeat(part, count)));

        RpcException e = Assert.Throws<RpcException>(() => RpcSchema.Load([path]));

        Assert.Equal(RpcStatusCode.InvalidArgument, e.Code);
        Assert.True(e.Message.Length < 100_000);
    }
}
