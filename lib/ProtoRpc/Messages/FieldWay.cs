namespace ProtoRpc.Messages;

/// <summary>How a field is read and written: the common ones have a way of their own, with nothing more to
/// ask about them.</summary>
internal enum FieldWay : byte
{
    /// <summary>All that is not below: in a oneof, of a closed enum, a map, a group, repeated.</summary>
    Other,

    /// <summary>An int64 or uint64.</summary>
    Varint,

    /// <summary>An int32 or an open enum.</summary>
    Int32,

    /// <summary>A fixed64, sfixed64 or double.</summary>
    Fixed64,

    /// <summary>Another scalar.</summary>
    Scalar,

    /// <summary>A string.</summary>
    String,

    /// <summary>Bytes.</summary>
    Bytes,

    /// <summary>A message.</summary>
    Message,

    /// <summary>A list of messages.</summary>
    Messages,
}
