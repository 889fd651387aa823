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

    private static Open Open(Node extra)
    {
        Open open = new();
        open.SetExtension(RequiredExtensions.Extra, extra);
        return open;
    }
}
