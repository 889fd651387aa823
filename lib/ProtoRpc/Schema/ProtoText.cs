using Google.Protobuf.Reflection;

namespace ProtoRpc.Schema;

/// <summary>Writes the text of a .proto file: lines, indentation and comments.</summary>
/// <param name="comments">The comments of the file, or null for none.</param>
internal sealed class ProtoText(SourceComments? comments)
{
    private const int IndentWidth = 2;

    private readonly StringBuilder _text = new();
    private bool _wantsBlank;
    private bool _isEmpty = true;

    /// <summary>How deep the next line is.</summary>
    public int Depth { get; private set; }

    /// <summary>Writes an element that is one statement, with its comments.</summary>
    public void Statement(string text, string path)
    {
        SourceCodeInfo.Types.Location? location = comments?.Find(path);
        Leading(location);
        string[] trailing = Lines(location?.TrailingComments);
        if (trailing.Length == 1)
        {
            Line($"{text} //{trailing[0]}");
            return;
        }

        Line(text);
        if (trailing.Length > 1)
        {
            // The blank line keeps this comment from becoming the leading comment of the next element.
            Comment(trailing);
            Blank();
        }
    }

    /// <summary>Writes an element with a body, with its comments.</summary>
    public void Block(string head, string path, Action body)
    {
        SourceCodeInfo.Types.Location? location = comments?.Find(path);
        Leading(location);
        Line($"{head} {{");
        _isEmpty = true;
        Depth++;
        string[] trailing = Lines(location?.TrailingComments);
        if (trailing.Length > 0)
        {
            Comment(trailing);
            Blank();
        }

        body();
        Depth--;
        _wantsBlank = false;
        Line("}");
    }

    public void Line(string text)
    {
        if (_wantsBlank)
        {
            _text.Append('\n');
            _wantsBlank = false;
        }

        _isEmpty = false;
        _text.Append(' ', Depth * IndentWidth).Append(text).Append('\n');
    }

    /// <summary>Puts a blank line before the next line;
    /// none at the beginning and the end of a block.</summary>
    public void Blank() => _wantsBlank = !_isEmpty;

    public override string ToString() => _text.ToString();

    private void Leading(SourceCodeInfo.Types.Location? location)
    {
        foreach (string detached in location?.LeadingDetachedComments ?? [])
        {
            Blank();
            Comment(Lines(detached));
            Blank();
        }

        Comment(Lines(location?.LeadingComments));
    }

    private void Comment(string[] lines)
    {
        foreach (string line in lines)
        {
            Line($"//{line}".TrimEnd());
        }
    }

    private static string[] Lines(string? comment)
    {
        if (string.IsNullOrEmpty(comment))
        {
            return [];
        }

        string[] lines = comment.ReplaceLineEndings("\n").Split('\n');
        return lines[^1].Length == 0 ? lines[..^1] : lines;
    }
}
