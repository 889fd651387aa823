using System.Runtime.InteropServices;
using ProtoRpc.Tool.Processes;

namespace ProtoRpc.TestRun;

/// <summary>The PowerShell of the tests.</summary>
internal static class TestShell
{
    private static readonly TimeSpan StartLimit = TimeSpan.FromMinutes(1);

    private static Task<(string? Program, string WhyNot)>? _found;

    /// <summary>Finds PowerShell and puts it on the PATH of this process, so that all tests have the same. A
    /// dotnet tool is a program in the folder of its package: <c>dotnet tool run</c> would run it as a part
    /// of <c>dotnet</c>, which tests could not start again.</summary>
    /// <returns>The program, or null and why.</returns>
    public static Task<(string? Program, string WhyNot)> FindAsync(string root) =>
        _found ??= FindOnceAsync(root);

    private static async Task<(string? Program, string WhyNot)> FindOnceAsync(string root)
    {
        (PowerShellHost? shell, string whyNot) =
            await new PowerShellSearch(root, ChildProcess.RunAsync).FindAsync(CancellationToken.None);
        if (shell is null)
        {
            return (null, whyNot);
        }

        // The program of the package needs this variable to find .NET outside the usual folders.
        if (Environment.GetEnvironmentVariable("DOTNET_ROOT") is null)
        {
            Environment.SetEnvironmentVariable(
                "DOTNET_ROOT",
                Path.GetFullPath(Path.Combine(RuntimeEnvironment.GetRuntimeDirectory(), "../../..")));
        }

        ChildProcess.Result home = await ChildProcess.RunAsync(
            shell.FileName, shell.ArgumentsFor(["-Command", "$PSHOME"]), root, StartLimit);
        string program = Path.Combine(home.Text.Trim(), OperatingSystem.IsWindows() ? "pwsh.exe" : "pwsh");
        if (!home.Succeeded || !File.Exists(program))
        {
            return (null, $"the pwsh {shell.Where} does not show its folder: {home.Text}");
        }

        Environment.SetEnvironmentVariable(
            "PATH",
            Path.GetDirectoryName(program) + Path.PathSeparator + Environment.GetEnvironmentVariable("PATH"));
        return (program, "");
    }
}
