using Google.Protobuf;

namespace ProtoRpc.Schema;

/// <summary>What the parsers of generated messages throw on bytes that are no message.</summary>
internal static class MalformedMessage
{
    /// <summary>Whether an exception of a parser means that the bytes are no message.</summary>
    /// <remarks>Google.Protobuf 3.25.1 adds a length near to 2 GiB to its position without a check, and then
    /// reads past the end of the bytes, which the runtime refuses.</remarks>
    public static bool Is(Exception e) => e is InvalidProtocolBufferException or IndexOutOfRangeException
        or ArgumentException or OverflowException;
}
