namespace ProtoRpc.Messages.Binary;

/// <summary>The wire types of Protocol Buffers: the low three bits of a tag.</summary>
internal static class WireType
{
    public const uint Varint = 0;
    public const uint Fixed64 = 1;
    public const uint LengthDelimited = 2;
    public const uint StartGroup = 3;
    public const uint EndGroup = 4;
    public const uint Fixed32 = 5;

    public const int TagBits = 3;
    public const uint Mask = 7;

    public static uint MakeTag(int number, uint wireType) => ((uint)number << TagBits) | wireType;
}
