namespace ProtoRpc.Tool.Answers.Programs;

/// <summary>A program that answers calls, found and ready to start.</summary>
/// <param name="Path">The program's file.</param>
/// <param name="Arguments">Its arguments.</param>
/// <param name="Environment">What it gets of the tool's environment and of callers' headers.</param>
internal sealed record HandlerProgram(
    string Path, IReadOnlyList<string> Arguments, ProgramEnvironment Environment)
{
    private const UnixFileMode Executable =
        UnixFileMode.UserExecute | UnixFileMode.GroupExecute | UnixFileMode.OtherExecute;

    /// <summary>The file's name, for messages.</summary>
    public string Name => System.IO.Path.GetFileName(Path);

    /// <summary>Finds a program: by its path, or on PATH where it is a bare name.</summary>
    /// <exception cref="UsageException">There is none, or it cannot be run.</exception>
    public static HandlerProgram Find(
        string command, string option, Func<string, string?> variable, ProgramEnvironment environment)
    {
        IReadOnlyList<string> words = CommandWords.Split(command, option);
        string name = words[0];
        string? path = name.AsSpan().ContainsAny('/', System.IO.Path.DirectorySeparatorChar)
            ? System.IO.Path.GetFullPath(name)
            : FindOnPath(name, variable);
        if (path is null || !File.Exists(path))
        {
            throw new UsageException(
                $"{option}: there is no program '{name}'"
                + (path is null ? " on PATH. Write ./ before one of this folder." : "."));
        }

        return OperatingSystem.IsWindows() || (File.GetUnixFileMode(path) & Executable) != 0
            ? new HandlerProgram(path, [.. words.Skip(1)], environment)
            : throw new UsageException(
                $"{option}: '{name}' is not executable. Run 'chmod +x {name}', or name the program that "
                + $"reads it, as in {option} 'python3 {name}'.");
    }

    /// <summary>A file of a program on PATH; null for none.</summary>
    public static string? FindOnPath(string name, Func<string, string?> variable)
    {
        string[] endings = OperatingSystem.IsWindows() ? ["", ".exe", ".cmd", ".bat"] : [""];
        return (variable("PATH") ?? "").Split(System.IO.Path.PathSeparator)
            .Where(folder => folder.Length > 0)
            .SelectMany(folder => endings.Select(ending => System.IO.Path.Combine(folder, name + ending)))
            .FirstOrDefault(File.Exists);
    }
}
