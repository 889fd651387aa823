using System.Security.Cryptography;

namespace ProtoRpc.TestRun.Packing;

/// <summary>The file SHA256SUMS, which <c>sha256sum --check</c> reads.</summary>
internal static class Checksums
{
    public const string FileName = "SHA256SUMS";

    /// <summary>Writes the sums of files below a folder.</summary>
    public static void Write(string folder, IEnumerable<string> files) =>
        File.WriteAllText(
            Path.Combine(folder, FileName),
            string.Concat(files
                .Select(file => (Name: Path.GetRelativePath(folder, file).Replace('\\', '/'), File: file))
                .OrderBy(file => file.Name, StringComparer.Ordinal)
                .Select(file => $"{Of(file.File)}  {file.Name}\n")));

    /// <summary>The SHA-256 of a file, in hexadecimal.</summary>
    public static string Of(string file)
    {
        using FileStream stream = File.OpenRead(file);
        return Convert.ToHexStringLower(SHA256.HashData(stream));
    }
}
