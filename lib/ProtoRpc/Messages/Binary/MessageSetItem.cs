
namespace ProtoRpc.Messages.Binary;

/// <summary>What a MessageSet holds, on the wire: the group 1 of the extension's number as field 2 and its
/// message as field 3.</summary>
/// <param name="TypeId">The number of the extension.</param>
/// <param name="MessageStart">Where the length of the message stands.</param>
internal readonly record struct MessageSetItem(int TypeId, int MessageStart)
{
    public const uint StartTag = (1 << WireType.TagBits) | WireType.StartGroup;
    public const uint EndTag = (1 << WireType.TagBits) | WireType.EndGroup;
    public const uint TypeIdTag = (2 << WireType.TagBits) | WireType.Varint;
    public const uint MessageTag = (3 << WireType.TagBits) | WireType.LengthDelimited;

    /// <summary>Reads an item whose first tag was read.</summary>
    /// <returns>Null if the type id or the message is missing. Other implementations also skip such an
    /// item.</returns>
    /// <remarks>The first type id and the first message count, in either order.</remarks>
    public static MessageSetItem? Read(ref WireReader reader)
    {
        int typeId = 0;
        int messageStart = -1;
        reader.EnterGroup();
        while (!reader.AtEnd)
        {
            int start = reader.Position;
            uint tag = reader.ReadTag();
            switch (tag)
            {
                case EndTag:
                    reader.LeaveGroup();
                    return typeId == 0 || messageStart < 0 ? null : new(typeId, messageStart);
                case TypeIdTag:
                    int given = (int)reader.ReadVarint();
                    if (given == 0)
                    {
                        throw reader.Malformed("an item of a MessageSet has the type id 0", start);
                    }
                    typeId = typeId == 0 ? given : typeId;
                    break;
                case MessageTag:
                    messageStart = messageStart < 0 ? reader.Position : messageStart;
                    reader.ReadBytes();
                    break;
                default:
                    reader.Skip(tag);
                    break;
            }
        }
        throw reader.Truncated("an item of a MessageSet", reader.Position);
    }
}
