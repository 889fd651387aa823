namespace ProtoRpc.Tests.Schema;

public static class RpcFieldInfoTests
{
    [Theory]
    [InlineData("everything.proto2.Singular", true)]
    [InlineData("everything.proto2.Choice", true)]
    [InlineData("everything.proto2.Required", true)]
    [InlineData("everything.proto3.Optional", true)]
    [InlineData("everything.proto3.Choice", true)]
    [InlineData("everything.editions.Explicit", true)]
    [InlineData("everything.editions.Choice", true)]
    [InlineData("everything.editions.Implicit", false)]
    [InlineData("everything.proto2.Repeated", false)]
    [InlineData("everything.proto2.Maps", false)]
    [InlineData("everything.editions.Repeated", false)]
    public static void Has_presence_by_syntax_and_features(string message, bool expected)
    {
        RpcMessageInfo type = TestProtos.Everything.GetMessage(message);

        Assert.All(type.Fields.Where(f => message != "everything.proto2.Required" || f.Name != "more"),
            f => Assert.Equal(expected, f.HasPresence));
    }

    [Fact]
    public static void In_proto3_only_messages_have_presence_by_themselves()
    {
        RpcMessageInfo type = TestProtos.Everything.GetMessage("everything.proto3.Singular");

        string[] names = [.. type.Fields.Where(f => f.HasPresence).Select(f => f.Name)];

        Assert.Equal(["f_message", "f_proto2"], names);
    }

    [Theory]
    [InlineData("everything.proto2.Repeated", false)]
    [InlineData("everything.proto2.Packed", true)]
    [InlineData("everything.proto3.Repeated", true)]
    [InlineData("everything.proto3.Unpacked", false)]
    [InlineData("everything.editions.Repeated", true)]
    [InlineData("everything.editions.Expanded", false)]
    public static void Is_packed_by_syntax_option_and_features(string message, bool expected)
    {
        RpcMessageInfo type = TestProtos.Everything.GetMessage(message);
        RpcFieldKind[] never =
            [RpcFieldKind.String, RpcFieldKind.Bytes, RpcFieldKind.Message, RpcFieldKind.Group];

        Assert.All(type.Fields, f => Assert.Equal(expected && !never.Contains(f.Kind), f.IsPacked));
    }

    [Fact]
    public static void File_features_hold_for_all_that_does_not_set_its_own()
    {
        RpcMessageInfo type = TestProtos.Everything.GetMessage("everything.file_features.Message");

        Assert.False(type.FindField("implicit")!.HasPresence);
        Assert.True(type.FindField("explicit")!.HasPresence);
        Assert.True(type.FindField("in_oneof")!.HasPresence);
        Assert.False(type.FindField("expanded")!.IsPacked);
        Assert.True(type.FindField("packed")!.IsPacked);
        Assert.False(type.FindField("unverified")!.ValidatesUtf8);
        Assert.True(type.FindField("verified")!.ValidatesUtf8);
        Assert.Equal(RpcFieldKind.Group, type.FindField("delimited")!.Kind);
        Assert.Equal(RpcFieldKind.Message, type.FindField("prefixed")!.Kind);
        Assert.Equal(RpcFieldKind.Group, type.FindField("delimited_in_oneof")!.Kind);
        Assert.Equal(RpcFieldKind.Group, type.FindField("many")!.Kind);
        Assert.True(TestProtos.Everything.GetEnum("everything.file_features.Closed").IsClosed);
        Assert.False(TestProtos.Everything.GetEnum("everything.file_features.Open").IsClosed);
    }

    [Fact]
    public static void Maps_are_never_delimited()
    {
        RpcFieldInfo map = TestProtos.Everything.GetMessage("everything.file_features.Message")
            .FindField("map")!;

        Assert.True(map.IsMap);
        Assert.Equal(RpcFieldKind.Message, map.Kind);
        Assert.Equal(RpcFieldKind.Message, map.MessageType!.FindField(2)!.Kind);
        Assert.True(map.MessageType.FindField(2)!.HasPresence);
    }

    [Theory]
    [InlineData("everything.proto2.Color", true)]
    [InlineData("everything.proto3.Color", false)]
    [InlineData("everything.editions.OpenColor", false)]
    [InlineData("everything.editions.ClosedColor", true)]
    public static void Enums_are_closed_by_syntax_and_features(string name, bool expected) =>
        Assert.Equal(expected, TestProtos.Everything.GetEnum(name).IsClosed);

    [Theory]
    [InlineData("everything.proto2.Singular", "f_string", false)]
    [InlineData("everything.proto3.Singular", "f_string", true)]
    [InlineData("everything.proto3.Singular", "f_bytes", false)]
    [InlineData("everything.editions.Strings", "verified", true)]
    [InlineData("everything.editions.Strings", "unverified", false)]
    [InlineData("everything.editions.Strings", "all_verified", true)]
    public static void Strings_are_checked_by_syntax_and_features(
        string message, string field, bool expected) =>
        Assert.Equal(expected, TestProtos.Everything.GetMessage(message).FindField(field)!.ValidatesUtf8);

    [Theory]
    [InlineData("map_verified", true)]
    [InlineData("map_unverified", false)]
    public static void What_a_map_field_sets_holds_for_its_keys_and_values(string field, bool expected)
    {
        RpcMessageInfo strings = TestProtos.Everything.GetMessage("everything.editions.Strings");

        RpcMessageInfo entry = strings.FindField(field)!.MessageType!;

        Assert.All(entry.Fields, f => Assert.Equal(expected, f.ValidatesUtf8));
    }

    [Theory]
    [InlineData("everything.proto2.Required", "id", true)]
    [InlineData("everything.proto2.Required", "place", true)]
    [InlineData("everything.proto2.Required", "more", false)]
    [InlineData("everything.editions.Required", "id", true)]
    [InlineData("everything.editions.Required", "delimited", true)]
    [InlineData("everything.editions.Explicit", "f_int32", false)]
    public static void Required_is_known_in_each_syntax(string message, string field, bool expected) =>
        Assert.Equal(expected, TestProtos.Everything.GetMessage(message).FindField(field)!.IsRequired);

    [Fact]
    public static void Groups_are_groups_in_proto2_and_where_an_edition_delimits_them()
    {
        RpcFieldInfo group = TestProtos.Everything.GetMessage("everything.proto2.Singular").FindField(10)!;
        RpcFieldInfo delimited = TestProtos.Everything.GetMessage("everything.editions.Explicit")
            .FindField(10)!;

        Assert.Equal(("fgroup", RpcFieldKind.Group), (group.Name, group.Kind));
        Assert.Equal("everything.proto2.Singular.FGroup", group.MessageType!.FullName);
        Assert.Equal(RpcFieldKind.Group, delimited.Kind);
        Assert.Equal("everything.editions.Explicit.Delimited", delimited.TypeName);
    }

    [Fact]
    public static void Synthetic_oneofs_are_hidden()
    {
        RpcMessageInfo choice = TestProtos.Everything.GetMessage("everything.proto3.Choice");

        Assert.Equal(["kind", "other"], choice.Oneofs.Select(o => o.Name));
        Assert.Null(choice.FindField("alone")!.Oneof);
        Assert.Empty(TestProtos.Everything.GetMessage("everything.proto3.Optional").Oneofs);
        Assert.Same(choice.Oneofs[1], choice.FindField("that_one")!.Oneof);
        Assert.Equal(["this_one", "that_one"], choice.Oneofs[1].Fields.Select(f => f.Name));
    }

    public static TheoryData<string, object> Defaults() => new()
    {
        { "f_double", -1.5e+300 },
        { "f_float", float.MaxValue },
        { "f_int64", long.MinValue },
        { "f_uint64", ulong.MaxValue },
        { "f_int32", int.MinValue },
        { "f_fixed64", 1UL },
        { "f_fixed32", uint.MaxValue },
        { "f_bool", true },
        { "f_string", "quo\"te \\ line\n tab\t ünïcode 漢字 😀" },
        { "f_bytes", new byte[] { 0, 1, 255, (byte)'\\', (byte)'x', (byte)'"', (byte)'\'', 10, 32,
            97, 98, 99 } },
        { "f_uint32", 127U },
        { "f_enum", 3 },
        { "f_sfixed32", 15 },
        { "f_sfixed64", 5L },
        { "f_sint32", -3 },
        { "f_sint64", -4L },
        { "inf", double.PositiveInfinity },
        { "minus_inf", double.NegativeInfinity },
        { "nan", double.NaN },
        { "float_inf", float.PositiveInfinity },
        { "float_tiny", float.Epsilon },
        { "double_tenth", 0.1 },
        { "empty", "" },
        { "empty_bytes", Array.Empty<byte>() },
        { "first_value", 1 },
    };

    [Theory]
    [MemberData(nameof(Defaults))]
    public static void Defaults_have_the_exact_type_and_value(string field, object expected)
    {
        RpcMessageInfo type = TestProtos.Everything.GetMessage("everything.proto2.Defaults");

        object? value = type.FindField(field)!.DefaultValue;

        Assert.IsType(expected.GetType(), value);
        Assert.Equal(expected, value);
    }

    [Fact]
    public static void Fields_without_a_default_have_their_types_zero()
    {
        RpcMessageInfo type = TestProtos.Everything.GetMessage("everything.proto3.Singular");

        object?[] values = [.. type.Fields.Select(f => f.DefaultValue)];

        Assert.Equal(
        [
            0d, 0f, 0L, 0UL, 0, 0UL, 0U, false, "", null, Array.Empty<byte>(), 0U, 0, 0, 0L, 0, 0L, null,
        ], values);
    }

    [Theory]
    [InlineData("everything.proto2.Maps", "int32_double", "map<int32, double>")]
    [InlineData("everything.proto2.Maps", "string_message", "map<string, everything.proto2.Leaf>")]
    [InlineData("everything.proto2.Singular", "f_sfixed64", "sfixed64")]
    [InlineData("everything.proto2.Singular", "f_enum", "everything.proto2.Color")]
    [InlineData("everything.proto2.Singular", "fgroup", "everything.proto2.Singular.FGroup")]
    public static void The_type_is_named_as_a_proto_writes_it(
        string message, string field, string expected) =>
        Assert.Equal(expected, TestProtos.Everything.GetMessage(message).FindField(field)!.TypeName);

    [Fact]
    public static void Extensions_are_found_by_number_and_by_bracketed_name_wherever_they_are_declared()
    {
        RpcMessageInfo type = TestProtos.Everything.GetMessage("everything.proto2.Extendable");

        Assert.Equal("[everything.proto2.x_int32]", type.FindField(114)!.Name);
        Assert.Same(type.FindField(100), type.FindField("[everything.proto2.Extendable.nested_extension]"));
        Assert.Same(type.FindField(102), type.FindField("[everything.proto2.Extendable.Inner.deepest]"));
        Assert.Equal(42, type.FindField(114)!.DefaultValue);
        Assert.True(type.FindField(114)!.HasPresence);
        Assert.True(type.FindField(101)!.IsPacked);
        Assert.True(type.FindField(536870911)!.IsExtension);
        Assert.Same(type, type.FindField(111)!.ContainingType);
        Assert.Equal(RpcFieldKind.Group, type.FindField(119)!.Kind);
        Assert.Equal(type.Extensions.OrderBy(e => e.Number), type.Extensions);
    }

    [Fact]
    public static void Names_are_found_exactly_then_as_json_then_in_any_case()
    {
        RpcMessageInfo names = TestProtos.Everything.GetMessage("everything.proto3.Names");

        Assert.Equal(2, names.FindField("snake_case_name")!.Number);
        Assert.Equal(2, names.FindField("snakeCaseName")!.Number);
        Assert.Equal(2, names.FindField("SNAKECASENAME")!.Number);
        Assert.Equal(8, names.FindField("@other")!.Number);
        Assert.Equal(8, names.FindField("Renamed")!.Number);
        Assert.Null(names.FindField("no_such"));
        Assert.Null(names.FindField(99));
    }

    [Fact]
    public static void Comments_stand_before_or_after_the_field()
    {
        RpcSchema schema = TestProtos.Everything;

        Assert.Equal(
            "Inside of the group.", schema.GetMessage("everything.proto2.Singular.FGroup").Fields[0].Comment);
        Assert.Equal("What it is.", schema.GetMessage("everything.proto2.Choice").Oneofs[0].Comment);
        Assert.Equal("Like blood.", schema.GetEnum("everything.proto2.Color").GetValueComment("RED"));
        Assert.Equal("Like grass.", schema.GetEnum("everything.proto2.Color").GetValueComment("GREEN"));
        Assert.Equal("Many to one.", schema.GetMethod("everything.proto2.Calls/ClientStream").Comment);
        Assert.Equal("An extension in a message.",
            schema.GetMessage("everything.proto2.Extendable").FindField(100)!.Comment);
        Assert.Equal("", schema.GetMessage("everything.proto3.Leaf").Fields[0].Comment);
    }
}
