using System.Runtime.InteropServices;

namespace ProtoRpc.Loader;

/// <summary>Finds the folder of ASP.NET Core among the shared frameworks of this machine.</summary>
/// <remarks>
/// The runtime of the shell may lack ASP.NET Core: the official archives of PowerShell ship a runtime without
/// it. The locator then uses the shared frameworks of <c>dotnet</c>, in the order of .NET's own host.
/// </remarks>
internal sealed class AspNetCoreLocator
{
    /// <summary>The environment variable with the folder of ASP.NET Core's assemblies. It overrides all other
    /// places.</summary>
    public const string FolderVariable = "PROTORPC_ASPNETCORE";

    private const string Framework = "Microsoft.AspNetCore.App";
    private const string Probe = "Microsoft.AspNetCore.Server.Kestrel.Core.dll";

    private readonly Func<string, string?> _variable;
    private readonly IReadOnlyList<string> _wellKnown;
    private readonly string _runtimeFolder;
    private readonly Version _runtime;

    /// <summary>A locator for this machine.</summary>
    public AspNetCoreLocator()
        : this(
            Environment.GetEnvironmentVariable,
            WellKnownRoots(),
            RuntimeEnvironment.GetRuntimeDirectory(),
            Environment.Version)
    {
    }

    /// <summary>A locator for a given runtime folder and environment.</summary>
    public AspNetCoreLocator(
        Func<string, string?> variable, IReadOnlyList<string> wellKnownRoots,
        string runtimeFolder, Version runtime)
    {
        _variable = variable;
        _wellKnown = wellKnownRoots;
        _runtimeFolder = runtimeFolder;
        _runtime = runtime;
    }

    /// <summary>The folder with the assemblies.</summary>
    /// <exception cref="RpcException">FailedPrecondition with the id AspNetCoreMissing. The message lists the
    /// folders that were searched, and what to install.</exception>
    public string Find()
    {
        List<string> searched = [];
        if (_variable(FolderVariable) is { Length: > 0 } given)
        {
            searched.Add(given);
            return File.Exists(Path.Combine(given, Probe)) ? given : throw Missing(searched);
        }

        foreach (string root in Roots())
        {
            string frameworks = Path.Combine(root, "shared", Framework);
            if (searched.Contains(frameworks))
            {
                continue;
            }

            searched.Add(frameworks);
            if (Newest(frameworks) is { } folder)
            {
                return folder;
            }
        }

        throw Missing(searched);
    }

    private static List<string> WellKnownRoots()
    {
        if (OperatingSystem.IsWindows())
        {
            string programs = Environment.GetFolderPath(Environment.SpecialFolder.ProgramFiles);
            return [Path.Combine(programs, "dotnet")];
        }

        List<string> roots = [];
        string[] files = [$"/etc/dotnet/install_location_{Architecture}", "/etc/dotnet/install_location"];
        foreach (string file in files)
        {
            if (File.Exists(file) && File.ReadLines(file).FirstOrDefault()?.Trim() is { Length: > 0 } root)
            {
                roots.Add(root);
            }
        }

        roots.AddRange(
            ["/usr/share/dotnet", "/usr/lib/dotnet", "/usr/local/share/dotnet", "/usr/lib64/dotnet"]);
        roots.Add(Path.Combine(Environment.GetFolderPath(Environment.SpecialFolder.UserProfile), ".dotnet"));
        return roots;
    }

    private static string Architecture =>
        RuntimeInformation.ProcessArchitecture.ToString().ToLowerInvariant();

    private IEnumerable<string> Roots()
    {
        // A shell that runs on a shared runtime has the other frameworks next to it:
        // root/shared/NAME/VERSION.
        DirectoryInfo? shared = new DirectoryInfo(_runtimeFolder.TrimEnd('/', '\\')).Parent?.Parent;
        if (shared is { Name: "shared", Parent: { } own })
        {
            yield return own.FullName;
        }

        foreach (string name in new[] { $"DOTNET_ROOT_{Architecture.ToUpperInvariant()}", "DOTNET_ROOT" })
        {
            if (_variable(name) is { Length: > 0 } root)
            {
                yield return root;
            }
        }

        foreach (string root in _wellKnown)
        {
            yield return root;
        }

        string path = _variable("PATH") ?? "";
        foreach (string folder in path.Split(Path.PathSeparator, StringSplitOptions.RemoveEmptyEntries))
        {
            FileInfo program = new(
                Path.Combine(folder, OperatingSystem.IsWindows() ? "dotnet.exe" : "dotnet"));
            if (program.Exists && Path.GetDirectoryName(Target(program)) is { } root)
            {
                yield return root;
            }
        }
    }

    private static string Target(FileInfo program) =>
        program.ResolveLinkTarget(returnFinalTarget: true)?.FullName ?? program.FullName;

    // The highest patch of the runtime's major and minor version. Versions are compared as numbers: 10.0.12
    // is newer than 10.0.9.
    private string? Newest(string frameworks)
    {
        if (!Directory.Exists(frameworks))
        {
            return null;
        }

        return (from folder in Directory.EnumerateDirectories(frameworks)
                let version = Version.TryParse(Path.GetFileName(folder), out Version? parsed) ? parsed : null
                where version is not null
                    && version.Major == _runtime.Major
                    && version.Minor == _runtime.Minor
                    && File.Exists(Path.Combine(folder, Probe))
                orderby version descending
                select folder).FirstOrDefault();
    }

    private RpcException Missing(List<string> searched) => new(
        RpcStatusCode.FailedPrecondition,
        $"HTTP and gRPC endpoints need ASP.NET Core {_runtime.Major}.{_runtime.Minor}, "
        + "and this machine does not have it. "
        + $"Install the package aspnetcore-runtime-{_runtime.Major}.{_runtime.Minor} (or the .NET SDK), "
        + $"or set {FolderVariable} to a folder with its assemblies. "
        + "Clients and the other endpoints work without it. "
        + $"Looked in: {string.Join(", ", searched)}.")
    {
        ErrorId = RpcErrorIds.AspNetCoreMissing,
    };
}
