using static ProtoRpc.Tests.Messages.TestMessages;

namespace ProtoRpc.Tests.Messages;

/// <summary>Changes good bytes at random: what is read either is a message or is refused, and nothing
/// else.</summary>
public static class MessageFuzzTests
{
    private const int Rounds = 1500;

    [Theory]
    [InlineData("proto2.Singular")]
    [InlineData("proto2.Repeated")]
    [InlineData("proto2.Packed")]
    [InlineData("proto2.Maps")]
    [InlineData("proto2.Choice")]
    [InlineData("proto2.Required")]
    [InlineData("proto2.Extendable")]
    [InlineData("proto3.Singular")]
    [InlineData("proto3.Maps")]
    [InlineData("proto3.WellKnown")]
    [InlineData("editions.Explicit")]
    [InlineData("editions.Repeated")]
    [InlineData("editions.Maps")]
    public static void Changed_bytes_are_read_or_refused_and_stay_the_same_once_written(string name)
    {
        RpcMessageInfo type = Type(name);
        Random random = new(4711);
        RandomMessages messages = new(42);
        MessageMapper mapper = new();
        byte[][] seeds = Enumerable.Range(0, 20).Select(_ => messages.Make(type).ToByteArray()).ToArray();

        for (int round = 0; round < Rounds; round++)
        {
            byte[] bytes = Mutate(seeds[random.Next(seeds.Length)], random);
            if (TryParse(type, bytes) is not { } message)
            {
                continue;
            }
            byte[] written = message.ToByteArray();
            Assert.Equal(written.Length, message.CalculateSize());
            DynamicMessage again = DynamicMessage.Parse(type, written.AsSpan());
            Assert.True(message.Equals(again), $"{Convert.ToHexString(bytes)} changed: {message} to {again}");
            Assert.Equal(message.GetHashCode(), again.GetHashCode());
            Assert.Equal(written, again.ToByteArray());
            Assert.Equal(message, message.Clone());
            Assert.NotNull(mapper.ToObject(message));
        }
    }

    [Fact]
    public static void Every_prefix_of_a_message_is_read_or_refused()
    {
        RandomMessages messages = new(7);
        string[] names = ["proto2.Singular", "proto3.Repeated", "proto2.Maps", "proto2.Extendable"];
        foreach (string name in names)
        {
            byte[] bytes = messages.Make(Type(name)).ToByteArray();
            for (int length = 0; length <= bytes.Length; length++)
            {
                DynamicMessage? message = TryParse(Type(name), bytes[..length]);
                Assert.True(message is null || message.ToByteArray().Length <= bytes.Length + length);
            }
        }
    }

    private static DynamicMessage? TryParse(RpcMessageInfo type, byte[] bytes)
    {
        try
        {
            return DynamicMessage.Parse(type, bytes.AsSpan());
        }
        catch (RpcException e)
        {
            Assert.Equal(RpcStatusCode.InvalidArgument, e.Code);
            return null;
        }
    }

    private static byte[] Mutate(byte[] seed, Random random)
    {
        List<byte> bytes = [.. seed];
        for (int changes = random.Next(1, 4); changes > 0; changes--)
        {
            int at = random.Next(bytes.Count + 1);
            switch (random.Next(5))
            {
                case 0 when at < bytes.Count:
                    bytes[at] = (byte)random.Next(256);
                    break;
                case 1 when at < bytes.Count:
                    bytes[at] ^= (byte)(1 << random.Next(8));
                    break;
                case 2 when at < bytes.Count:
                    bytes.RemoveRange(at, Math.Min(random.Next(1, 5), bytes.Count - at));
                    break;
                case 3:
                    bytes.InsertRange(
                        at, Enumerable.Range(0, random.Next(1, 5)).Select(_ => (byte)random.Next(256)));
                    break;
                default:
                    bytes.InsertRange(at, bytes.Take(random.Next(bytes.Count + 1)).ToArray());
                    break;
            }
        }
        return [.. bytes];
    }
}
