namespace ProtoRpc.Tool.Repl;

/// <summary>The lines that a user typed, in a file that only the user can read.</summary>
/// <remarks>Lines that may have a secret are not kept, nor are those that begin with a space.</remarks>
internal sealed class ReplHistory
{
    private const int MaxLines = 1000;
    private const int MaxLineLength = 4000;
    private const UnixFileMode OwnerFile = UnixFileMode.UserRead | UnixFileMode.UserWrite;

    private static readonly string[] Secrets =
        ["auth", "token", "secret", "passw", "credential", "cookie", "key", "session", "bearer"];

    private readonly string? _path;
    private readonly List<string> _lines = [];

    /// <param name="path">The file; null for memory alone.</param>
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

            // An existing file would keep its mode, so a new one replaces it.
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
            // The session goes on if the history cannot be kept.
        }
    }
}
