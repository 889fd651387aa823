namespace ProtoRpc;

/// <summary>Says why a file cannot be read or written, in an error that names the file itself.</summary>
internal static class FileProblem
{
    /// <summary>The reason as a clause without a period. It omits the path if the error already contains
    /// it.</summary>
    /// <param name="failure">The failure of .NET.</param>
    /// <param name="shown">The path that the error shows.</param>
    public static string Describe(Exception failure, string shown)
    {
        string text = failure.Message.TrimEnd('.');
        string quoted = $"'{shown}'";
        return !text.Contains(quoted, StringComparison.Ordinal) ? text : failure switch
        {
            FileNotFoundException => "the file does not exist",
            DirectoryNotFoundException => "its folder does not exist",
            UnauthorizedAccessException => Directory.Exists(shown) ? "it is a folder" : "access is denied",
            _ => text.Replace($" : {quoted}", "", StringComparison.Ordinal)
                .Replace($" {quoted}", "", StringComparison.Ordinal),
        };
    }
}
