using System.Diagnostics;
using System.Globalization;
using System.Text.RegularExpressions;
using System.Xml.Linq;

namespace ProtoRpc.Interop;

/// <summary>The pages that the benchmarks write, in runs as short as possible.</summary>
public sealed partial class BenchmarkReportTests : IDisposable
{
    private static readonly TimeSpan Patience = TimeSpan.FromMinutes(8);
    private static readonly XNamespace Svg = "http://www.w3.org/2000/svg";
    private static readonly DirectoryInfo Here = new(AppContext.BaseDirectory);
    private static readonly string Benchmarks = Path.Combine(
        Here.Parent!.Parent!.FullName, "ProtoRpc.Benchmarks", Here.Name, "ProtoRpc.Benchmarks.dll");

    // Below the folder in which Node finds its packages.
    private readonly DirectoryInfo _folder = Here.CreateSubdirectory($"pages-{Guid.NewGuid():N}");

    public void Dispose() => _folder.Delete(recursive: true);

    [Theory]
    [InlineData("orders")]
    [InlineData("bindings")]
    [InlineData("raw")]
    public async Task Writes_a_page(string experiment)
    {
        await ReportAsync(experiment, "--records", "10");

        AssertIsWhole(experiment);
    }

    [PeerFact(Peer.PowerShell)]
    public async Task Writes_the_page_about_the_shell()
    {
        await ReportAsync("shell");

        string page = AssertIsWhole("shell");
        Assert.Contains("Invoke-RestMethod", page, StringComparison.Ordinal);
        Assert.Contains("script block, 2 workers", page, StringComparison.Ordinal);
    }

    [PeerFact(Peer.PowerShell)]
    public async Task Writes_the_page_about_messages()
    {
        await ReportAsync("codec", "--records", "1");

        string page = AssertIsWhole("codec");
        Assert.Contains("ConvertFrom-Json", page, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Names_a_peer_that_does_not_take_part()
    {
        await ReportAsync(
            "rpc", "--records", "1", "--transports", "tcp", "--kinds", "bound,generated",
            "--stacks", "binary:generated:async", "--peers", $"broken={Benchmarks}");

        string page = AssertIsWhole("rpc");
        Assert.Contains("| 1 | TCP, generated |", page, StringComparison.Ordinal);
        Assert.Contains("| 1 | in process, generated |", page, StringComparison.Ordinal);
        Assert.Contains("broken, TCP, was not measured. ", page, StringComparison.Ordinal);
    }

    [PeerFact(Peer.NodeGrpc)]
    public async Task Measures_a_program_that_takes_part()
    {
        string peer = Path.Combine(_folder.FullName, "peer.js");
        string folder = Path.GetDirectoryName(Benchmarks)!;
        File.Copy(Path.Combine(folder, "Peers", "grpc-js", "peer.js"), peer);
        File.Copy(
            Path.Combine(folder, "protos", "benchmark.proto"),
            Path.Combine(_folder.FullName, "benchmark.proto"));

        await ReportAsync(
            "rpc", "--records", "2", "--transports", "tcp", "--kinds", "bound", "--stacks", "none",
            "--peers", $"mine={peer}");

        string page = AssertIsWhole("rpc");
        Assert.DoesNotContain("not measured", page, StringComparison.Ordinal);
        Assert.Contains("| 2 | mine, TCP |", page, StringComparison.Ordinal);
        Assert.Contains("| 2 | mine, Unix socket |", page, StringComparison.Ordinal);
    }

    private async Task ReportAsync(string experiment, params string[] options)
    {
        ProcessStartInfo start = new("dotnet",
        [
            Benchmarks, "report", "--only", experiment, "--out", _folder.FullName,
            "--warmup", "0.01", "--rounds", "1", "--seconds", "0.05", "--clients", "1", "--callers", "2",
            .. options,
        ])
        {
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        };
        using Process process = Process.Start(start)!;
        Task<string> output = process.StandardOutput.ReadToEndAsync();
        Task<string> errors = process.StandardError.ReadToEndAsync();
        using CancellationTokenSource source = new(Patience);
        try
        {
            await process.WaitForExitAsync(source.Token);
        }
        finally
        {
            process.Kill(entireProcessTree: true);
        }

        Assert.True(process.ExitCode == 0, await output + await errors);
    }

    // A chart for the page, rows as wide as their headings, and no figure that is none.
    private string AssertIsWhole(string name)
    {
        string page = File.ReadAllText(Path.Combine(_folder.FullName, $"{name}.md"));
        Assert.Contains($"report --only {name} --", page, StringComparison.Ordinal);
        Assert.Contains("Measured on ", page, StringComparison.Ordinal);
        Assert.DoesNotMatch(BrokenNumber(), page);

        IReadOnlyList<Match> charts = ChartLink().Matches(page);
        Assert.NotEmpty(charts);
        Assert.All(charts, chart => AssertIsWholeChart(chart.Groups["file"].Value));

        string[][] tables = [.. page.Split("\n\n").Where(part => part.StartsWith('|')).Select(
            part => part.Split('\n', StringSplitOptions.RemoveEmptyEntries))];
        Assert.NotEmpty(tables);
        Assert.All(tables, rows =>
        {
            Assert.True(rows.Length > 2, rows[0]);
            Assert.All(rows, row => Assert.Equal(rows[0].Split(" | ").Length, row.Split(" | ").Length));
        });
        return page;
    }

    private void AssertIsWholeChart(string file)
    {
        string text = File.ReadAllText(Path.Combine(_folder.FullName, file));
        Assert.DoesNotMatch(BrokenNumber(), text);
        XElement[] bars = [.. XDocument.Parse(text).Descendants(Svg + "rect").Where(
            rect => (string?)rect.Attribute("class") == "bar")];
        Assert.NotEmpty(bars);
        Assert.All(bars, bar => Assert.InRange(
            double.Parse(bar.Attribute("width")!.Value, CultureInfo.InvariantCulture), 0, 920));
        Assert.Contains(
            bars, bar => double.Parse(bar.Attribute("width")!.Value, CultureInfo.InvariantCulture) > 1);
    }

    [GeneratedRegex(@"NaN|Infinity|∞|(?<= )-\d")]
    private static partial Regex BrokenNumber();

    [GeneratedRegex(@"!\[[^\]]+\]\((?<file>[a-z0-9-]+\.svg)\)")]
    private static partial Regex ChartLink();
}
