namespace ProtoRpc.Tool.Demo;

/// <summary>Finds the folder of the PowerShell module with its examples.</summary>
internal static class ModuleFolder
{
    public const string ExampleScript = "examples/hello.ps1";

    /// <summary>The nearest folder upwards of the working folder or of the tool
    /// that has both, or null.</summary>
    public static string? Find() =>
        new[] { Environment.CurrentDirectory, AppContext.BaseDirectory }
            .SelectMany(Upwards)
            .FirstOrDefault(folder => File.Exists(Path.Combine(folder, "ProtoRpc.psd1"))
                && File.Exists(Path.Combine(folder, ExampleScript)));

    private static IEnumerable<string> Upwards(string folder)
    {
        for (DirectoryInfo? at = new(folder); at is not null; at = at.Parent)
        {
            yield return at.FullName;
        }
    }
}
