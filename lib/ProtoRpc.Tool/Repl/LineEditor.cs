namespace ProtoRpc.Tool.Repl;

/// <summary>A line that a user typed.</summary>
/// <param name="Text">The line; null at the end of the input.</param>
/// <param name="IsCancelled">Whether the user cancelled the line with Ctrl+C.</param>
internal readonly record struct TypedLine(string? Text, bool IsCancelled = false);

/// <summary>Reads lines from a terminal, with cursor movement, history and completion.</summary>
/// <param name="readKey">Waits for the next key.</param>
/// <param name="write">Writes to the terminal.</param>
/// <param name="width">Columns of the terminal.</param>
/// <param name="complete">The words that the last word of a text may be, and where that begins.</param>
/// <param name="history">The lines before, the oldest first.</param>
internal sealed class LineEditor(
    Func<ConsoleKeyInfo> readKey, Action<string> write, Func<int> width,
    Func<string, (int Start, IReadOnlyList<string> Words)> complete, IReadOnlyList<string> history)
{
    private const int MaxShown = 100;
    private const int MinColumns = 40;
    private readonly StringBuilder _text = new();
    private int _cursor;
    private int _at;
    private string _prompt = "";

    public TypedLine ReadLine(string prompt)
    {
        _prompt = prompt;
        _text.Clear();
        _cursor = 0;
        _at = history.Count;
        Draw();
        while (true)
        {
            ConsoleKeyInfo key = readKey();
            bool isControl = key.Modifiers.HasFlag(ConsoleModifiers.Control);
            switch (key.Key)
            {
                case ConsoleKey.Enter:
                    write("\n");
                    return new(_text.ToString());
                case ConsoleKey.C when isControl:
                    write("^C\n");
                    return new("", IsCancelled: true);
                case ConsoleKey.D when isControl && _text.Length == 0:
                    write("\n");
                    return new(null);
                case ConsoleKey.Tab:
                    Complete();
                    break;
                default:
                    Edit(key, isControl);
                    break;
            }

            Draw();
        }
    }

    private void Edit(ConsoleKeyInfo key, bool isControl)
    {
        switch (key.Key)
        {
            case ConsoleKey.LeftArrow or ConsoleKey.B when isControl || key.Key == ConsoleKey.LeftArrow:
                _cursor = Math.Max(0, _cursor - 1);
                break;
            case ConsoleKey.RightArrow or ConsoleKey.F when isControl || key.Key == ConsoleKey.RightArrow:
                _cursor = Math.Min(_text.Length, _cursor + 1);
                break;
            case ConsoleKey.Home or ConsoleKey.A when isControl || key.Key == ConsoleKey.Home:
                _cursor = 0;
                break;
            case ConsoleKey.End or ConsoleKey.E when isControl || key.Key == ConsoleKey.End:
                _cursor = _text.Length;
                break;
            case ConsoleKey.Backspace when _cursor > 0:
                _text.Remove(--_cursor, 1);
                break;
            case ConsoleKey.Delete or ConsoleKey.D
                when (isControl || key.Key == ConsoleKey.Delete) && _cursor < _text.Length:
                _text.Remove(_cursor, 1);
                break;
            case ConsoleKey.U when isControl:
                _text.Remove(0, _cursor);
                _cursor = 0;
                break;
            case ConsoleKey.K when isControl:
                _text.Remove(_cursor, _text.Length - _cursor);
                break;
            case ConsoleKey.W when isControl:
                DeleteWord();
                break;
            case ConsoleKey.UpArrow:
                Recall(_at - 1);
                break;
            case ConsoleKey.DownArrow:
                Recall(_at + 1);
                break;
            default:
                if (!char.IsControl(key.KeyChar))
                {
                    _text.Insert(_cursor++, key.KeyChar);
                }

                break;
        }
    }

    private void DeleteWord()
    {
        int start = _cursor;
        while (start > 0 && _text[start - 1] == ' ')
        {
            start--;
        }

        while (start > 0 && _text[start - 1] != ' ')
        {
            start--;
        }

        _text.Remove(start, _cursor - start);
        _cursor = start;
    }

    private void Recall(int index)
    {
        if (index >= 0 && index <= history.Count)
        {
            _at = index;
            _text.Clear().Append(index < history.Count ? history[index] : "");
            _cursor = _text.Length;
        }
    }

    // Inserts the common beginning of all suggestions. If this adds nothing, shows the suggestions.
    private void Complete()
    {
        (int start, IReadOnlyList<string> words) = complete(_text.ToString(0, _cursor));
        if (words.Count == 0)
        {
            return;
        }

        string common = words.Aggregate((one, other) => one[..one.AsSpan().CommonPrefixLength(other)]);
        if (words.Count == 1 && !common.EndsWith('=') && !common.EndsWith('.'))
        {
            common += " ";
        }

        if (common.Length > _cursor - start || words.Count == 1)
        {
            _text.Remove(start, _cursor - start).Insert(start, common);
            _cursor = start + common.Length;
            return;
        }

        string more = words.Count > MaxShown ? "  ..." : "";
        write($"\n{string.Join("  ", words.Take(MaxShown))}{more}\n");
    }

    // The line has one row. A longer text is scrolled to the cursor.
    private void Draw()
    {
        // Some terminals report the width 0.
        int columns = width() is >= MinColumns and var known ? known : MinColumns;
        int room = Math.Max(MinColumns / 2, columns - _prompt.Length - 1);
        int first = Math.Max(0, _cursor - room);
        string shown = _text.ToString(first, Math.Min(room, _text.Length - first));
        write($"\r{_prompt}{TerminalText.Neutralize(shown)}\u001B[K\r");
        if (_prompt.Length + _cursor - first is > 0 and var column)
        {
            write($"\u001B[{column}C");
        }
    }
}

/// <summary>The lines that a user typed, in a file that only the user can read.</summary>
/// <remarks>Lines that may contain a secret, or begin with a space, are not stored.</remarks>
internal sealed class ReplHistory
{
    private const int MaxLines = 1000;
    private const int MaxLineLength = 4000;
    private const UnixFileMode OwnerFile = UnixFileMode.UserRead | UnixFileMode.UserWrite;

    private static readonly string[] Secrets =
        ["auth", "token", "secret", "passw", "credential", "cookie", "key", "session", "bearer"];

    private readonly string? _path;
    private readonly List<string> _lines = [];

    /// <param name="path">The file; null to only keep lines in memory.</param>
    public ReplHistory(string? path)
    {
        _path = path;
        try
        {
            if (path is not null && File.Exists(path))
            {
                _lines.AddRange(File.ReadLines(path).TakeLast(MaxLines));
            }
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            _path = null;
        }
    }

    /// <summary>The lines, the oldest first.</summary>
    public IReadOnlyList<string> Lines => _lines;

    /// <summary>The file of the user, in the folder of programs' states.</summary>
    public static string? PathOf(Func<string, string?> variable)
    {
        string folder = variable("XDG_STATE_HOME") is { Length: > 0 } state && Path.IsPathRooted(state)
            ? state
            : OperatingSystem.IsWindows()
                ? Environment.GetFolderPath(Environment.SpecialFolder.LocalApplicationData)
                : variable("HOME") is { Length: > 0 } home ? Path.Combine(home, ".local", "state") : "";
        return folder.Length == 0 ? null : Path.Combine(folder, "protorpc", "history");
    }

    /// <summary>Keeps a line, unless it may have a secret.</summary>
    public void Add(string line)
    {
        if (line.Length is 0 or > MaxLineLength || line[0] == ' ' || _lines.LastOrDefault() == line
            || Secrets.Any(secret => line.Contains(secret, StringComparison.OrdinalIgnoreCase)))
        {
            return;
        }

        _lines.Add(line);
        Write();
    }

    private void Write()
    {
        if (_path is null)
        {
            return;
        }

        try
        {
            string folder = Path.GetDirectoryName(_path)!;
            FileStreamOptions options = new() { Mode = FileMode.Create, Access = FileAccess.Write };
            if (OperatingSystem.IsWindows())
            {
                Directory.CreateDirectory(folder);
            }
            else
            {
                Directory.CreateDirectory(folder, OwnerFile | UnixFileMode.UserExecute);
                options.UnixCreateMode = OwnerFile;
            }

            // A new file replaces the old one, which could have other permissions.
            string next = $"{_path}.{Environment.ProcessId}";
            using (StreamWriter writer = new(next, options))
            {
                foreach (string line in _lines.TakeLast(MaxLines))
                {
                    writer.WriteLine(line);
                }
            }

            File.Move(next, _path, overwrite: true);
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            // A history that cannot be saved must not end the session.
        }
    }
}
