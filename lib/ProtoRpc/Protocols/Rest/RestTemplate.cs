namespace ProtoRpc.Protocols.Rest;

/// <summary>A path template of google/api/http.proto:
/// <c>/v1/{name=shelves/*/books/**}:archive</c>.</summary>
/// <remarks>
/// <code>
/// Template = "/" [ Segments [ Verb ] ] ;
/// Segments = Segment { "/" Segment } ;
/// Segment  = "*" | "**" | LITERAL | Variable ;
/// Variable = "{" FieldPath [ "=" Segments ] "}" ;
/// Verb     = ":" LITERAL ;
/// </code>
/// As in other gateways, literals may follow <c>**</c>, so a path matches in one way at most.
/// </remarks>
internal sealed class RestTemplate
{
    private readonly List<RestSegment> _segments = [];
    private readonly List<RestVariable> _variables = [];
    private readonly HashSet<string> _names = new(StringComparer.Ordinal);

    private RestTemplate(string text) => Text = text;

    /// <summary>The template as it is written in the rule.</summary>
    public string Text { get; }

    public IReadOnlyList<RestSegment> Segments => _segments;

    public IReadOnlyList<RestVariable> Variables => _variables;

    /// <summary>The verb, decoded and without its colon; null for none.</summary>
    public string? Verb { get; private set; }

    /// <summary>The index of <c>**</c> among the segments; negative for none.</summary>
    public int Deep { get; private set; } = -1;

    /// <summary>Parses a template.</summary>
    /// <exception cref="FormatException">The text is not a template; the message contains the
    /// reason.</exception>
    public static RestTemplate Parse(string text)
    {
        RestTemplate template = new(text);
        new RestTemplateParser(text, template._segments, template._variables).Parse(out string? verb);
        template.Verb = verb;
        template._names.UnionWith(template._variables.Select(variable => variable.Name));
        template.Deep = template._segments.FindIndex(segment => segment.Kind == RestSegmentKind.Deep);
        return template;
    }

    /// <summary>Whether a variable has a name: the path of its field.</summary>
    public bool HasVariable(string name) => _names.Contains(name);

    /// <summary>The value of a variable in a path that the template matches.</summary>
    /// <returns>Null if the percent codes are invalid.</returns>
    public string? ValueOf(RestVariable variable, RestPath path) => path.ValueOf(
        PlaceOf(variable.Start, path), PlaceOf(variable.End, path), variable.IsMulti);

    /// <summary>Creates the path from the values of variables; the reverse of <see
    /// cref="ValueOf"/>.</summary>
    /// <param name="valueOf">The text of a variable; null for none.</param>
    /// <param name="misfit">Receives the first variable whose value its part of the template does not match,
    /// and the value; null if the path is complete.</param>
    /// <returns>Null if there is such a variable.</returns>
    public string? Expand(
        Func<RestVariable, string?> valueOf, out (RestVariable Variable, string? Value)? misfit)
    {
        misfit = null;
        StringBuilder path = new();
        int next = 0;
        for (int i = 0; i < _segments.Count; i++)
        {
            path.Append('/');
            if (next < _variables.Count && _variables[next].Start == i)
            {
                RestVariable variable = _variables[next++];
                string? value = valueOf(variable);
                if (value is null || !Matches(variable, value))
                {
                    misfit = (variable, value);
                    return null;
                }

                RestText.Encode(path, value, keepsSlash: variable.IsMulti);
                i = variable.End - 1;
            }
            else if (_segments[i].Kind == RestSegmentKind.Literal)
            {
                RestText.Encode(path, _segments[i].Literal);
            }
            else
            {
                // The server ignores these segments. One segment matches both * and **.
                path.Append('-');
            }
        }

        path.Append(path.Length == 0 ? "/" : "");
        if (Verb is not null)
        {
            path.Append(':');
            RestText.Encode(path, Verb);
        }

        return path.ToString();
    }

    public override string ToString() => Text;

    /// <summary>The part of the template that a variable stands for: <c>shelves/*</c>.</summary>
    public string PatternOf(RestVariable variable) => string.Join(
        '/', _segments[variable.Start..variable.End].Select(segment => segment.Kind switch
        {
            RestSegmentKind.Any => "*",
            RestSegmentKind.Deep => "**",
            _ => segment.Literal,
        }));

    // Segments after ** are counted from the end of the path.
    private int PlaceOf(int segment, RestPath path) =>
        Deep < 0 || segment <= Deep ? segment : path.Count - (_segments.Count - segment);

    private bool Matches(RestVariable variable, string value)
    {
        if (!variable.IsMulti)
        {
            // HTTP clients remove . and .. from an address, even if they are encoded.
            return value is not ("" or "." or "..") && (_segments[variable.Start].Kind == RestSegmentKind.Any
                || _segments[variable.Start].Literal == value);
        }

        string[] parts = value.Length == 0 ? [] : value.Split('/');
        int count = variable.End - variable.Start;
        bool hasDeep = Deep >= variable.Start && Deep < variable.End;
        if (hasDeep ? parts.Length < count - 1 : parts.Length != count)
        {
            return false;
        }

        for (int i = variable.Start; i < variable.End; i++)
        {
            int place = hasDeep && i > Deep ? parts.Length - (variable.End - i) : i - variable.Start;
            RestSegment segment = _segments[i];
            if (segment.Kind != RestSegmentKind.Deep && (
                segment.Kind == RestSegmentKind.Any
                    ? parts[place].Length == 0
                    : parts[place] != segment.Literal))
            {
                return false;
            }
        }

        return !Array.Exists(parts, part => part is "." or "..");
    }
}

/// <summary>One segment of a template.</summary>
/// <param name="Kind">The kind of paths that it matches.</param>
/// <param name="Literal">The text of a literal, decoded; otherwise empty.</param>
internal readonly record struct RestSegment(RestSegmentKind Kind, string Literal);

/// <summary>The kind of paths that a segment of a template matches.</summary>
internal enum RestSegmentKind
{
    /// <summary>The same text, ignoring case.</summary>
    Literal,

    /// <summary><c>*</c>: one segment that is not empty.</summary>
    Any,

    /// <summary><c>**</c>: any number of segments.</summary>
    Deep,
}

/// <summary>A variable of a template: a field whose value is a part of the path.</summary>
/// <param name="Path">The names from the request to the field.</param>
/// <param name="Start">The index of its first segment in the template.</param>
/// <param name="End">The index after its last segment.</param>
/// <param name="IsMulti">Whether it has several segments, or <c>**</c>.</param>
internal sealed record RestVariable(IReadOnlyList<string> Path, int Start, int End, bool IsMulti)
{
    /// <summary>The names, separated by dots.</summary>
    public string Name { get; } = string.Join('.', Path);
}

/// <summary>Parses a template.</summary>
internal ref struct RestTemplateParser(
    ReadOnlySpan<char> text, List<RestSegment> segments, List<RestVariable> variables)
{
    // Limits the recursion: the search for a route goes one level deeper for each segment.
    private const int MaxSegments = 100;

    private static readonly SearchValues<char> Ends = SearchValues.Create("/:{}*=");

    private readonly ReadOnlySpan<char> _text = text;
    private int _at;
    private bool _hasDeep;

    private readonly char Next => _at < _text.Length ? _text[_at] : '\0';

    public void Parse(out string? verb)
    {
        verb = null;
        if (!Take('/'))
        {
            throw new FormatException("a path begins with '/'");
        }

        if (_at == _text.Length)
        {
            return;
        }

        ReadSegments(inVariable: false);
        if (Take(':'))
        {
            verb = ReadLiteral("verb");
        }

        if (_at < _text.Length)
        {
            throw new FormatException($"'{Next}' is unexpected at position {_at + 1}");
        }
    }

    private void ReadSegments(bool inVariable)
    {
        do
        {
            if (segments.Count == MaxSegments)
            {
                throw new FormatException($"it has more than {MaxSegments} segments");
            }

            if (!_hasDeep && !inVariable && Take('{'))
            {
                ReadVariable();
            }
            else if (Next is '*' or '{')
            {
                ReadWildcard(inVariable);
            }
            else
            {
                segments.Add(new RestSegment(RestSegmentKind.Literal, ReadLiteral("segment")));
            }
        }
        while (Take('/'));
    }

    private void ReadWildcard(bool inVariable)
    {
        if (_hasDeep)
        {
            throw new FormatException("only literals can follow '**'");
        }

        if (!Take('*'))
        {
            throw new FormatException(inVariable
                ? "a variable cannot contain a variable"
                : $"'{Next}' is unexpected at position {_at + 1}");
        }

        _hasDeep = Take('*');
        segments.Add(new RestSegment(_hasDeep ? RestSegmentKind.Deep : RestSegmentKind.Any, ""));
    }

    private void ReadVariable()
    {
        int start = segments.Count;
        List<string> path = [];
        do
        {
            path.Add(ReadName());
        }
        while (Take('.'));
        if (Take('='))
        {
            ReadSegments(inVariable: true);
        }
        else
        {
            segments.Add(new RestSegment(RestSegmentKind.Any, ""));
        }

        if (!Take('}'))
        {
            throw new FormatException($"the variable '{string.Join('.', path)}' has no '}}'");
        }

        bool isMulti = segments.Count - start > 1 || segments[start].Kind == RestSegmentKind.Deep;
        RestVariable variable = new(path, start, segments.Count, isMulti);
        if (variables.Exists(other => other.Name == variable.Name))
        {
            throw new FormatException($"the variable '{variable.Name}' occurs twice");
        }

        variables.Add(variable);
    }

    private string ReadName()
    {
        int start = _at;
        while (char.IsAsciiLetterOrDigit(Next) || Next == '_')
        {
            _at++;
        }

        return _at > start && !char.IsAsciiDigit(_text[start])
            ? _text[start.._at].ToString()
            : throw new FormatException($"a field's name is missing at position {start + 1}");
    }

    private string ReadLiteral(string what)
    {
        int length = _text[_at..].IndexOfAny(Ends);
        ReadOnlySpan<char> literal = length < 0 ? _text[_at..] : _text.Slice(_at, length);
        if (literal.IsEmpty)
        {
            throw new FormatException($"the {what} at position {_at + 1} is empty");
        }

        _at += literal.Length;
        string text = RestText.Decode(literal)
            ?? throw new FormatException($"the {what} '{literal}' has wrong percent codes");
        return text is "." or ".."
            ? throw new FormatException($"no request has the {what} '{literal}'")
            : text;
    }

    private bool Take(char wanted)
    {
        bool found = Next == wanted && _at < _text.Length;
        _at += found ? 1 : 0;
        return found;
    }
}
