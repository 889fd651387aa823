using System.Text.Json;

namespace ProtoRpc.Fuzz.Inputs;

/// <summary>The recorded messages of DCE/RPC.</summary>
internal static class Vectors
{
    private const string Folder = "vectors/";

    public static IReadOnlyDictionary<string, byte[]> All { get; } =
        typeof(Vectors).Assembly.GetManifestResourceNames()
            .Where(name => name.StartsWith(Folder, StringComparison.Ordinal))
            .Order(StringComparer.Ordinal)
            .ToDictionary(name => Path.GetFileNameWithoutExtension(name[Folder.Length..]), Load);

    private static byte[] Load(string resource)
    {
        using Stream stream = typeof(Vectors).Assembly.GetManifestResourceStream(resource)!;
        using JsonDocument document = JsonDocument.Parse(stream);
        return Convert.FromHexString(document.RootElement.GetProperty("bytes_hex").GetString()!);
    }
}
