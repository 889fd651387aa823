using Google.Protobuf;
using ProtoRpc.Schema.Sources.Protoc;

namespace ProtoRpc.Tests.Schema;

/// <summary>The files of compiled schemas, which a disk may damage.</summary>
public static class CompiledEntryTests
{
    private static readonly CompiledEntry Entry = new(
        "key \0 ü", ByteString.CopyFrom(1, 2, 3), ["a", ""], ["b"],
        [
            new CompiledSource("a.proto", "/x/a.proto", ByteString.CopyFromUtf8("message A {}")),
            new CompiledSource("b.proto", "", ByteString.Empty),
        ]);

    [Fact]
    public static void An_entry_is_read_as_it_was_written()
    {
        CompiledEntry read = Assert.IsType<CompiledEntry>(CompiledEntry.Read(Entry.ToBytes()));

        Assert.Equal(Entry.Key, read.Key);
        Assert.Equal(Entry.Set, read.Set);
        Assert.Equal(Entry.Warnings, read.Warnings);
        Assert.Equal(Entry.LeftOutOptions, read.LeftOutOptions);
        Assert.Equal(Entry.Sources, read.Sources);
    }

    [Fact]
    public static void A_file_that_is_cut_off_anywhere_is_none()
    {
        byte[] bytes = Entry.ToBytes();

        Assert.All(
            Enumerable.Range(0, bytes.Length), length => Assert.Null(CompiledEntry.Read(bytes[..length])));
    }

    [Fact]
    public static void A_file_with_one_other_bit_is_none()
    {
        byte[] bytes = Entry.ToBytes();
        for (int i = 0; i < bytes.Length * 8; i++)
        {
            byte[] damaged = [.. bytes];
            damaged[i / 8] ^= (byte)(1 << (i % 8));

            Assert.Null(CompiledEntry.Read(damaged));
        }
    }

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(8)]
    public static void A_file_with_more_behind_it_is_none(byte value)
    {
        byte[] bytes = Entry.ToBytes();

        Assert.Null(CompiledEntry.Read([.. bytes, value]));
        Assert.Null(CompiledEntry.Read([.. bytes, .. bytes]));
    }
}
