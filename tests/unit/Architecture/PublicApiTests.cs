using System.Runtime.CompilerServices;

namespace ProtoRpc.Tests.Architecture;

/// <summary>What users see of the assemblies is written down, so that a review shows each change of
/// it.</summary>
public static class PublicApiTests
{
    private const string Update = "PROTORPC_UPDATE_API";

    [Theory]
    [InlineData("ProtoRpc.Shared")]
    [InlineData("ProtoRpc")]
    [InlineData("ProtoRpc.Hosting")]
    [InlineData("ProtoRpc.PowerShell")]
    public static void The_public_surface_is_the_one_that_is_written_down(string assembly)
    {
        string list = Path.Combine(Folder(), $"{assembly}.txt");
        IReadOnlyList<string> now = PublicApi.Of(House.PathOf(assembly));
        if (Environment.GetEnvironmentVariable(Update) == "1")
        {
            Directory.CreateDirectory(Folder());
            File.WriteAllLines(list, now);
        }

        string[] written = File.Exists(list) ? File.ReadAllLines(list) : [];
        string[] changes =
        [
            .. written.Except(now).Select(line => $"- {line}"),
            .. now.Except(written).Select(line => $"+ {line}"),
        ];

        if (changes.Length > 0)
        {
            Assert.Fail(
                $"The public surface of {assembly} changed. If users need that, write it down with "
                + $"'{Update}=1 dotnet test tests/unit --filter PublicApiTests' and commit the list; "
                + $"otherwise make the types internal.\n{string.Join('\n', changes)}");
        }
    }

    [Fact]
    public static void The_list_has_types_members_and_values_and_nothing_internal()
    {
        IReadOnlyList<string> api = PublicApi.Of(House.PathOf("ProtoRpc.Shared"));

        Assert.Contains("ProtoRpc.RpcStatusCode : sealed System.Enum", api);
        Assert.Contains("ProtoRpc.RpcStatusCode.NotFound = 5 : static ProtoRpc.RpcStatusCode", api);
        Assert.Contains("ProtoRpc.RpcException.get_Code() : ProtoRpc.RpcStatusCode", api);
        Assert.DoesNotContain(api, line => line.StartsWith("ProtoRpc.HostNames", StringComparison.Ordinal));
    }

    private static string Folder([CallerFilePath] string file = "") =>
        Path.Combine(Path.GetDirectoryName(file)!, "PublicApi");
}
