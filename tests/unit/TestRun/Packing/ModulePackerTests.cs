using ProtoRpc.TestRun.Packing;

namespace ProtoRpc.Tests.TestRun.Packing;

public static class ModulePackerTests
{
    [Fact]
    public static void Says_where_the_module_is_and_how_to_import_and_install_it()
    {
        string module = Path.GetFullPath(Path.Combine("it's", "ProtoRpc"));
        string quoted = $"'{module.Replace("'", "''", StringComparison.Ordinal)}'";

        string[] lines =
        [
            .. ModulePacker.Instructions(Path.Combine(module, "1.2.3"))
                .Split(Environment.NewLine).Select(line => line.Trim()),
        ];

        Assert.Equal($"The module is in {Path.Combine(module, "1.2.3")}", lines[0]);
        Assert.Contains($"Import-Module {quoted}", lines);
        Assert.Single(
            lines, line => line.StartsWith($"Copy-Item {quoted} (New-Item ", StringComparison.Ordinal)
                && line.Contains("$env:PSModulePath", StringComparison.Ordinal));
    }
}
