using Google.Protobuf;
using ProtoRpc.Tests.Messages;

namespace ProtoRpc.Fuzz.Inputs;

/// <summary>The types whose messages are read: those of the test schemas, and random ones. The first byte of
/// an input chooses.</summary>
internal static class MessageTypes
{
    private const int RandomSets = 12;
    private const int PerSet = 2;
    private const int Seed = 20_240_229;

    private static readonly string[] Files =
    [
        "everything_proto2.proto", "everything_proto3.proto", "everything_editions.proto",
            "message_sets.proto",
    ];

    private static readonly string[] Names =
    [
        "everything.proto2.Singular", "everything.proto2.Repeated", "everything.proto2.Packed",
        "everything.proto2.Maps", "everything.proto2.Choice", "everything.proto2.Required",
        "everything.proto2.Extendable", "everything.proto3.Singular", "everything.proto3.Maps",
        "everything.proto3.WellKnown", "everything.editions.Explicit", "everything.editions.Repeated",
        "everything.editions.Maps", "everything.proto3.Optional", "everything.proto3.Choice",
    ];

    private static readonly Lazy<(IReadOnlyList<RpcMessageInfo> Types, byte[][] Sets)> Once = new(Load);

    /// <summary>All of them.</summary>
    public static IReadOnlyList<RpcMessageInfo> All => Once.Value.Types;

    /// <summary>The descriptor sets of the random ones.</summary>
    public static IReadOnlyList<byte[]> RandomDescriptorSets => Once.Value.Sets;

    /// <summary>The type that an input's first byte names.</summary>
    public static RpcMessageInfo Of(byte[] input) => All[(input.Length == 0 ? 0 : input[0]) % All.Count];

    /// <summary>What follows the first byte.</summary>
    public static byte[] BodyOf(byte[] input) => input.Length == 0 ? input : input[1..];

    /// <summary>Inputs of each type.</summary>
    /// <param name="count">How many of each.</param>
    /// <param name="write">Writes a message; null where that cannot be.</param>
    public static IEnumerable<byte[]> Seeds(int count, Func<DynamicMessage, byte[]?> write)
    {
        RandomMessages messages = new(Seed);
        for (int i = 0; i < All.Count; i++)
        {
            for (int j = 0; j < count; j++)
            {
                if (write(messages.Make(All[i])) is { } bytes)
                {
                    yield return [(byte)i, .. bytes];
                }
            }
        }
    }

    /// <summary>An input of a random message.</summary>
    public static byte[]? Generate(Random random, Func<DynamicMessage, byte[]?> write)
    {
        int type = random.Next(All.Count);
        return write(new RandomMessages(random.Next()).Make(All[type])) is { } bytes ? [(byte)type, .. bytes]
            : null;
    }

    private static (IReadOnlyList<RpcMessageInfo> Types, byte[][] Sets) Load()
    {
        string folder = Path.Combine(AppContext.BaseDirectory, "Schema", "protos");
        RpcSchema tests = RpcSchema.Load(Files.Select(file => Path.Combine(folder, file)));
        List<RpcMessageInfo> types = [.. Names.Select(tests.GetMessage)];
        types.AddRange(tests.Messages.Where(
            type => type.FullName.Contains("Set", StringComparison.Ordinal)).Take(2));
        byte[][] sets = new byte[RandomSets][];
        for (int i = 0; i < RandomSets; i++)
        {
            sets[i] = RandomSchemas.Make(new Random(Seed + i)).ToByteArray();
            types.AddRange(RpcSchema.FromDescriptorSet(sets[i]).Messages
                .Where(type => type.Fields.Count > 0).Take(PerSet));
        }

        return (types, sets);
    }
}
