using System.ComponentModel;
using System.Diagnostics;

namespace ProtoRpc.Benchmarks.Peers;

/// <summary>Builds the peers whose sources are beside this program, with packages of their
/// registries.</summary>
internal static class PeerSources
{
    private static readonly TimeSpan BuildTime = TimeSpan.FromMinutes(5);

    /// <summary>Builds a peer.</summary>
    /// <param name="name">grpc-cpp or grpc-js.</param>
    /// <param name="folder">An empty folder for the sources and what becomes of them.</param>
    /// <exception cref="InvalidOperationException">The peer does not build; the message says why.</exception>
    public static PeerProgram Build(string name, string folder)
    {
        string sources = Path.Combine(AppContext.BaseDirectory, "Peers", name);
        foreach (string file in Directory.EnumerateFiles(sources))
        {
            File.Copy(file, Path.Combine(folder, Path.GetFileName(file)));
        }

        const string Proto = "benchmark.proto";
        File.Copy(Path.Combine(AppContext.BaseDirectory, "protos", Proto), Path.Combine(folder, Proto));
        switch (name)
        {
            case "grpc-cpp":
                Run(folder, "sh", "build.sh");
                return PeerProgram.Of(name, Path.Combine(folder, "peer"));
            default:
                Run(folder, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund");
                return PeerProgram.Of(name, Path.Combine(folder, "peer.js"));
        }
    }

    private static void Run(string folder, string program, params string[] arguments)
    {
        ProcessStartInfo start = new(program, arguments)
        {
            WorkingDirectory = folder,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        };
        try
        {
            using Process process = Process.Start(start)!;
            Task<string> output = process.StandardOutput.ReadToEndAsync();
            Task<string> errors = process.StandardError.ReadToEndAsync();
            if (!process.WaitForExit(BuildTime))
            {
                process.Kill(entireProcessTree: true);
                throw new InvalidOperationException(
                    $"'{program} {arguments[0]}' did not end in {BuildTime.TotalMinutes} minutes.");
            }

            if (process.ExitCode != 0)
            {
                string said = errors.Result + output.Result;
                throw new InvalidOperationException($"'{program} {arguments[0]}' failed: {FirstLine(said)}");
            }
        }
        catch (Win32Exception e)
        {
            throw new InvalidOperationException($"'{program}' did not start: {e.Message}.", e);
        }
    }

    private static string FirstLine(string text) =>
        text.Split('\n', StringSplitOptions.RemoveEmptyEntries | StringSplitOptions.TrimEntries)
            .FirstOrDefault("it printed nothing");
}
