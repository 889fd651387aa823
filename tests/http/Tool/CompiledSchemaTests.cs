using System.Diagnostics;

namespace ProtoRpc.Http.Tests.Tool;

/// <summary>The schemas that processes of the tool share on disk, with a protoc that counts its
/// runs.</summary>
public sealed class CompiledSchemaTests : IDisposable
{
    private static readonly TimeSpan Limit = TimeSpan.FromMinutes(1);

    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("protorpc-");

    private string Schema => Path.Combine(_folder.FullName, "shop.proto");

    private string Cache => Path.Combine(_folder.FullName, "cache");

    private string Runs => Path.Combine(_folder.FullName, "runs");

    public void Dispose() => _folder.Delete(recursive: true);

    [Fact]
    public async Task The_next_process_starts_no_protoc_until_the_file_changes()
    {
        Assert.SkipWhen(OperatingSystem.IsWindows(), "protoc is counted by a script of Unix.");
        Write("Item");

        // The first one may begin in the moment in which the file was written, and keeps nothing then.
        string first = await ListAsync();
        await ListAsync();
        int before = CountRuns();
        string again = await ListAsync();
        int after = CountRuns();

        Write("Good");
        string changed = await ListAsync();

        Assert.NotEqual(0, before);
        Assert.Equal(before, after);
        Assert.Equal(first, again);
        Assert.Equal(before + 1, CountRuns());
        Assert.Contains("Good", changed, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Switched_off_each_process_starts_protoc_and_keeps_nothing()
    {
        Assert.SkipWhen(OperatingSystem.IsWindows(), "protoc is counted by a script of Unix.");
        Write("Item");

        await ListAsync("off");
        await ListAsync("off");

        Assert.Equal(2, CountRuns());
        Assert.False(Directory.Exists(Cache));
    }

    [Fact]
    public async Task Processes_that_begin_together_all_read_the_schema_and_leave_one_file()
    {
        Assert.SkipWhen(OperatingSystem.IsWindows(), "protoc is counted by a script of Unix.");
        Write("Item");
        await ListAsync("off");

        string[] shown = await Task.WhenAll(Enumerable.Range(0, 4).Select(_ => ListAsync()));

        Assert.Single(shown.Distinct());
        Assert.Single(Directory.GetFiles(Cache));
    }

    private int CountRuns() => File.Exists(Runs) ? File.ReadAllLines(Runs).Length : 0;

    private void Write(string name) =>
        File.WriteAllText(Schema, $"syntax = \"proto3\";\nmessage {name} {{}}\n");

    private async Task<string> ListAsync(string? cache = null)
    {
        ProcessStartInfo start = new(
            "dotnet",
            [Path.Combine(AppContext.BaseDirectory, "ProtoRpc.Tool.dll"), "describe", "--schema", Schema])
        {
            RedirectStandardOutput = true,
            RedirectStandardError = true,
            Environment = { ["PROTOC"] = CountingProtoc(), ["PROTORPC_SCHEMA_CACHE"] = cache ?? Cache },
        };
        using Process tool = Process.Start(start)!;
        Task<string> output = tool.StandardOutput.ReadToEndAsync();
        Task<string> errors = tool.StandardError.ReadToEndAsync();
        using CancellationTokenSource late = new(Limit);
        try
        {
            await tool.WaitForExitAsync(late.Token);
        }
        finally
        {
            if (!tool.HasExited)
            {
                tool.Kill(entireProcessTree: true);
            }
        }

        Assert.Equal("", await errors);
        Assert.Equal(0, tool.ExitCode);
        return await output;
    }

    private string CountingProtoc()
    {
        string script = Path.Combine(_folder.FullName, "protoc");
        if (!File.Exists(script) && !OperatingSystem.IsWindows())
        {
            string platform = OperatingSystem.IsMacOS() ? "osx"
                : System.Runtime.InteropServices.RuntimeInformation.OSArchitecture
                    == System.Runtime.InteropServices.Architecture.Arm64 ? "linux-arm64" : "linux-x64";
            string shipped = Path.Combine(AppContext.BaseDirectory, "protoc", platform, "protoc");
            File.WriteAllText(script, $"#!/bin/sh\necho run >> '{Runs}'\nexec '{shipped}' \"$@\"\n");
            File.SetUnixFileMode(
                script, UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute);
        }

        return script;
    }
}
