using Google.Protobuf;

namespace ProtoRpc.Schema;

/// <summary>Finds fields in serialized messages that the generated classes do not know.</summary>
internal static class WireScan
{
    /// <summary>The length-delimited values of a field, in order.</summary>
    /// <exception cref="InvalidProtocolBufferException">The bytes are no message.</exception>
    public static IReadOnlyList<ByteString> Bytes(ByteString message, int number)
    {
        List<ByteString> found = [];
        uint wanted = WireFormat.MakeTag(number, WireFormat.WireType.LengthDelimited);
        Scan(message, wanted, input => found.Add(input.ReadBytes()));
        return found;
    }

    /// <summary>The last value of an integer or enum field, 0 when it is not there.</summary>
    /// <exception cref="InvalidProtocolBufferException">The bytes are no message.</exception>
    public static ulong Number(ByteString message, int number)
    {
        ulong last = 0;
        Scan(message, WireFormat.MakeTag(number, WireFormat.WireType.Varint),
            input => last = input.ReadUInt64());
        return last;
    }

    private static void Scan(ByteString message, uint wanted, Action<CodedInputStream> found)
    {
        using CodedInputStream input = message.CreateCodedInput();
        for (uint tag = input.ReadTag(); tag != 0; tag = input.ReadTag())
        {
            if (tag == wanted)
            {
                found(input);
            }
            else
            {
                input.SkipLastField();
            }
        }
    }
}
