namespace ProtoRpc.Commands;

/// <summary>How a parameter reads an argument that is text, where a shell would refuse the text or read it in
/// another way than the mapper of messages.</summary>
internal enum ArgumentText
{
    /// <summary>As the shell does.</summary>
    Plain,

    /// <summary><c>true</c> and <c>false</c>; empty for absent.</summary>
    Bool,

    /// <summary>Text with the prefix <c>utf8:</c> or <c>base64:</c>.</summary>
    Bytes,

    /// <summary>A date of RFC 3339.</summary>
    Timestamp,

    /// <summary>Seconds, or a time with colons.</summary>
    Duration,

    /// <summary>A list as JSON; empty for no element.</summary>
    List,

    /// <summary>A list of bytes, as <see cref="List"/>; one byte array is one element.</summary>
    BytesList,
}
