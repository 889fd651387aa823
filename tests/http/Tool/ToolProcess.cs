using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using ProtoRpc.Tool;

namespace ProtoRpc.Http.Tests.Tool;

/// <summary>A verb of the tool that serves, in this process and until it is disposed, with a folder for its
/// files and an environment of its own.</summary>
internal sealed class ToolProcess : IAsyncDisposable
{
    private const string Listening = "Listening on ";
    private static readonly TimeSpan Limit = TimeSpan.FromSeconds(30);

    private readonly CancellationTokenSource _stop = new();
    private readonly LockedWriter _output = new();
    private readonly LockedWriter _error = new();
    private Task<int> _run = Task.FromResult(0);

    public string Output => _output.Text;

    public string Error => _error.Text;

    public IReadOnlyList<string> Endpoints =>
    [
        .. Output.Split('\n').Where(line => line.StartsWith(Listening, StringComparison.Ordinal))
            .Select(line => line[Listening.Length..].Trim()),
    ];

    /// <summary>Starts a verb, and waits until it serves.</summary>
    public static async Task<ToolProcess> StartAsync(
        Dictionary<string, string>? environment, params string[] arguments)
    {
        ToolProcess process = new();
        process._run = ToolCommand.RunAsync(
            arguments, ConsoleOf(environment, process._output, process._error), process._stop.Token);
        DateTime end = DateTime.UtcNow + Limit;
        while (!process.Output.Contains("Press Ctrl+C", StringComparison.Ordinal))
        {
            Assert.False(process._run.IsCompleted, process.Error);
            Assert.True(DateTime.UtcNow < end, "The tool did not say that it serves.");
            await Task.Delay(10);
        }

        return process;
    }

    /// <summary>Runs a verb to its end.</summary>
    public static async Task<(int Code, string Output, string Error)> RunAsync(
        Dictionary<string, string>? environment, params string[] arguments)
    {
        LockedWriter output = new();
        LockedWriter error = new();
        int code = await ToolCommand.RunAsync(arguments, ConsoleOf(environment, output, error))
            .WaitAsync(Limit);
        return (code, output.Text, error.Text);
    }

    /// <summary>Writes the certificate of a server or a client on loopback, and its key, as PEM
    /// files.</summary>
    public static (string Certificate, string Key) WriteCertificate(string folder, string name)
    {
        using RSA key = TestCertificate.NewKey();
        using X509Certificate2 certificate =
            TestCertificate.CreateBare(key, $"CN={name}", [name, "127.0.0.1"]);
        string path = Path.Combine(folder, $"{name}.pem");
        string keyPath = Path.Combine(folder, $"{name}.key");
        File.WriteAllText(path, certificate.ExportCertificatePem());
        File.WriteAllText(keyPath, key.ExportPkcs8PrivateKeyPem());
        return (path, keyPath);
    }

    public async ValueTask DisposeAsync()
    {
        await _stop.CancelAsync();
        Assert.Equal(0, await _run.WaitAsync(Limit));
        _stop.Dispose();
    }

    private static ToolConsole ConsoleOf(
        Dictionary<string, string>? environment, LockedWriter output, LockedWriter error) =>
        new(TextReader.Null, output, error)
        {
            Variable = name => environment?.GetValueOrDefault(name),
        };
}
