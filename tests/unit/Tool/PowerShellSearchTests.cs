extern alias tool;

using tool::ProtoRpc.Tool.Processes;

namespace ProtoRpc.Tests.Tool;

public sealed class PowerShellSearchTests : IDisposable
{
    private const string Tool = "dotnet tool run pwsh -- --version";
    private const string Restore = "dotnet tool restore";
    private const string Path = "pwsh --version";
    private const string NotRestored = "Run \"dotnet tool restore\" to make the \"pwsh\" command available.";

    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("protorpc-");
    private readonly AnsweringPrograms _programs = new();
    private readonly List<string> _steps = [];

    public void Dispose() => _folder.Delete(recursive: true);

    [Fact]
    public async Task Takes_the_tool_of_the_manifest_before_the_one_on_PATH()
    {
        WriteManifest();
        _programs.Answer(Tool, 0, "PowerShell 7.6.9").Answer(Path, 0, "PowerShell 7.7.0");

        (PowerShellHost? shell, string whyNot) = await FindAsync();

        Assert.Equal(
            (new Version(7, 6, 9), "of the tool manifest", ""), (shell?.Version, shell?.Where, whyNot));
        Assert.Equal([Tool], _programs.Commands);
        Assert.Empty(_steps);
    }

    [Theory]
    [InlineData("PowerShell 7.6.0")]
    [InlineData("PowerShell 7.6.0-rc.1")]
    [InlineData("PowerShell 7.7.0-preview.2+abc")]
    [InlineData("PowerShell 8.0.0")]
    public async Task Restores_nothing_if_the_one_on_PATH_is_new_enough(string version)
    {
        WriteManifest();
        _programs.Answer(Tool, 1, NotRestored).Answer(Path, 0, version);

        (PowerShellHost? shell, string whyNot) = await FindAsync();

        Assert.Equal(("on PATH", "pwsh", ""), (shell?.Where, shell?.FileName, whyNot));
        Assert.DoesNotContain(Restore, _programs.Commands);
        Assert.Empty(_steps);
    }

    [Theory]
    [InlineData(null)]
    [InlineData("PowerShell 7.4.6")]
    [InlineData("PowerShell 7.5.9")]
    [InlineData("pwsh of another kind")]
    public async Task Restores_the_tool_if_the_one_on_PATH_is_missing_or_old(string? version)
    {
        WriteManifest();
        _programs.Answer(Tool, 1, NotRestored).Answer(Tool, 0, "PowerShell 7.6.9").Answer(Restore, 0);
        if (version is not null)
        {
            _programs.Answer(Path, 0, version);
        }

        (PowerShellHost? shell, string whyNot) = await FindAsync();

        Assert.Equal((new Version(7, 6, 9), "dotnet", ""), (shell?.Version, shell?.FileName, whyNot));
        Assert.Equal(["Restoring PowerShell 7.6.9 with 'dotnet tool restore' ..."], _steps);
        Assert.Equal([Tool, Path, Restore, Tool], _programs.Commands);
    }

    [Theory]
    [InlineData(
        1, "PowerShell 7.4.6",
        "the pwsh on PATH is 7.4.6, older than 7.6, and 'dotnet tool restore' failed "
        + "(Unable to load the service index for source http://127.0.0.1/index.json)")]
    [InlineData(
        null, null, "no pwsh on PATH runs, and 'dotnet tool restore' did not end in 3 minutes")]
    [InlineData(
        0, "nothing",
        "the pwsh on PATH does not show its version, and no pwsh of the tool manifest runs")]
    public async Task Says_why_none_is_found(int? restoreCode, string? version, string expected)
    {
        WriteManifest();
        _programs.Answer(Tool, 1, NotRestored).Answer(
            Restore, restoreCode,
            "Unhandled exception: Unable to load the service index for source http://127.0.0.1/index.json.");
        if (version is not null)
        {
            _programs.Answer(Path, 0, version);
        }

        Assert.Equal((null, expected), await FindAsync());
    }

    [Theory]
    [InlineData(null)]
    [InlineData("no JSON")]
    [InlineData("[]")]
    [InlineData("""{ "tools": { "other": { "version": "1.0.0" } } }""")]
    public async Task Without_a_manifest_for_PowerShell_only_PATH_counts(string? manifest)
    {
        if (manifest is not null)
        {
            WriteManifest(manifest);
        }

        Assert.Equal((null, "no pwsh on PATH runs"), await FindAsync());
        Assert.Equal([Path], _programs.Commands);
    }

    private Task<(PowerShellHost? Shell, string WhyNot)> FindAsync() =>
        new PowerShellSearch(_folder.FullName, _programs.RunAsync, _steps.Add).FindAsync(default);

    private void WriteManifest(string text = """{ "tools": { "powershell": { "version": "7.6.9" } } }""")
    {
        DirectoryInfo config = _folder.CreateSubdirectory(".config");
        File.WriteAllText(System.IO.Path.Combine(config.FullName, "dotnet-tools.json"), text);
    }
}
