namespace ProtoRpc.Tool.Replies.Programs;

/// <summary>A program that handles calls, ready to start.</summary>
/// <param name="Path">The program's file.</param>
/// <param name="Arguments">Its arguments.</param>
/// <param name="Environment">Selects the environment variables and headers for the program.</param>
internal sealed record HandlerProgram(
    string Path, IReadOnlyList<string> Arguments, ProgramEnvironment Environment)
{
    private const UnixFileMode Executable =
        UnixFileMode.UserExecute | UnixFileMode.GroupExecute | UnixFileMode.OtherExecute;

    /// <summary>The file's name, for messages.</summary>
    public string Name => System.IO.Path.GetFileName(Path);

    /// <summary>Finds a program by its path, or on the PATH if it is a bare name.</summary>
    /// <exception cref="UsageException">The program does not exist, or cannot be run.</exception>
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
                + (path is null ? " on PATH. Write ./ before a program of this folder." : "."));
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

/// <summary>Cuts a command into the program and its arguments, without a shell.</summary>
/// <remarks>Spaces part words. Single quotes keep everything between them, and so do double quotes, in which
/// <c>\"</c> is a quote and <c>\\</c> a backslash. Nothing is expanded.</remarks>
internal static class CommandWords
{
    /// <exception cref="UsageException">A quote is not closed, or the command is empty.</exception>
    public static IReadOnlyList<string> Split(string command, string option)
    {
        List<string> words = [];
        StringBuilder? word = null;
        for (int i = 0; i < command.Length; i++)
        {
            char c = command[i];
            if (char.IsWhiteSpace(c))
            {
                if (word is not null)
                {
                    words.Add(word.ToString());
                    word = null;
                }
            }
            else if (c is '\'' or '"')
            {
                i = AppendQuoted(command, i, word ??= new StringBuilder(), option);
            }
            else
            {
                (word ??= new StringBuilder()).Append(c);
            }
        }

        if (word is not null)
        {
            words.Add(word.ToString());
        }

        return words.Count > 0 && words[0].Length > 0
            ? words
            : throw new UsageException($"{option} names no program.");
    }

    /// <returns>The position of the closing quote.</returns>
    private static int AppendQuoted(string command, int start, StringBuilder word, string option)
    {
        char quote = command[start];
        for (int i = start + 1; i < command.Length; i++)
        {
            if (command[i] == quote)
            {
                return i;
            }

            if (quote == '"' && command[i] == '\\' && i + 1 < command.Length
                && command[i + 1] is '"' or '\\')
            {
                i++;
            }

            word.Append(command[i]);
        }

        throw new UsageException($"{option} has a quote without an end: {command[start..]}");
    }
}

/// <summary>Selects the environment variables of the tool and the headers of the caller that programs
/// receive. Both may contain secrets, which a program rarely needs and may print.</summary>
/// <param name="further">Names of more variables, or <c>NAME=VALUE</c>.</param>
/// <param name="passesAuthorization">Whether programs get the caller's passwords and tokens.</param>
/// <param name="variable">Reads the tool's variables.</param>
internal sealed class ProgramEnvironment(
    IReadOnlyList<string> further, bool passesAuthorization, Func<string, string?> variable)
{
    private const string Option = "--exec-env";

    // Programs only receive the variables that they need to start and to find their files.
    private static readonly string[] OfUnix =
    [
        "PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "TMPDIR", "TZ", "TERM", "LANG", "LANGUAGE",
        "LC_ALL", "LC_CTYPE", "LC_COLLATE", "LC_MESSAGES", "LC_MONETARY", "LC_NUMERIC", "LC_TIME",
        "XDG_RUNTIME_DIR", "DOTNET_ROOT",
    ];

    private static readonly string[] OfWindows =
    [
        "PATH", "PATHEXT", "ComSpec", "SystemRoot", "SystemDrive", "windir", "OS", "TEMP", "TMP", "USERNAME",
        "USERDOMAIN", "USERPROFILE", "HOMEDRIVE", "HOMEPATH", "APPDATA", "LOCALAPPDATA", "ProgramData",
        "ProgramFiles", "ProgramFiles(x86)", "ProgramW6432", "CommonProgramFiles", "COMPUTERNAME",
        "NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE", "PSModulePath", "DOTNET_ROOT",
    ];

    private static readonly string[] Authorization = ["authorization", "proxy-authorization"];

    public bool HasHeader(string name) =>
        passesAuthorization || !Authorization.Contains(name, StringComparer.OrdinalIgnoreCase);

    /// <summary>The variables that every program receives.</summary>
    /// <exception cref="UsageException">A variable is not set, or has no name.</exception>
    public IReadOnlyList<KeyValuePair<string, string>> Read()
    {
        List<KeyValuePair<string, string>> all = [];
        foreach (string name in OperatingSystem.IsWindows() ? OfWindows : OfUnix)
        {
            if (variable(name) is { } value)
            {
                all.Add(new(name, value));
            }
        }

        foreach (string text in further)
        {
            int equals = text.IndexOf('=', StringComparison.Ordinal);
            string name = equals < 0 ? text : text[..equals];
            string value = (equals < 0 ? variable(name) : text[(equals + 1)..])
                ?? throw new UsageException($"The environment variable '{name}' of {Option} is not set.");
            all.Add(name.Length > 0
                ? new(name, value)
                : throw new UsageException($"{Option} must be NAME or NAME=VALUE, not '{text}'."));
        }

        return all;
    }
}

/// <summary>Limits the programs that run at the same time; further calls wait.</summary>
internal sealed class ProgramSlots
{
    // Each running program occupies threads, because reads of its pipes block.
    private const int ThreadsOfProgram = 4;
    private static readonly int MaxWaiting = RpcLimits.Default.MaxQueuedCalls;
    private readonly SemaphoreSlim _free;
    private int _waiting;

    public ProgramSlots(int count)
    {
        _free = new SemaphoreSlim(count);
        ThreadPool.GetMinThreads(out int workers, out int ports);
        ThreadPool.SetMinThreads(Math.Max(workers, count * ThreadsOfProgram), ports);
    }

    /// <summary>The default number of programs that run at the same time.</summary>
    public static int DefaultCount => Math.Max(8, 2 * Environment.ProcessorCount);

    /// <summary>Waits for a free slot; disposing gives it back.</summary>
    /// <exception cref="RpcException">ResourceExhausted: too many wait.</exception>
    public async ValueTask<IDisposable> TakeAsync(CancellationToken cancellation)
    {
        if (Interlocked.Increment(ref _waiting) > MaxWaiting)
        {
            Interlocked.Decrement(ref _waiting);
            throw new RpcException(
                RpcStatusCode.ResourceExhausted,
                $"The server is too busy: {MaxWaiting} calls already wait for a handler program. "
                + "Call later.");
        }

        try
        {
            await _free.WaitAsync(cancellation);
        }
        finally
        {
            Interlocked.Decrement(ref _waiting);
        }

        return new Slot(_free);
    }

    private sealed class Slot(SemaphoreSlim free) : IDisposable
    {
        public void Dispose() => free.Release();
    }
}
