using ProtoRpc.ServiceCommands;

namespace ProtoRpc.Tests.ServiceCommands;

public static class CommandParametersTests
{
    [Theory]
    [InlineData("int32 page_size = 1;", "PageSize", typeof(int))]
    [InlineData("optional int32 id = 1;", "Id", typeof(int))]
    [InlineData("sfixed64 id = 1;", "Id", typeof(long))]
    [InlineData("uint32 id = 1;", "Id", typeof(uint))]
    [InlineData("fixed64 id = 1;", "Id", typeof(ulong))]
    [InlineData("float size = 1;", "Size", typeof(float))]
    [InlineData("optional double size = 1;", "Size", typeof(double))]
    [InlineData("string query = 1;", "Query", typeof(string))]
    [InlineData("optional string query = 1;", "Query", typeof(string))]
    [InlineData("bytes photo = 1;", "Photo", typeof(byte[]))]
    [InlineData("repeated string tags = 1;", "Tags", typeof(string[]))]
    [InlineData("repeated int64 ids = 1;", "Ids", typeof(long[]))]
    [InlineData("repeated bool flags = 1;", "Flags", typeof(bool[]))]
    [InlineData("repeated bytes photos = 1;", "Photos", typeof(object[]))]
    [InlineData("map<string, int32> stock = 1;", "Stock", typeof(object))]
    [InlineData("M self = 1;", "Self", typeof(object))]
    [InlineData("repeated M selves = 1;", "Selves", typeof(object[]))]
    [InlineData("E kind = 1;", "Kind", typeof(string))]
    [InlineData("repeated E kinds = 1;", "Kinds", typeof(string[]))]
    [InlineData("google.protobuf.Timestamp at = 1;", "At", typeof(DateTimeOffset))]
    [InlineData("google.protobuf.Duration wait = 1;", "Wait", typeof(TimeSpan))]
    [InlineData("google.protobuf.Int32Value left = 1;", "Left", typeof(int))]
    [InlineData("google.protobuf.StringValue note = 1;", "Note", typeof(string))]
    [InlineData("google.protobuf.FieldMask mask = 1;", "Mask", typeof(string[]))]
    [InlineData("google.protobuf.Struct any = 1;", "Any", typeof(object))]
    public static void Has_the_name_and_type_of_a_field(string field, string name, Type type)
    {
        CommandParameter parameter = Assert.Single(Of(field));

        Assert.Equal((name, type), (parameter.Name, parameter.Type));
        Assert.False(parameter.IsSwitch || parameter.IsMandatory);
    }

    [Theory]
    [InlineData(true, "AllField")]
    [InlineData(false, "All")]
    public static void All_is_reserved_where_the_command_has_it(bool isPaged, string name)
    {
        RpcSchema schema = CommandSchema.Of("message M { bool all = 1; }");

        IReadOnlyList<CommandParameter> parameters =
            CommandParameters.Create(schema.GetMessage("M"), isPaged);

        Assert.Equal(name, Assert.Single(parameters).Name);
    }

    [Fact]
    public static void Makes_a_switch_of_a_bool_that_may_be_left_out()
    {
        CommandParameter[] parameters = Of(
            """
            bool all = 1; optional bool some = 2; google.protobuf.BoolValue any = 3; repeated bool many = 4;
            """);

        Assert.Equal([true, true, true, false], parameters.Select(parameter => parameter.IsSwitch));
    }

    [Theory]
    [InlineData("string name = 1;", "Name")]
    [InlineData("repeated string names = 1;", "Names")]
    [InlineData("M self = 1;", "Self")]
    [InlineData("bool all = 1;", null)]
    [InlineData("string name = 1; int32 page = 2;", null)]
    public static void Needs_no_name_if_it_is_the_only_one(string fields, string? expected) =>
        Assert.Equal(expected, Of(fields).SingleOrDefault(parameter => parameter.IsPositional)?.Name);

    [Fact]
    public static void Needs_no_name_if_it_is_the_first_required_one()
    {
        RpcSchema schema = CommandSchema.Of(
            "message M { optional int32 page = 1; required int32 id = 2; required string name = 3; }",
            "proto2");

        IReadOnlyList<CommandParameter> parameters = CommandParameters.Create(schema.GetMessage("M"));

        Assert.Equal("Id", Assert.Single(parameters, parameter => parameter.IsPositional).Name);
    }

    [Fact]
    public static void Is_mandatory_where_proto2_requires_the_field()
    {
        RpcSchema schema = CommandSchema.Of(
            """
            message M {
              required int32 id = 1; optional int32 page = 2; enum E { A = 0; } optional E kind = 3;
              required bool all = 4;
            }
            """,
            "proto2");

        IReadOnlyList<CommandParameter> parameters = CommandParameters.Create(schema.GetMessage("M"));

        Assert.Equal([true, false, false, true], parameters.Select(parameter => parameter.IsMandatory));
        Assert.DoesNotContain(parameters, parameter => parameter.IsSwitch);
        Assert.Equal(["A"], parameters[2].EnumNames);
    }

    [Theory]
    [InlineData("Verbose", "VerboseField", "")]
    [InlineData("verbose", "verboseField", "")]
    [InlineData("what_if", "WhatIfField", "what_if")]
    [InlineData("ev", "EvField", "")]
    [InlineData("connection", "ConnectionField", "")]
    [InlineData("as_job", "AsJobField", "as_job")]
    [InlineData("PSItem", "PSItemField", "PSItem")]
    [InlineData("input", "InputField", "Input")]
    [InlineData("args", "ArgsField", "Args")]
    [InlineData("host", "HostField", "Host")]
    [InlineData("form_preference", "FormPreferenceField", "FormPreference,form_preference")]
    [InlineData("path", "Path", "")]
    [InlineData("page_size", "PageSize", "page_size")]
    [InlineData("_", "Field", "_")]
    [InlineData("_1st", "Field1st", "_1st")]
    public static void Keeps_clear_of_names_that_mean_something(
        string field, string name, string aliases)
    {
        CommandParameter parameter = Assert.Single(Of($"string {field} = 1;"));

        Assert.Equal(name, parameter.Name, ignoreCase: true);
        Assert.Equal(aliases, string.Join(',', parameter.Aliases));
    }

    [Fact]
    public static void Gives_fields_of_one_name_different_parameters()
    {
        CommandParameter[] parameters = Of(
            """
            string page_size = 1 [json_name = 'a']; string PageSize = 2; string pagesize = 3;
            string pageSizeField2 = 4 [json_name = 'b'];
            """);
        IEnumerable<string> all =
            parameters.SelectMany(parameter => parameter.Aliases.Append(parameter.Name));

        Assert.Equal("PageSize", parameters[0].Name);
        Assert.Equal(all.Count(), all.Distinct(StringComparer.OrdinalIgnoreCase).Count());
    }

    [Theory]
    [InlineData("page_size", "page_size")]
    [InlineData("PageSize", "PageSize")]
    [InlineData("pagesize", "pagesize")]
    [InlineData("PAGESIZE", "page_size")]
    [InlineData("connectionField", "connection_field")]
    [InlineData("ConnectionField", "connection")]
    public static void Prefers_the_field_with_exactly_the_name_of_a_property(string property, string field)
    {
        RpcSchema schema = CommandSchema.Of(
            $$"""
            message M {
              string page_size = 1 [json_name = 'a']; string PageSize = 2; string pagesize = 3;
              string connection = 4; string connection_field = 5;
            }
            service S { rpc Get(M) returns (M); }
            """);
        ServiceCommand command = new("Get-S", schema.GetService("S").Methods[0], hasParameters: true);

        Assert.Equal(field, command.FindParameter(property)?.Field.Name);
    }

    [Theory]
    [InlineData("Struct", "")]
    [InlineData("Value", "")]
    [InlineData("ListValue", "")]
    [InlineData("Int32Value", "Value")]
    [InlineData("Timestamp", "Seconds, Nanos")]
    public static void Has_none_for_a_request_that_is_a_hashtable_or_a_list(string type, string wanted)
    {
        RpcSchema schema = CommandSchema.Of("message M { }");

        IReadOnlyList<CommandParameter> parameters =
            CommandParameters.Create(schema.GetMessage($"google.protobuf.{type}"));

        Assert.Equal(wanted, string.Join(", ", parameters.Select(parameter => parameter.Name)));
    }

    private static CommandParameter[] Of(string fields) =>
    [
        .. CommandParameters.Create(CommandSchema
            .Of($"enum E {{ NONE = 0; RED = 1; }} message M {{ {fields} }}").GetMessage("M")),
    ];
}
