using System.Text.RegularExpressions;

namespace ProtoRpc.TestRun.Packing;

/// <summary>The literals of a module manifest; no expression is evaluated.</summary>
internal sealed class ModuleManifest(string text)
{
    public static ModuleManifest Read(string file) => new(File.ReadAllText(file));

    /// <summary>The version of all packages, with the label of a prerelease.</summary>
    public string Version =>
        Find("Prerelease") is { Length: > 0 } label ? $"{ModuleVersion}-{label}" : ModuleVersion;

    /// <summary>The version in the name of the module's folder, which has no label.</summary>
    public string ModuleVersion => Value("ModuleVersion");

    /// <summary>The text of a key.</summary>
    /// <exception cref="FormatException">The manifest does not have it.</exception>
    public string Value(string key) =>
        Find(key) ?? throw new FormatException($"ProtoRpc.psd1 has no line {key} = '...'.");

    /// <summary>The texts of a key whose value is a list.</summary>
    /// <exception cref="FormatException">The manifest does not have it.</exception>
    public IReadOnlyList<string> List(string key)
    {
        Match list = Regex.Match(text, $@"^\s*{key} = @\((?<items>[^)]*)\)", RegexOptions.Multiline);
        return list.Success
            ? [.. Regex.Matches(list.Groups["items"].Value, "'([^']*)'").Select(item => item.Groups[1].Value)]
            : throw new FormatException($"ProtoRpc.psd1 has no list {key} = @(...).");
    }

    private string? Find(string key) =>
        Regex.Match(text, $"^\\s*{key} = '([^']*)'", RegexOptions.Multiline) is { Success: true } found
            ? found.Groups[1].Value
            : null;
}
