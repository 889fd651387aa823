namespace ProtoRpc.Formats;

/// <summary>What is said of a format in the table, <see cref="MessageFormats"/>.</summary>
/// <param name="Name">The name, as parameters have it.</param>
/// <param name="MediaType">The media type to send, with its charset where it has one.</param>
internal sealed record FormatRow(string Name, string MediaType)
{
    /// <summary>Further media types that mean the format.</summary>
    public IReadOnlyList<string> OtherMediaTypes { get; init; } = [];

    /// <summary>The endings of its files, with their dots; the preferred one first.</summary>
    public IReadOnlyList<string> FileExtensions { get; init; } = [];

    /// <summary>Whether what it writes is UTF-8 text.</summary>
    public bool IsText { get; init; } = true;

    /// <summary>How messages stand one behind the other in a stream.</summary>
    public FormatStreaming Streaming { get; init; }

    /// <summary>What the Connect protocol calls it in a query; null where it does not have it.</summary>
    public string? ConnectName { get; init; }

    /// <summary>Its place among the formats of HTTP that a client likes equally, from 1; 0 is not served over
    /// HTTP.</summary>
    public int HttpRank { get; init; }

    /// <summary>Whether replies are only in it for clients that ask for it by name.</summary>
    public bool IsByNameOnly { get; init; }
}

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
