using ProtoRpc.Messages;

namespace ProtoRpc.Tests.Messages;

public static class HashtableShapeTests
{
    private static readonly RpcSchema Schema = ProtoRpc.Tests.Schema.TestProtos.Everything;

    private static HashtableShape Of(string message) => HashtableShape.OfMessage(Schema.GetMessage(message));

    [Fact]
    public static void Keys_are_fields_in_declared_order_without_those_that_are_there()
    {
        RpcMessageInfo type = Schema.GetMessage("everything.proto3.Singular");
        string[] all = [.. type.Fields.Select(field => field.Name)];

        Assert.Equal(all, HashtableShape.OfMessage(type).Keys([]).Select(key => key.Name));
        Assert.Equal(
            all.Skip(1),
            HashtableShape.OfMessage(
                type).Keys([all[0].ToUpperInvariant(), "nothing"]).Select(key => key.Name));
    }

    [Fact]
    public static void A_member_of_a_oneof_rules_out_the_others()
    {
        RpcMessageInfo type = Schema.GetMessage("everything.proto3.Choice");
        RpcOneofInfo oneof = type.Oneofs[0];

        IEnumerable<string> left =
            HashtableShape.OfMessage(type).Keys([oneof.Fields[0].Name]).Select(key => key.Name);

        Assert.Empty(left.Intersect(oneof.Fields.Select(field => field.Name)));
    }

    [Fact]
    public static void Enums_have_their_names_and_bools_two_values()
    {
        RpcMessageInfo type = Schema.GetMessage("everything.proto3.Singular");
        RpcFieldInfo choice = type.Fields.First(field => field.EnumType is not null);
        RpcFieldInfo flag = type.Fields.First(field => field.Kind == RpcFieldKind.Bool);
        HashtableShape shape = HashtableShape.OfMessage(type);

        Assert.Equal(
            choice.EnumType!.Values.Select(value => (object)value.Key),
            shape.Values(choice.Name).Select(value => value.Value));
        Assert.Equal([true, false], shape.Values(flag.Name).Select(value => value.Value));
        Assert.Empty(shape.Values("nothing"));
        Assert.Null(shape.Inside(flag.Name));
    }

    [Fact]
    public static void A_map_has_no_keys_to_offer_and_the_shape_of_its_values()
    {
        RpcMessageInfo type = Schema.GetMessage("everything.proto3.Maps");
        RpcFieldInfo map = type.Fields.First(
            field => field.IsMap && field.MessageType!.Fields[1].Kind == RpcFieldKind.Message);
        HashtableShape inside = HashtableShape.OfMessage(type).Inside(map.Name)!;

        Assert.Empty(inside.Keys([]));
        Assert.Equal(
            map.MessageType!.Fields[1].MessageType!.Fields.Select(field => field.Name),
            inside.Inside("any")!.Keys([]).Select(key => key.Name));
    }

    [Fact]
    public static void What_is_no_hashtable_has_no_keys() =>
        Assert.Empty(Of("google.protobuf.Timestamp").Keys([]));

    [Fact]
    public static void An_Any_has_the_names_of_all_messages_as_type()
    {
        HashtableShape any = Of("google.protobuf.Any");

        Assert.Equal(["@type"], any.Keys([]).Select(key => key.Name));
        Assert.Contains("everything.proto3.Maps", any.Values("@type").Select(value => value.Value));
    }

    [Fact]
    public static void Replies_have_the_methods_that_are_not_there_yet()
    {
        RpcServiceInfo service = Schema.Services[0];
        HashtableShape shape = HashtableShape.OfReplies(service);

        Assert.Equal(service.Methods.Select(method => method.Name), shape.Keys([]).Select(key => key.Name));
        Assert.Equal(
            service.Methods.Skip(1).Select(method => method.Name),
            shape.Keys([service.Methods[0].FullName]).Select(key => key.Name));
        Assert.NotNull(shape.Inside(service.Methods[0].Name));
        Assert.Null(shape.Inside("Nothing"));
    }
}
