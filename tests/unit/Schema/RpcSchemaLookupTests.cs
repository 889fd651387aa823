namespace ProtoRpc.Tests.Schema;

public static class RpcSchemaLookupTests
{
    [Theory]
    [InlineData("Sample.MyService/Send")]
    [InlineData("/Sample.MyService/Send")]
    [InlineData("MyService/Send")]
    [InlineData("Sample.MyService.Send")]
    [InlineData(".Sample.MyService.Send")]
    [InlineData("MyService.Send")]
    [InlineData("Send")]
    [InlineData("send")]
    [InlineData("sample.myservice/SEND")]
    public static void A_method_is_found_by_each_form_of_its_name(string name)
    {
        RpcSchema schema = RpcSchema.Load([Path.Combine(TestProtos.Shipped, "sample.proto")]);

        Assert.Equal("Sample.MyService/Send", schema.GetMethod(name).FullName);
    }

    [Fact]
    public static void A_full_name_wins_over_bare_names_and_an_exact_one_over_others()
    {
        RpcSchema schema = RpcSchema.Load(
            [TestProtos.PathOf("everything_proto3.proto"), TestProtos.PathOf("no_package.proto")]);

        Assert.Equal("Unpacked", schema.GetMessage("Unpacked").FullName);
        Assert.Equal("everything.proto3.Unpacked", schema.GetMessage("everything.proto3.Unpacked").FullName);
        Assert.Equal(
            "everything.proto3.WellKnown", schema.GetMessage(".everything.proto3.WellKnown").FullName);
        Assert.Equal("Bare", schema.GetService("bare").FullName);
    }

    [Fact]
    public static void A_method_of_several_services_is_written_with_its_service()
    {
        using TempFolder folder = new();
        RpcSchema schema = RpcSchema.Load(
        [
            folder.Write(
                "a.proto",
                """
                syntax = "proto3"; package shop; message M {}
                service Images { rpc List(M) returns (M); }
                service Orders { rpc List(M) returns (M); }
                """),
        ]);

        RpcException error = Assert.Throws<RpcException>(() => schema.GetMethod("List"));

        Assert.Equal(
            "Several services have a method 'List': shop.Images/List, shop.Orders/List. "
            + "Write the service, too, as in Images/List.", error.Message);
        Assert.Equal("shop.Images/List", schema.GetMethod("Images/List").FullName);
    }

    [Fact]
    public static void An_endpoint_in_the_place_of_a_name_is_told()
    {
        RpcException error = Assert.Throws<RpcException>(
            () => TestProtos.Everything.GetMethod("grpc://localhost:50051"));

        Assert.EndsWith(
            "This is an endpoint: give it as the endpoint, and a method in its place.", error.Message,
            StringComparison.Ordinal);
    }

    [Fact]
    public static void Several_with_a_bare_name_are_an_error_that_lists_them()
    {
        RpcException message =
            Assert.Throws<RpcException>(() => TestProtos.Everything.GetMessage("Singular"));
        RpcException service = Assert.Throws<RpcException>(() => TestProtos.Everything.GetService("Calls"));
        RpcException method = Assert.Throws<RpcException>(() => TestProtos.Everything.GetMethod("Unary"));

        Assert.Equal((RpcStatusCode.InvalidArgument, "AmbiguousName"), (message.Code, message.ErrorId));
        Assert.Contains(
            "everything.proto2.Singular, everything.proto3.Singular", message.Message,
            StringComparison.Ordinal);
        Assert.Contains(
            "everything.proto2.Calls, everything.proto3.Calls", service.Message, StringComparison.Ordinal);
        Assert.StartsWith(
            "Several services have a method 'Unary': everything.proto2.Calls/Unary, ", method.Message,
            StringComparison.Ordinal);
        Assert.EndsWith(" Write the full name.", method.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void An_unknown_name_is_not_found_and_the_nearest_are_told()
    {
        RpcSchema schema = RpcSchema.Load([Path.Combine(TestProtos.Shipped, "sample.proto")]);

        RpcException message = Assert.Throws<RpcException>(() => schema.GetMessage("MyReqest"));
        RpcException service = Assert.Throws<RpcException>(() => schema.GetService("Sample.MyServcie"));
        RpcException method = Assert.Throws<RpcException>(() => schema.GetMethod("Sedn"));
        RpcException far = Assert.Throws<RpcException>(() => schema.GetService("Weather"));

        Assert.Equal(
            "The schema has no message 'MyReqest'. Did you mean 'Sample.MyRequest'?", message.Message);
        Assert.Equal((RpcStatusCode.NotFound, "MessageNotFound"), (message.Code, message.ErrorId));
        Assert.Contains("Did you mean 'Sample.MyService'?", service.Message, StringComparison.Ordinal);
        Assert.Contains("Did you mean 'Sample.MyService/Send'?", method.Message, StringComparison.Ordinal);
        Assert.Equal("The schema has no service 'Weather'. It has Sample.MyService.", far.Message);
    }

    [Fact]
    public static void A_schema_without_services_says_so()
    {
        RpcSchema schema = RpcSchema.Load([TestProtos.PathOf("custom_options.proto")]);

        RpcException e = Assert.Throws<RpcException>(() => schema.GetService("Any"));

        Assert.Equal("The schema has no service 'Any'; it has no service at all.", e.Message);
    }

    [Fact]
    public static void Nested_messages_come_after_their_parent_and_map_entries_not_at_all()
    {
        string[] names = [.. TestProtos.Everything.Messages.Select(m => m.FullName)];

        int parent = Array.IndexOf(names, "everything.proto2.Extendable");
        Assert.Equal("everything.proto2.Extendable.Inner", names[parent + 1]);
        Assert.DoesNotContain(names, n => n.EndsWith("Entry", StringComparison.Ordinal));
        Assert.NotNull(TestProtos.Everything.FindMessage("everything.proto2.Maps.StringBoolEntry"));
        Assert.Null(TestProtos.Everything.FindMessage("Maps"));
    }

    [Fact]
    public static void Methods_know_their_types_and_streams()
    {
        RpcServiceInfo service = TestProtos.Everything.GetService("everything.proto2.Calls");

        Assert.Equal(
            ["Unary --", "ServerStream -s", "ClientStream c-", "BothStream cs", "stream --"],
            service.Methods.Select(m =>
                $"{m.Name} {(m.IsClientStreaming ? 'c' : '-')}{(m.IsServerStreaming ? 's' : '-')}"));
        Assert.Equal([true, false, false, false, true], service.Methods.Select(m => m.IsUnary));
        Assert.Equal("google.protobuf.Timestamp", service.FindMethod("STREAM")!.RequestType.FullName);
        Assert.Null(service.FindMethod("No"));
    }

    [Theory]
    [InlineData("Category", "tool", 1)]
    [InlineData("Category", "Tool", 1)]
    [InlineData("Category", "unspecified", 0)]
    [InlineData("Category", "category_tool", 1)]
    [InlineData("Category", "TOY", 7)]
    [InlineData("Category", "big_toy", 3)]
    [InlineData("Order.State", "open", 1)]
    [InlineData("Order.State", "closed", 2)]
    [InlineData("HTTPMethod", "get", 1)]
    public static void Enum_names_are_found_without_the_name_of_the_enum(string type, string name, int number)
    {
        Assert.True(ShortNames().GetEnum($"shop.v1.{type}").TryGetNumber(name, out int found));
        Assert.Equal(number, found);
    }

    [Theory]
    [InlineData("Category", "oo")]
    [InlineData("Category", "toys")]
    [InlineData("Category", "")]
    [InlineData("Category", "2")]
    [InlineData("Category", "both")]
    [InlineData("Order.State", "state")]
    [InlineData("Category", "egory_tool")]
    public static void An_enum_has_no_other_short_names(string type, string name) =>
        Assert.False(ShortNames().GetEnum($"shop.v1.{type}").TryGetNumber(name, out _));

    private static RpcSchema ShortNames()
    {
        using TempFolder folder = new();
        return RpcSchema.Load([folder.Write("short.proto", """
            syntax = "proto2";
            package shop.v1;
            enum Category {
              option deprecated_legacy_json_field_conflicts = true;
              CATEGORY_UNSPECIFIED = 0; CATEGORY_TOOL = 1; CATEGORY_TOY = 2; CATEGORY_BIG_TOY = 3;
              CATEGORY_2 = 9; CATEGORY_BOTH = 4; Category_Both = 5; TOY = 7; CATEGORYTOYS = 8;
            }
            message Order { enum State { STATE_UNSPECIFIED = 0; ORDER_STATE_OPEN = 1; STATE_CLOSED = 2; } }
            enum HTTPMethod { HTTP_METHOD_ANY = 0; HTTP_METHOD_GET = 1; }
            """)]);
    }

    [Fact]
    public static void Enum_names_are_found_in_any_case_and_numbers_by_their_first_name()
    {
        RpcEnumInfo color = TestProtos.Everything.GetEnum("everything.proto2.Color");

        Assert.True(color.TryGetNumber("blue", out int blue));
        Assert.True(color.TryGetNumber("AZURE", out int azure));
        Assert.False(color.TryGetNumber("PINK", out _));
        Assert.Equal((3, 3), (blue, azure));
        Assert.Equal("BLUE", color.FindName(3));
        Assert.Equal("SMALLEST", color.FindName(int.MinValue));
        Assert.Null(color.FindName(4711));
        Assert.Equal(
            ["RED", "GREEN", "BLUE", "AZURE", "NEGATIVE", "LARGEST", "SMALLEST"],
            color.Values.Select(v => v.Key));
    }

    [Fact]
    public static void Many_threads_see_the_same_objects()
    {
        RpcSchema schema = RpcSchema.FromDescriptorSet(TestProtos.Everything.ToDescriptorSet());
        RpcMessageInfo message = schema.GetMessage("everything.proto2.Choice");
        RpcFieldInfo[] seen = new RpcFieldInfo[64];

        Parallel.For(0, seen.Length, i => seen[i] = message.Oneofs[0].Fields[i % 2]);

        Assert.All(seen, (field, i) => Assert.Same(message.FindField(i % 2 == 0 ? "number" : "word"), field));
    }
}
