using ProtoRpc.TestRun;

namespace ProtoRpc.Tests.TestRun;

public static class TrimmedSuiteTests
{
    [Theory]
    [InlineData(
        "x.csproj : error NU1102: Unable to find package Some.Pack with version (= 1.0.0)",
        "NU1102: Unable to find package Some.Pack with version (= 1.0.0)")]
    [InlineData("x.csproj : error NU1301: Unable to load the service index", "NU1301: Unable to load")]
    [InlineData(
        "Microsoft.NETCore.Native.Unix.targets(1,2): error : Platform linker ('clang' or 'gcc') not found in "
        + "PATH.",
        "Platform linker ('clang' or 'gcc') not found")]
    public static void A_missing_package_or_linker_is_the_reason_of_a_skip(string line, string reason) =>
        Assert.StartsWith(reason, TrimmedSuite.MissingTool(["Determining projects to restore...", line]));

    [Theory]
    [InlineData("Program.cs(1,1): error CS0103: The name 'x' does not exist in the current context")]
    [InlineData("PlainObjectModel.cs(38,18): Trim analysis error IL2026: Using member 'x'")]
    [InlineData("x.csproj : error NU1605: Detected package downgrade")]
    [InlineData("")]
    public static void Any_other_error_is_none(string line) =>
        Assert.Null(TrimmedSuite.MissingTool([line]));
}
