using ProtoRpc.Protocols.Dce;

namespace ProtoRpc.Tests.Protocols.Dce;

public static class FragmentWriterTests
{
    private const int Large = ushort.MaxValue;

    [Theory]
    [InlineData(Large - PduHeader.CallSize)]
    [InlineData(Large - PduHeader.CallSize + 1)]
    [InlineData((2 * (Large - PduHeader.CallSize)) + 5)]
    [InlineData(300_000)]
    public static void Large_fragments_are_cut_where_the_message_lies_and_leave_it_as_it_was(int stubLength)
    {
        byte[] message = Message(stubLength);
        using FragmentWriter writer = new();

        // As when a request is sent again over another connection.
        List<byte[]> first = Fragments(writer, message, Large);
        List<byte[]> second = Fragments(writer, message, Large);

        Assert.Equal(Message(stubLength)[PduHeader.CallSize..], message[PduHeader.CallSize..]);
        Assert.Equal(first, second);
        Assert.Equal(
            message[PduHeader.CallSize..], first.SelectMany(fragment => fragment[PduHeader.CallSize..]));
        Assert.All(first, fragment => Assert.Equal(
            (PduDefect.None, (ushort)fragment.Length),
            (PduHeader.Read(fragment).Check(Large), PduHeader.Read(fragment).FragmentLength)));
        Assert.Equal(
            (PduFlags.First, PduFlags.Last),
            (PduHeader.Read(first[0]).Flags & PduFlags.First,
                PduHeader.Read(first[^1]).Flags & PduFlags.Last));
    }

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    public static void A_message_that_is_given_up_midway_is_left_as_it_was(int taken)
    {
        byte[] message = Message(200_000);
        using FragmentWriter writer = new();
        writer.Begin(message, PduType.Request, 7, 0, Large);
        for (int i = 0; i < taken; i++)
        {
            Assert.True(writer.TryNext(out _));
        }

        writer.Release();

        Assert.Equal(Message(200_000)[PduHeader.CallSize..], message[PduHeader.CallSize..]);
        Assert.False(writer.TryNext(out _));
    }

    [Fact]
    public static void A_control_goes_between_fragments()
    {
        byte[] message = Message(200_000);
        using FragmentWriter writer = new();
        writer.Begin(message, PduType.Response, 7, 0, Large);
        Assert.True(writer.TryNext(out _));
        Assert.True(writer.TryNext(out _));

        writer.Control = [1, 2, 3];

        Assert.True(writer.TryNext(out ReadOnlyMemory<byte> control));
        Assert.Equal([1, 2, 3], control.ToArray());
        Assert.True(writer.TryNext(out ReadOnlyMemory<byte> third));
        Assert.Equal(PduType.Response, PduHeader.Read(third.Span).Type);
    }

    private static byte[] Message(int stubLength)
    {
        byte[] message = new byte[PduHeader.CallSize + stubLength];
        new Random(stubLength).NextBytes(message);
        return message;
    }

    private static List<byte[]> Fragments(FragmentWriter writer, byte[] message, int maxFragment)
    {
        List<byte[]> fragments = [];
        writer.Begin(message, PduType.Request, 7, 0, maxFragment);
        while (writer.TryNext(out ReadOnlyMemory<byte> bytes))
        {
            fragments.Add(bytes.ToArray());
        }

        return fragments;
    }
}
