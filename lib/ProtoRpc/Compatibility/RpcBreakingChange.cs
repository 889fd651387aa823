namespace ProtoRpc;

/// <summary>A change of a schema that breaks callers.</summary>
/// <remarks>All texts are without control characters, for showing them.</remarks>
public sealed class RpcBreakingChange
{
    internal RpcBreakingChange()
    {
    }

    /// <summary>The rule that found the change.</summary>
    public RpcBreakingRule Rule { get; internal init; }

    /// <summary>All that the change breaks.</summary>
    public RpcBreakingCategory Category { get; internal init; }

    /// <summary>The full name of the package, service, message, enum, field or method; the name of a file for
    /// rules of files. It is that of the reference schema, if the element was there.</summary>
    public string Element { get; internal init; } = "";

    /// <summary>The change, and what to do.</summary>
    public string Message { get; internal init; } = "";

    /// <summary>The name of the file that declares the element: in the difference schema, or in the reference
    /// schema if the element was deleted.</summary>
    public string File { get; internal init; } = "";

    /// <summary>The line of the element in <see cref="File"/>, from 1; null for a schema without source
    /// positions, such as that of many servers.</summary>
    public int? Line { get; internal init; }

    /// <summary>The column of the element in its line, from 1; null without <see cref="Line"/>.</summary>
    public int? Column { get; internal init; }

    /// <summary>Whether <see cref="File"/> and <see cref="Line"/> are those of the reference schema, because
    /// the element was deleted.</summary>
    public bool IsInReference { get; internal init; }

    /// <summary>The rules of buf that the change breaks; empty for rules that buf does not have.</summary>
    public IReadOnlyList<string> BufRules { get; internal init; } = [];

    /// <summary>The place, the rule and the message in one line, like an error of a compiler:
    /// <c>shop.proto:7:3: FieldDeleted: ...</c>.</summary>
    public override string ToString() =>
        $"{File}{(Line is null ? "" : $":{Line}:{Column}")}: {Rule}: {Message}";
}
