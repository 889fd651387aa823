using System.Runtime.InteropServices;

namespace ProtoRpc.TestRun.Packing;

/// <summary>The options of the command line of <c>pack</c>.</summary>
/// <param name="Output">The folder that the packages are written to, or null for <c>out</c>.</param>
/// <param name="Platforms">The runtime identifiers of the archives.</param>
/// <param name="Tag">The tag that is published, or null; it must be that of the version.</param>
internal sealed record PackOptions(string? Output, IReadOnlyList<string> Platforms, string? Tag)
{
    public const string Verb = "pack";

    /// <summary>The platforms for which the module is compiled ahead of time as well.</summary>
    public IReadOnlyList<string> ModulePlatforms { get; init; } = AllPlatforms;

    /// <summary>Whether to make only the module, compiled for this platform.</summary>
    public bool ModuleOnly { get; init; }

    private const string ModuleOption = "--module";

    private const string Usage =
        $"dotnet run --project tests/run -- pack [--out FOLDER] [{ModuleOption}] "
        + "[--archive PLATFORM|none]... [--ready-to-run PLATFORM|none]... [--tag vVERSION]";

    private const string None = "none";

    /// <summary>The platforms for which a self-contained archive of the tool is made.</summary>
    public static readonly IReadOnlyList<string> AllPlatforms =
        ["linux-x64", "linux-arm64", "win-x64", "osx-arm64"];

    /// <summary>The platform that this program runs on.</summary>
    public static string ThisPlatform =>
        (OperatingSystem.IsWindows() ? "win" : OperatingSystem.IsMacOS() ? "osx" : "linux")
        + (RuntimeInformation.OSArchitecture == Architecture.Arm64 ? "-arm64" : "-x64");

    /// <exception cref="ArgumentException">The arguments are not understood; the message has the usage.
    /// </exception>
    public static PackOptions Parse(IReadOnlyList<string> arguments)
    {
        if (arguments.Contains(ModuleOption))
        {
            string[] others = [.. arguments.Where(argument => argument != ModuleOption)];
            return others is [] or ["--out", _]
                ? ParsePairs(others) with { ModuleOnly = true }
                : throw new ArgumentException(
                    $"With {ModuleOption}, only --out FOLDER can be set. Usage: {Usage}");
        }

        return ParsePairs(arguments);
    }

    private static PackOptions ParsePairs(IReadOnlyList<string> arguments)
    {
        string? output = null;
        string? tag = null;
        List<string> platforms = [];
        List<string> modules = [];
        for (int i = 0; i < arguments.Count; i += 2)
        {
            string value = i + 1 < arguments.Count && arguments[i + 1].Length > 0
                ? arguments[i + 1]
                : throw new ArgumentException($"'{arguments[i]}' lacks its value. Usage: {Usage}");
            switch (arguments[i])
            {
                case "--out":
                    output = Path.GetFullPath(value);
                    break;
                case "--tag":
                    tag = value;
                    break;
                case "--archive" when value == None || AllPlatforms.Contains(value):
                    platforms.Add(value);
                    break;
                case "--ready-to-run" when value == None || AllPlatforms.Contains(value):
                    modules.Add(value);
                    break;
                case "--archive" or "--ready-to-run":
                    throw new ArgumentException(
                        $"{arguments[i]} has no platform '{value}'. "
                        + $"Use {string.Join(", ", AllPlatforms)} or {None}.");
                default:
                    throw new ArgumentException($"'{arguments[i]}' is not understood. Usage: {Usage}");
            }
        }

        return new PackOptions(output, PlatformsOf(platforms), tag)
        {
            ModulePlatforms = PlatformsOf(modules),
        };
    }

    /// <summary>The folder that is written to.</summary>
    public string OutputIn(string root) => Output ?? Path.Combine(root, "out");

    private static IReadOnlyList<string> PlatformsOf(List<string> given) =>
        given.Count == 0 ? AllPlatforms : [.. given.Where(p => p != None).Distinct()];
}
