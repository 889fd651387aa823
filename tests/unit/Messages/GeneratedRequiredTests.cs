using Google.Protobuf;
using ProtoRpc.Messages;
using ProtoRpc.Tests.Messages.Required;

namespace ProtoRpc.Tests.Messages;

public static class GeneratedRequiredTests
{
    public static TheoryData<IMessage, string?> Messages => new()
    {
        { new Free { More = { new Free() } }, null },
        { new Node { Name = "" }, null },
        { new Node(), "Node.name" },
        { new Node { Name = "a", One = new Node() }, "Node.one.name" },
        { new Node { Name = "a", One = new Node { Name = "b", One = new Node() } }, "Node.one.one.name" },
        { new Node { Name = "a", Many = { new Node { Name = "b" }, new Node() } }, "Node.many[1].name" },
        {
            new Node { Name = "a", Named = { ["k"] = new Node { Name = "b", Many = { new Node() } } } },
            "Node.named[k].many[0].name"
        },
        { new Node { Name = "a", Chosen = new Node() }, "Node.chosen.name" },
        { new Node { Name = "a", Number = 1 }, null },
        { new Holder { Free = new Free() }, null },
        { new Holder { Open = Open(new Node { Name = "a" }) }, null },
        { new Holder { Open = Open(new Node()) }, "Holder.open: a field of an extension" },
    };

    [Theory]
    [MemberData(nameof(Messages), DisableDiscoveryEnumeration = true)]
    public static void The_first_that_is_missing_is_named(IMessage message, string? path)
    {
        Assert.Equal(path, GeneratedRequired.FindMissing(message));
        Assert.Equal(path is null, message.IsInitialized());
    }

    // Wrappers, which are no messages in generated classes, and groups: the check of Google.Protobuf 3.36.2
    // throws for both.
    public static TheoryData<IMessage, string?> Wrappings => new()
    {
        { new Wrapping(), "Wrapping.number" },
        { new Wrapping { Number = 0 }, "Wrapping.text" },
        { new Wrapping { Number = 0, Text = "" }, "Wrapping.inner" },
        {
            new Wrapping { Number = 0, Text = "", Inner = new Wrapping.Types.Inner() },
            "Wrapping.inner.depth"
        },
        { new Wrapping { Number = 0, Text = "", Inner = new Wrapping.Types.Inner { Depth = 0 } }, null },
        { new OpenGroup(), null },
        { new OpenGroup { Part = new OpenGroup.Types.Part { A = 1 } }, null },
    };

    [Theory]
    [MemberData(nameof(Wrappings), DisableDiscoveryEnumeration = true)]
    public static void Required_wrappers_and_groups_are_checked(IMessage message, string? path)
    {
        for (int i = 0; i < 1000; i++)
        {
            Assert.Equal(path, GeneratedRequired.FindMissing(message));
        }
    }

    // Code is compiled for classes of which many messages were checked.
    [Theory]
    [MemberData(nameof(Messages), DisableDiscoveryEnumeration = true)]
    public static void Compiled_code_finds_the_same(IMessage message, string? path)
    {
        Holder many = new();
        for (int i = 0; i < 1000; i++)
        {
            many.Nodes.Add(new Node { Name = "a", Many = { new Node { Name = "b" } } });
            GeneratedRequired.FindMissing(message);
        }

        Assert.Null(GeneratedRequired.FindMissing(many));
        Assert.Null(GeneratedRequired.FindMissing(many));
        Assert.Equal(path, GeneratedRequired.FindMissing(message));
        many.Nodes[999].Many[0].ClearName();
        Assert.Equal("Holder.nodes[999].many[0].name", GeneratedRequired.FindMissing(many));
    }

    [Fact]
    public static void A_deep_message_that_lacks_a_field_is_found_in_linear_time()
    {
        Node root = new();
        for (int i = 0; i < 200; i++)
        {
            root = new Node { Name = "a", One = root };
        }

        for (int i = 0; i < 1000; i++)
        {
            Assert.EndsWith(".one.name", GeneratedRequired.FindMissing(root));
        }
    }

    [Fact]
    public static void Many_threads_may_check_while_code_is_made()
    {
        Holder complete = new() { Nodes = { new Node { Name = "a" } } };
        Holder incomplete = new() { Nodes = { new Node { Name = "a" }, new Node() } };

        Parallel.For(0, 5000, _ =>
        {
            Assert.Null(GeneratedRequired.FindMissing(complete));
            Assert.Equal("Holder.nodes[1].name", GeneratedRequired.FindMissing(incomplete));
        });
    }

    private static Open Open(Node extra)
    {
        Open open = new();
        open.SetExtension(RequiredExtensions.Extra, extra);
        return open;
    }
}
