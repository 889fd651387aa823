namespace ProtoRpc.Tool.Answers.Programs;

/// <summary>What programs that answer calls get of the tool's environment and of the caller's headers. Both
/// can have secrets, which a program rarely needs and easily prints.</summary>
/// <param name="further">Names of more variables, or <c>NAME=VALUE</c>.</param>
/// <param name="passesAuthorization">Whether programs get the caller's passwords and tokens.</param>
/// <param name="variable">Reads the tool's variables.</param>
internal sealed class ProgramEnvironment(
    IReadOnlyList<string> further, bool passesAuthorization, Func<string, string?> variable)
{
    private const string Option = "--exec-env";

    // What programs need to start and to find their files, and no more.
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

    /// <summary>Whether programs get a header.</summary>
    public bool HasHeader(string name) =>
        passesAuthorization || !Authorization.Contains(name, StringComparer.OrdinalIgnoreCase);

    /// <summary>The variables that every program gets.</summary>
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
                : throw new UsageException($"{Option} takes NAME or NAME=VALUE, and '{text}' has no name."));
        }

        return all;
    }
}
