using ProtoRpc.Formats;

namespace ProtoRpc;

/// <summary>The options for reading and writing. A format ignores the options of other formats.</summary>
public sealed record FormatOptions
{
    private static readonly RpcLimits Usual = RpcLimits.Default;

    /// <summary>The options that are used when none are given.</summary>
    public static FormatOptions Default { get; } = new();

    /// <summary>The schema with the types of messages in an Any, and with the extensions of generated
    /// messages; null for the schema of the message itself.</summary>
    public RpcSchema? Schema { get; init; }

    /// <summary>Whether to ignore unknown field names instead of rejecting them; in JSON, also unknown names
    /// of enum values.</summary>
    public bool IgnoreUnknownFields { get; init; }

    /// <summary>JSON, XML and form: whether fields without presence are written when they hold their default,
    /// in JSON also empty lists and maps.</summary>
    public bool IncludeDefaults { get; init; }

    /// <summary>JSON: whether names are written as the .proto has them. Both are always read.</summary>
    public bool UseProtoNames { get; init; }

    /// <summary>XML: the name of the outermost element that is written. Any is read.</summary>
    public string XmlRoot { get; init; } = "root";

    /// <summary>XML: whether the elements of a repeated field are <c>item</c> elements in one element with
    /// the field's name, instead of one element each. Applies to reading and writing.</summary>
    public bool NestedRepeated { get; init; }

    /// <summary>XML: whether to write characters that XML does not allow as U+FFFD instead of rejecting them.
    /// Used for error texts, which must not fail.</summary>
    internal bool ReplaceForbidden { get; init; }

    /// <summary>JSON and XML: whether to write line breaks and indentation. Text always has them.</summary>
    public bool Indented { get; init; }

    /// <summary>Text: whether an Any is written as the message in it, <c>[type/name] { ... }</c>. Both are
    /// always read.</summary>
    public bool ExpandAny { get; init; }

    /// <summary>Text: whether to write unknown fields, by their numbers. No parser reads them.</summary>
    public bool PrintUnknownFields { get; init; } = true;

    /// <summary>Messages within messages that are read and written: 100. More than 100 are never
    /// possible.</summary>
    public int MaxDepth { get; init; } = Usual.MaxDepth;

    /// <summary>Elements of a message that is read, which are the messages within it, all their fields, set
    /// or not, and the entries of maps; a long message may have one for every two bytes: 1,000,000.</summary>
    public int MaxElements { get; init; } = Usual.MaxMessageElements;

    /// <summary>Entries of a map with numbers as keys in a message of a generated class.</summary>
    internal int MaxGeneratedMapEntries { get; init; } = Usual.MaxGeneratedMapEntries;

    /// <summary>Form: pairs of name and value that are read: 1,024.</summary>
    public int MaxFormFields { get; init; } = 1024;

    /// <summary>Called again and again while a long message is read; throws to end that. Null for
    /// nothing.</summary>
    internal Action? Look { get; init; }

    /// <summary>JSON and text: where the text begins within a longer one.</summary>
    internal TextOrigin Origin { get; init; }
}
