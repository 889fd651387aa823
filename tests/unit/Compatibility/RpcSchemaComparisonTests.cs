using Google.Protobuf;
using Google.Protobuf.Reflection;
using ProtoRpc.Schema.Linking;
using ProtoRpc.Tests.Schema;

namespace ProtoRpc.Tests.Compatibility;

/// <summary>What breaks callers, by the pairs of schemas, and where it is.</summary>
public static class RpcSchemaComparisonTests
{
    [Theory]
    [MemberData(nameof(SchemaChangeCases.Names), MemberType = typeof(SchemaChangeCases))]
    public static void Finds_what_breaks(string name)
    {
        SchemaChange change = SchemaChangeCases.Get(name);

        Assert.Equal(
            change.Expected.Order(StringComparer.Ordinal),
            change.Compare().Select(SchemaChange.Describe).Order(StringComparer.Ordinal));
    }

    [Theory]
    [MemberData(nameof(SchemaChangeCases.Names), MemberType = typeof(SchemaChangeCases))]
    public static void Says_what_to_do_in_sentences(string name) => Assert.All(
        SchemaChangeCases.Get(name).Compare(), change =>
        {
            Assert.Matches(@"^[A-Z].*[.;] .*\.$", change.Message);
            Assert.DoesNotContain("  ", change.Message, StringComparison.Ordinal);
        });

    [Fact]
    public static void Every_rule_has_a_case() => Assert.Equal(
        Enum.GetNames<RpcBreakingRule>().Order(StringComparer.Ordinal),
        SchemaChangeCases.All.SelectMany(change => change.Expected)
            .Select(text => text.Split(' ')[0]).Distinct().Order(StringComparer.Ordinal));

    [Fact]
    public static void Nothing_breaks_between_a_schema_and_itself() =>
        Assert.Empty(RpcSchemaComparison.Compare(
            TestProtos.Everything, RpcSchema.FromDescriptorSet(TestProtos.Everything.ToDescriptorSet()),
            new() { Category = RpcSchemaComparisonOptions.DefaultCategory | RpcBreakingCategory.File }));

    [Fact]
    public static void Names_the_place_in_the_newer_schema_or_in_the_older_one_for_what_is_gone()
    {
        const string older = """
            syntax = "proto3";
            package c;
            // About M.
            message M {
              int32 a = 1;
              int32 b = 2;
            }
            """;
        const string newer = """
            syntax = "proto3";

            package c;
            message M {
              // About c.
              int32 c = 1; }
            """;

        IReadOnlyList<RpcBreakingChange> changes =
            RpcSchemaComparison.Compare(SchemaChange.Load(older), SchemaChange.Load(newer));

        Assert.Equal(
            [("c.M.a", "a.proto", 6, 3, false), ("c.M.b", "a.proto", 6, 3, true)],
            changes.Select(change => (
                change.Element, change.File, change.Line ?? 0, change.Column ?? 0, change.IsInReference)));
        Assert.StartsWith("a.proto:6:3: FieldRenamed: The field 1 was named a", $"{changes[0]}",
            StringComparison.Ordinal);
    }

    [Fact]
    public static void The_place_of_an_option_that_is_gone_is_that_of_its_file()
    {
        RpcBreakingChange change = Assert.Single(RpcSchemaComparison.Compare(
            SchemaChange.Load("option go_package = \"n\"; message M {}"), SchemaChange.Load("message M {}")));

        Assert.Equal((1, 1), (change.Line, change.Column));
    }

    [Fact]
    public static void There_is_no_place_without_source_positions()
    {
        RpcBreakingChange change = Assert.Single(RpcSchemaComparison.Compare(
            WithoutSource("message M { int32 a = 1; }"), WithoutSource("message M { string a = 1; }")));

        Assert.Equal((null, null, "a.proto"), (change.Line, change.Column, change.File));
        Assert.StartsWith("a.proto: FieldTypeChanged: ", $"{change}", StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(RpcBreakingCategory.Wire, "c.M.b")]
    [InlineData(RpcBreakingCategory.Json, "c.M.a")]
    [InlineData(RpcBreakingCategory.Source, "c.M.a", "c.M.b")]
    [InlineData(RpcBreakingCategory.Wire | RpcBreakingCategory.Json, "c.M.a", "c.M.b")]
    [InlineData(RpcBreakingCategory.File)]
    public static void Selects_by_category(RpcBreakingCategory category, params string[] elements) =>
        Assert.Equal(
            elements,
            RpcSchemaComparison.Compare(
                SchemaChange.Load("message M { int32 a = 1; int32 b = 2; }"),
                SchemaChange.Load("message M { int64 a = 1; sfixed32 b = 2; }"),
                new() { Category = category }).Select(change => change.Element));

    [Theory]
    [InlineData("c", 0)]
    [InlineData("C.m.*", 0)]
    [InlineData("*", 0)]
    [InlineData("*.?", 1)]
    [InlineData("c.M.first", 1)]
    [InlineData("M", 2)]
    [InlineData("d.*", 2)]
    public static void Excludes_packages_and_elements(string pattern, int left) => Assert.Equal(
        left,
        RpcSchemaComparison.Compare(
            SchemaChange.Load("message M { int32 first = 1; int32 b = 2; }"),
            SchemaChange.Load("message M { string first = 1; string b = 2; }"),
            new() { Exclude = [pattern] }).Count);

    [Theory]
    [InlineData(RpcBreakingCategory.None)]
    [InlineData((RpcBreakingCategory)16)]
    public static void Rejects_a_category_that_selects_nothing(RpcBreakingCategory category) =>
        Assert.Throws<ArgumentException>(() => RpcSchemaComparison.Compare(
            TestProtos.Everything, TestProtos.Everything, new() { Category = category }));

    [Fact]
    public static void Rejects_an_empty_pattern() =>
        Assert.Throws<ArgumentException>(() => RpcSchemaComparison.Compare(
            TestProtos.Everything, TestProtos.Everything, new() { Exclude = ["a", ""] }));

    [Fact]
    public static void An_import_that_is_no_longer_needed_is_not_missed()
    {
        const string older = """
            syntax = "proto3"; package c; import "google/type/money.proto";
            message M { google.type.Money a = 1; }
            """;

        Assert.Equal(
            ["FieldTypeChanged c.M.a", "FieldCardinalityChanged c.M.a"],
            RpcSchemaComparison.Compare(
                SchemaChange.Load(older), SchemaChange.Load("message M { int64 a = 1; }"),
                new() { Category = RpcSchemaComparisonOptions.DefaultCategory | RpcBreakingCategory.File })
                .Select(change => $"{change.Rule} {change.Element}").OrderDescending(StringComparer.Ordinal));
    }

    [Fact]
    public static void Services_that_only_a_server_adds_are_not_missed()
    {
        const string health = """
            --- a.proto
            message M {}
            --- health.proto
            syntax = "proto3"; package grpc.health.v1;
            service Health { rpc Check (Q) returns (Q); }
            message Q {}
            """;

        Assert.Empty(RpcSchemaComparison.Compare(
            SchemaChange.Load(health), SchemaChange.Load("message M {}")));
        Assert.Equal(
            [RpcBreakingRule.MethodDeleted],
            RpcSchemaComparison.Compare(
                SchemaChange.Load(health),
                SchemaChange.Load(health.Replace("Check", "Ask", StringComparison.Ordinal)))
                .Select(change => change.Rule));
    }

    [Fact]
    public static void What_a_server_did_not_send_has_not_changed()
    {
        RpcSchema whole = SchemaChange.Load("""
            --- a.proto
            syntax = "proto3"; package c; import "b.proto";
            service S { rpc A (M) returns (M); }
            service T { rpc A (M) returns (M); }
            message M { N n = 1; E e = 2; int32 x = 3; }
            --- b.proto
            message N { int32 a = 1; } enum E { ZERO = 0; ONE = 1; }
            """);
        FileDescriptorProto sent = whole.SchemaFiles.Single(file => file.Name == "a.proto").Proto.Clone();
        sent.SourceCodeInfo = null;
        sent.Service.RemoveAt(1);
        sent.MessageType[0].Field[2].Name = "y";
        Dictionary<string, string> services = new() { ["c.S"] = "", ["c.T"] = "It has no file." };
        RpcSchema part = ForgivingLinker.Link(
            new ServerFiles(
                [new DescriptorFile(sent.ToByteString(), sent, "a test")], services, "grpc://server"),
            TestContext.Current.CancellationToken);

        Assert.Equal(
            ["FieldRenamed c.M.x"],
            RpcSchemaComparison.Compare(whole, part).Select(change => $"{change.Rule} {change.Element}"));
        Assert.Equal(
            ["FieldRenamed c.M.y"],
            RpcSchemaComparison.Compare(part, whole).Select(change => $"{change.Rule} {change.Element}"));
    }

    // Descriptors of a peer: texts that move the cursor, and a large schema that is another one altogether.
    [Fact]
    public static void Texts_of_a_schema_have_no_control_characters()
    {
        FileDescriptorProto older = Parse("message M { int32 a = 1; }");
        older.Name = "a\u001b[31m.proto";
        FileDescriptorProto newer = older.Clone();
        newer.Options = new Google.Protobuf.Reflection.FileOptions
        {
            GoPackage = "x\u001b[2J\nprotorpc: all is well",
        };
        newer.MessageType[0].Field[0].JsonName = "\u202eb";

        IReadOnlyList<RpcBreakingChange> changes =
            RpcSchemaComparison.Compare(Link(older), Link(newer));

        Assert.Equal(2, changes.Count);
        Assert.All(changes, change => Assert.DoesNotContain(
            $"{change}{change.Element}", c => char.IsControl(c) || c == '\u202e'));
    }

    [Fact]
    public static void A_long_value_is_cut()
    {
        RpcBreakingChange change = Assert.Single(RpcSchemaComparison.Compare(
            SchemaChange.Load("message M {}"),
            SchemaChange.Load($"option go_package = \"{new string('x', 100_000)}\"; message M {{}}")));

        Assert.InRange(change.Message.Length, 200, 500);
    }

    [Fact]
    public static void Compares_many_messages_that_all_differ()
    {
        const int count = 10_000;
        RpcSchema older = Link(Many(count, FieldDescriptorProto.Types.Type.Int32));
        RpcSchema newer = Link(Many(count, FieldDescriptorProto.Types.Type.String));

        Assert.Equal(count, RpcSchemaComparison.Compare(older, newer).Count);
    }

    [Fact]
    public static void Compares_messages_that_nest_deep()
    {
        FileDescriptorProto older = Nested(90, "x");
        FileDescriptorProto newer = Nested(90, "y");

        RpcBreakingChange change = Assert.Single(RpcSchemaComparison.Compare(Link(older), Link(newer)));

        Assert.Equal(RpcBreakingRule.FieldRenamed, change.Rule);
        Assert.EndsWith(".M.x", change.Element, StringComparison.Ordinal);
    }

    private static FileDescriptorProto Many(int count, FieldDescriptorProto.Types.Type type)
    {
        FileDescriptorProto file = new() { Name = "many.proto", Package = "c", Syntax = "proto3" };
        for (int i = 0; i < count; i++)
        {
            DescriptorProto message = new() { Name = $"M{i}" };
            message.Field.Add(new FieldDescriptorProto
            {
                Name = "a",
                Number = 1,
                Type = type,
                Label = FieldDescriptorProto.Types.Label.Optional,
            });
            file.MessageType.Add(message);
        }

        return file;
    }

    private static FileDescriptorProto Nested(int depth, string field)
    {
        FileDescriptorProto file = new() { Name = "deep.proto", Package = "c", Syntax = "proto3" };
        DescriptorProto message = new() { Name = "M" };
        message.Field.Add(new FieldDescriptorProto
        {
            Name = field,
            Number = 1,
            Type = FieldDescriptorProto.Types.Type.String,
            Label = FieldDescriptorProto.Types.Label.Optional,
        });
        for (int i = 1; i < depth; i++)
        {
            DescriptorProto around = new() { Name = "M" };
            around.NestedType.Add(message);
            message = around;
        }

        file.MessageType.Add(message);
        return file;
    }

    private static FileDescriptorProto Parse(string text) =>
        SchemaChange.Load(text).SchemaFiles.Single(file => file.Name == "a.proto").Proto.Clone();

    private static RpcSchema Link(FileDescriptorProto file)
    {
        FileDescriptorSet set = new();
        set.File.Add(file);
        return RpcSchema.FromDescriptorSet(set.ToByteArray());
    }

    private static RpcSchema WithoutSource(string text)
    {
        FileDescriptorProto file = Parse(text);
        file.SourceCodeInfo = null;
        return Link(file);
    }
}
