namespace ProtoRpc.Messages;

/// <summary>What goes through the whole of a message, and so costs as much as the message is large.</summary>
internal enum MessagePass
{
    /// <summary>The message is written in binary.</summary>
    Encode,

    /// <summary>The required fields are looked for, here and in nested messages, on their own or while the
    /// message is read.</summary>
    CheckRequired,
}
