using ProtoRpc.Tool.Processes;

namespace ProtoRpc.TestRun.Windows;

/// <summary>A Windows of Wine's, in a folder of its own.</summary>
internal sealed class WineWorld(WineInstallation wine, string prefix) : IAsyncDisposable
{
    private static readonly TimeSpan KillLimit = TimeSpan.FromMinutes(1);

    // Programs are only ended by the caller's token.
    private static readonly TimeSpan Never = TimeSpan.FromDays(1);

    /// <summary>Runs a program of Windows.</summary>
    /// <exception cref="OperationCanceledException">It was ended by the token.</exception>
    public async Task<ChildProcess.Result> RunAsync(
        string program, IEnumerable<string> arguments, string folder, Action<string> onLine,
        CancellationToken cancellation)
    {
        (string start, IEnumerable<string> all) = wine.Command(prefix, "wine", [program, .. arguments]);
        try
        {
            return await ChildProcess.RunAsync(start, all, folder, Never, onLine, cancellation);
        }
        catch (OperationCanceledException)
        {
            await KillAsync();
            throw;
        }
    }

    /// <summary>Runs a program of Wine's.</summary>
    public Task<ChildProcess.Result> RunToolAsync(string tool, IEnumerable<string> arguments, TimeSpan time)
    {
        (string start, IEnumerable<string> all) = wine.Command(prefix, tool, arguments);
        return ChildProcess.RunAsync(start, all, wine.Repository, time);
    }

    public async ValueTask DisposeAsync()
    {
        await KillAsync();
        if (Directory.Exists(prefix))
        {
            Directory.Delete(prefix, recursive: true);
        }
    }

    // Wine's processes are not children of the started one. In a root, all end with the first one. Otherwise
    // this waits until all have ended and the registry is written to the folder.
    private async Task KillAsync()
    {
        if (wine.Root is null)
        {
            await RunToolAsync("wineserver", ["-k"], KillLimit);
        }
    }
}
