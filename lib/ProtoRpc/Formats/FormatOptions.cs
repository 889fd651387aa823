using ProtoRpc.Formats;

namespace ProtoRpc;

/// <summary>How a format reads and writes; each format leaves aside what is not said of it.</summary>
public sealed record FormatOptions
{
    private static readonly RpcLimits Usual = RpcLimits.Default;

    /// <summary>The options that are used when none are given.</summary>
    public static FormatOptions Default { get; } = new();

    /// <summary>Where the types within an Any are found, and the extensions of generated messages; the schema
    /// of the message itself when null.</summary>
    public RpcSchema? Schema { get; init; }

    /// <summary>Whether names that the message does not have are passed over instead of refused, and in JSON
    /// the names that an enum does not have.</summary>
    public bool IgnoreUnknownFields { get; init; }

    /// <summary>JSON, XML and form: whether fields without presence are written when they hold their default,
    /// in JSON also empty lists and maps.</summary>
    public bool IncludeDefaults { get; init; }

    /// <summary>JSON: whether names are written as the .proto has them. Both are always read.</summary>
    public bool UseProtoNames { get; init; }

    /// <summary>XML: the name of the outermost element that is written. Any is read.</summary>
    public string XmlRoot { get; init; } = "root";

    /// <summary>XML: whether the elements of a repeated field stand as <c>item</c> in one element of the
    /// field's name, instead of side by side; for reading too.</summary>
    public bool NestedRepeated { get; init; }

    /// <summary>XML: whether characters that it cannot hold are written as U+FFFD instead of refused, for
    /// texts of failures, which must arrive.</summary>
    internal bool ReplaceForbidden { get; init; }

    /// <summary>JSON and XML: whether there are line breaks and indentation. Text always has them.</summary>
    public bool Indented { get; init; }

    /// <summary>Text: whether an Any is written as the message in it, <c>[type/name] { ... }</c>. Both are
    /// always read.</summary>
    public bool ExpandAny { get; init; }

    /// <summary>Text: whether fields that the type does not have are written, by their number. No reader
    /// takes them.</summary>
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
