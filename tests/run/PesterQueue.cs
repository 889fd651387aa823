namespace ProtoRpc.TestRun;

/// <summary>The test files that wait for a shell, and the results of those that ran: files in two folders, so
/// that several shells can take from it (<c>pester.ps1</c>).</summary>
internal sealed class PesterQueue
{
    /// <param name="folder">An empty folder.</param>
    /// <param name="files">The test files; those with the most text run first, so that no long one is left
    /// to the end.</param>
    public PesterQueue(string folder, IEnumerable<string> files)
    {
        Waiting = Directory.CreateDirectory(Path.Combine(folder, "waiting")).FullName;
        Results = Directory.CreateDirectory(Path.Combine(folder, "results")).FullName;
        int number = 0;
        foreach (string file in files.OrderByDescending(file => new FileInfo(file).Length))
        {
            string name = $"{number++:D4}-{Path.GetFileNameWithoutExtension(file)}";
            File.WriteAllText(Path.Combine(Waiting, name), file);
        }
    }

    /// <summary>The folder of the files that no shell has begun.</summary>
    public string Waiting { get; }

    /// <summary>The folder of the results.</summary>
    public string Results { get; }

    /// <summary>Whether no file waits.</summary>
    public bool IsEmpty => !Directory.EnumerateFiles(Waiting).Any();

    /// <summary>The result of a file; null if the file has not ended.</summary>
    /// <param name="suite">The suite's name.</param>
    /// <param name="entry">The name that the shell printed when it began.</param>
    /// <exception cref="FormatException">The result is not complete.</exception>
    public SuiteResult? Read(string suite, string entry)
    {
        string result = Path.Combine(Results, $"{entry}.json");
        return File.Exists(result) ? JsonReport.Read(suite, File.ReadAllText(result)) : null;
    }
}
