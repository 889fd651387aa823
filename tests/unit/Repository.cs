namespace ProtoRpc.Tests;

/// <summary>The folder of the repository, for tests that read its files.</summary>
internal static class Repository
{
    /// <summary>The repository's root, above the folder of the tests.</summary>
    public static string Root { get; } = Find(AppContext.BaseDirectory);

    private static string Find(string? folder) =>
        folder is null ? throw new InvalidOperationException("The repository's root is not above the tests.")
        : File.Exists(Path.Combine(folder, "ProtoRpc.slnx")) ? folder
        : Find(Path.GetDirectoryName(folder));
}
