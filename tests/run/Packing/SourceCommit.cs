using System.Globalization;
using ProtoRpc.Tool.Processes;

namespace ProtoRpc.TestRun.Packing;

/// <summary>The commit that is packed.</summary>
/// <param name="Id">Its id, or null outside of git.</param>
/// <param name="Time">The time that all packed files get: <c>SOURCE_DATE_EPOCH</c>, else that of the commit.
/// </param>
/// <param name="Origin">The address of the remote repository, or null.</param>
/// <param name="IsClean">Whether the files are those of the commit.</param>
internal sealed record SourceCommit(string? Id, DateTimeOffset Time, string? Origin, bool IsClean)
{
    private static readonly TimeSpan Limit = TimeSpan.FromSeconds(30);

    // For a folder without git: the earliest time that a zip file supports, plus a year, so that it is the
    // same year in all time zones.
    private static readonly DateTimeOffset NoTime = new(1981, 1, 1, 0, 0, 0, TimeSpan.Zero);

    /// <summary>Asks git, and the environment.</summary>
    public static async Task<SourceCommit> OfAsync(string root)
    {
        string? head = await GitAsync(root, "log", "-1", "--format=%H %ct");
        string? seconds =
            Environment.GetEnvironmentVariable("SOURCE_DATE_EPOCH") is { Length: > 0 } set ? set
            : head?.Split(' ')[1];
        return new SourceCommit(
            head?.Split(' ')[0],
            seconds is null ? NoTime
                : DateTimeOffset.FromUnixTimeSeconds(long.Parse(seconds, CultureInfo.InvariantCulture)),
            await GitAsync(root, "remote", "get-url", "origin"),
            await GitAsync(root, "status", "--porcelain") is "");
    }

    /// <summary>Checks that the tag has the manifest's version, that the commit has no changes, and that the
    /// clone comes from the manifest's address.</summary>
    /// <exception cref="PackFailure">The tag, the commit or the address differs.</exception>
    public void Check(ModuleManifest manifest, string? tag)
    {
        if (tag is null)
        {
            return;
        }

        if (tag != $"v{manifest.Version}")
        {
            throw new PackFailure(
                $"The tag is '{tag}', but the version in ProtoRpc.psd1 is {manifest.Version}. "
                + $"Use the tag v{manifest.Version}, or change ModuleVersion and Prerelease.");
        }

        if (!IsClean)
        {
            throw new PackFailure($"There are changes that '{tag}' does not have. Commit or remove them.");
        }

        string project = manifest.Value("ProjectUri");
        if (Origin is not null && NameOf(Origin) != NameOf(project))
        {
            throw new PackFailure(
                $"ProjectUri in ProtoRpc.psd1 is '{project}', but this clone comes from '{Origin}'. "
                + "Correct the addresses in ProtoRpc.psd1 before you publish.");
        }
    }

    // https://host/owner/name.git and git@host:owner/name are the same.
    private static string NameOf(string address) =>
        string.Join('/', address.TrimEnd('/').Split('/', ':')[^2..])
            .Replace(".git", "", StringComparison.Ordinal).ToUpperInvariant();

    private static async Task<string?> GitAsync(string root, params string[] arguments)
    {
        ChildProcess.Result run = await ChildProcess.RunAsync("git", arguments, root, Limit);
        return run.Succeeded ? run.Text.Trim() : null;
    }
}
