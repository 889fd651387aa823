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
        using CodedInputStream input = message.CreateCodedInput();
        for (uint tag = input.ReadTag(); tag != 0; tag = input.ReadTag())
        {
            if (tag == wanted)
            {
                found.Add(input.ReadBytes());
            }
            else
            {
                input.SkipLastField();
            }
        }

        return found;
    }
}
