namespace ProtoRpc.TestRun;

/// <summary>Finds the C# files that are longer than a file of one subject is.</summary>
internal static class FileLength
{
    /// <summary>The most lines of a file.</summary>
    public const int Most = 600;

    /// <summary>A case for each file with more lines.</summary>
    public static IEnumerable<TestCase> Check(string root)
    {
        foreach (string file in SourceFiles.Under(root))
        {
            int lines = File.ReadLines(Path.Combine(root, file)).Count();
            if (lines > Most)
            {
                yield return new TestCase(
                    file, $"The file has {lines} lines. Split it by subject into files of at most {Most}.");
            }
        }
    }
}
