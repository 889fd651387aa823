using System.Diagnostics;
using ProtoRpc.Http.Tests.Faults;

namespace ProtoRpc.Http.Tests.Tool;

/// <summary>The tool as a process, with signals and pipes.</summary>
public sealed class ToolProgramTests : IDisposable
{
    private readonly WordsServer _server = new();
    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("protorpc-");

    // More than a pipe holds, and then nothing for a minute.
    private static string Words => string.Join(' ', Enumerable.Repeat("word", 20_000)) + " wait";

    public void Dispose()
    {
        _server.Dispose();
        _folder.Delete(recursive: true);
    }

    [Fact]
    public async Task An_endless_stream_ends_when_the_reader_of_its_output_has_gone()
    {
        if (OperatingSystem.IsWindows())
        {
            return;
        }

        using Process tool = Start();
        await tool.StandardOutput.ReadLineAsync();
        tool.StandardOutput.Close();
        await EndAsync(tool);

        Assert.Equal(141, tool.ExitCode);
        Assert.Equal("", await tool.StandardError.ReadToEndAsync());
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task SIGINT_ends_an_endless_stream_also_where_nobody_reads_it(bool isRead)
    {
        if (OperatingSystem.IsWindows())
        {
            return;
        }

        using Process tool = Start();
        await tool.StandardOutput.ReadLineAsync();
        Task reading = isRead ? tool.StandardOutput.ReadToEndAsync() : Task.CompletedTask;
        ToolServer.SignalTo(tool, "INT");
        await EndAsync(tool);

        Assert.Equal(130, tool.ExitCode);
        await reading;
    }

    [Theory]
    [InlineData(">")]
    [InlineData(">>")]
    public async Task A_file_that_others_write_to_as_well_has_all_in_order(string redirection)
    {
        if (OperatingSystem.IsWindows())
        {
            return;
        }

        string tool = Path.Combine(AppContext.BaseDirectory, "ProtoRpc.Tool.dll");
        string schema = Path.Combine(AppContext.BaseDirectory, "protos", "streams.proto");
        string file = Path.Combine(_folder.FullName, "out.txt");
        ProcessStartInfo start = new("sh")
        {
            ArgumentList =
            {
                "-c",
                $"{{ echo first; dotnet exec '{tool}' list --names --schema '{schema}'; echo last; }} "
                    + $"{redirection} '{file}'",
            },
        };
        using Process shell = Process.Start(start)!;
        await EndAsync(shell);

        string[] lines = await File.ReadAllLinesAsync(file);
        Assert.Equal("first", lines[0]);
        Assert.Contains("streams.Words", lines);
        Assert.Equal("last", lines[^1]);
    }

    [Theory]
    [InlineData("--version", @"^\d+\.\d+\.\d+")]
    [InlineData("--help", "Commands:")]
    public async Task Version_and_help_go_through_a_pipe(string option, string wanted)
    {
        ProcessStartInfo start = new("dotnet")
        {
            RedirectStandardOutput = true,
            ArgumentList =
            {
                "exec", Path.Combine(AppContext.BaseDirectory, "ProtoRpc.Tool.dll"), option,
            },
        };
        using Process tool = Process.Start(start)!;
        Task<string> output = tool.StandardOutput.ReadToEndAsync();
        await EndAsync(tool);

        Assert.Equal(0, tool.ExitCode);
        Assert.Matches(wanted, await output);
    }

    private Process Start()
    {
        ProcessStartInfo start = new("dotnet")
        {
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
            ArgumentList =
            {
                "exec", Path.Combine(AppContext.BaseDirectory, "ProtoRpc.Tool.dll"), "call",
                $"{_server.Endpoint}", "Split", "-d", $"{{\"text\":\"{Words}\"}}", "--compact",
            },
        };
        Process tool = InterruptibleProcess.Start(start);
        tool.StandardInput.Close();
        return tool;
    }

    private static async Task EndAsync(Process tool)
    {
        try
        {
            await tool.WaitForExitAsync().WaitAsync(TimeSpan.FromSeconds(30));
        }
        catch (TimeoutException)
        {
            tool.Kill();
            throw;
        }
    }
}
