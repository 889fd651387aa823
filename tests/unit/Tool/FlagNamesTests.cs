using System.Text.RegularExpressions;
using ProtoRpc.Tool;

namespace ProtoRpc.Tests.Tool;

public static partial class FlagNamesTests
{
    [Fact]
    public static void No_text_of_the_core_names_a_parameter_of_the_shell()
    {
        string[] folders = ["ProtoRpc", "ProtoRpc.Shared", "ProtoRpc.Hosting"];
        IEnumerable<string> named = folders
            .SelectMany(folder => Directory.EnumerateFiles(
                Path.Combine(Repository.Root, "lib", folder), "*.cs", SearchOption.AllDirectories))
            .SelectMany(File.ReadLines)
            .Where(line => !line.TrimStart().StartsWith("//", StringComparison.Ordinal))
            .SelectMany(line => Text().Matches(line).SelectMany(text => Parameter().Matches(text.Value)))
            .Select(match => match.Value).Where(name => name != "-Infinity").Distinct();

        // Named endpoints are registered in the shell alone.
        Assert.Empty(named.Except(["-Credential", "-Token"]));
    }

    [Fact]
    public static void Texts_name_options_unless_a_server_wrote_them()
    {
        const string Text = "Set RpcTlsOptions.CaCertificates, or RpcLimits.MaxHeaders. Give a schema.";

        Assert.Equal(
            "Set --cacert, or RpcLimits.MaxHeaders. Use --schema to give a schema.",
            FlagNames.Of(new RpcException(RpcStatusCode.Unavailable, Text, null, isByProtoRpc: true)));
        Assert.Equal(
            Text, FlagNames.Of(new RpcException(RpcStatusCode.Unavailable, Text, null, isByProtoRpc: false)));
    }

    [GeneratedRegex("\"(\\\\.|[^\"\\\\])*\"")]
    private static partial Regex Text();

    [GeneratedRegex(@"(?<![\w-])-[A-Z][a-z]\w+")]
    private static partial Regex Parameter();
}
