using System.Text.RegularExpressions;

namespace ProtoRpc.Tests.Docs;

/// <summary>The error texts of the core, which users of the shell, of the tool and of C# read.</summary>
public static partial class CoreTextsTests
{
    [Fact]
    public static void No_text_of_the_core_names_a_parameter_of_the_shell()
    {
        string[] folders = ["ProtoRpc", "ProtoRpc.Shared", "ProtoRpc.AspNetCore", "ProtoRpc.Grpc"];
        IEnumerable<string> named = folders
            .SelectMany(folder => Directory.EnumerateFiles(
                Path.Combine(Repository.Root, "lib", folder), "*.cs", SearchOption.AllDirectories))
            .SelectMany(File.ReadLines)
            .Where(line => !line.TrimStart().StartsWith("//", StringComparison.Ordinal))
            .SelectMany(line => Text().Matches(line).SelectMany(text => Parameter().Matches(text.Value)))
            .Select(match => match.Value).Where(name => name != "-Infinity").Distinct();

        Assert.Empty(named);
    }

    [GeneratedRegex("\"(\\\\.|[^\"\\\\])*\"")]
    private static partial Regex Text();

    [GeneratedRegex(@"(?<![\w-])-[A-Z][a-z]\w+")]
    private static partial Regex Parameter();
}
