namespace ProtoRpc.Fuzz;

/// <summary>The repository.</summary>
internal static class Root
{
    public static string Folder { get; } = Find();

    private static string Find()
    {
        for (DirectoryInfo? at = new(AppContext.BaseDirectory); at is not null; at = at.Parent)
        {
            if (File.Exists(Path.Combine(at.FullName, "ProtoRpc.slnx")))
            {
                return at.FullName;
            }
        }

        throw new InvalidOperationException("The program must be built inside the repository.");
    }
}
