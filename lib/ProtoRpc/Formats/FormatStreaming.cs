namespace ProtoRpc.Formats;

/// <summary>How messages of a format stand one behind the other in a stream.</summary>
internal enum FormatStreaming
{
    /// <summary>There is no such form; streams use another format.</summary>
    None = 0,

    /// <summary>Each with its length before it.</summary>
    Delimited,

    /// <summary>One on each line.</summary>
    Lines,
}
