using System.Reflection;
using System.Runtime.CompilerServices;
using System.Text.RegularExpressions;
using System.Xml.Linq;
using ProtoRpc.Tests;

namespace ProtoRpc.Http.Tests.Docs.Examples;

/// <summary>Types that a program begins with have an example in their XML docs, and each example is the code
/// between the marks in this folder.</summary>
public static partial class ExamplesTests
{
    private static readonly Assembly[] Libraries =
    [
        typeof(RpcEndpoint).Assembly, typeof(RpcClient).Assembly,
        typeof(RpcHosting).Assembly, typeof(GrpcStubs).Assembly,
    ];

    // The name of a type or a method, and the code of its example. A primary constructor repeats the example
    // of its type.
    private static readonly (string Name, string Code)[] Examples = [.. Libraries
        .SelectMany(library => XDocument.Load(Path.ChangeExtension(library.Location, ".xml"))
            .Descendants("example"))
        .Select(example => (
            Member().Match(example.Parent!.Attribute("name")!.Value).Groups["name"].Value,
            CodeBlocksTests.Unindent(example.Element("code")!.Value)))
        .Distinct()];

    private static readonly (string Name, string Code)[] Samples = [.. Directory.EnumerateFiles(
        Path.Combine(Repository.Root, "tests", "http", "Docs", "Examples"), "*Examples.cs")
        .SelectMany(file => Sample().Matches(File.ReadAllText(file).ReplaceLineEndings("\n")))
        .Select(match => (
            match.Groups["name"].Value, Shown(CodeBlocksTests.Unindent(match.Groups["code"].Value))))];

    // Types that a program creates, calls, implements or disposes, and that the pages for C# name.
    public static TheoryData<string> FirstTypes => [.. Libraries
        .SelectMany(library => library.GetExportedTypes())
        .Where(type => !type.IsEnum && !type.IsSubclassOf(typeof(Delegate)) && !type.IsNested)
        .Where(type => IsBegunWith(type) && NamesOf(type).Any(Named.Contains))
        .Select(NameOf).Distinct()];

    // The names in the code of README.md and docs/csharp, whether in a block or in a line.
    private static HashSet<string> Named { get; } = [.. Directory
        .EnumerateFiles(Path.Combine(Repository.Root, "docs", "csharp"), "*.md")
        .Append(Path.Combine(Repository.Root, "README.md"))
        .SelectMany(page => Code().Matches(File.ReadAllText(page)))
        .SelectMany(code => Word().Matches(code.Value)).Select(word => word.Value)];

    [Fact]
    public static void The_types_to_begin_with_are_found()
    {
        string[] types = [.. FirstTypes.Select(row => row.Data)];

        Assert.True(types.Length > 35, string.Join(' ', types));
        Assert.Superset(
            new HashSet<string> { "RpcClient", "RpcServer", "RpcStreamingCall", "RpcHosting", "GrpcStubs" },
            types.ToHashSet());
    }

    [Theory]
    [MemberData(nameof(FirstTypes))]
    public static void A_type_to_begin_with_has_an_example(string type) =>
        Assert.Contains(type, Examples.Select(example => example.Name));

    [Fact]
    public static void Every_example_is_a_sample() => Assert.Equal(
        Examples.OrderBy(example => example.Name, StringComparer.Ordinal),
        Samples.OrderBy(sample => sample.Name, StringComparer.Ordinal));

    [Fact]
    public static void Every_example_is_short_enough_for_a_tooltip() => Assert.All(Examples, example =>
    {
        string[] lines = example.Code.Split('\n');
        Assert.True(lines.Length <= 13, $"{example.Name} has {lines.Length} lines.");
        Assert.All(lines, line => Assert.True(line.Length <= 100, line));
    });

    private static bool IsBegunWith(Type type)
    {
        const BindingFlags Static = BindingFlags.Public | BindingFlags.Static | BindingFlags.DeclaredOnly;
        return type.IsInterface
            || (type.IsAbstract && type.IsSealed)
            || (type.IsClass && type.GetConstructors().Length > 0)
            || type.GetMethods(Static).Any(method => method.ReturnType == type)
            || typeof(IDisposable).IsAssignableFrom(type)
            || (typeof(IAsyncDisposable).IsAssignableFrom(type) && !type.IsAbstract);
    }

    // A class of extension methods is named by its methods.
    private static IEnumerable<string> NamesOf(Type type) => type
        .GetMethods(BindingFlags.Public | BindingFlags.Static)
        .Where(method => method.IsDefined(typeof(ExtensionAttribute)))
        .Select(method => method.Name).Prepend(NameOf(type));

    private static string NameOf(Type type) => type.Name.Split('`')[0];

    // What an example shows for what a sample needs.
    private static string Shown(string code) => Endpoint().Replace(code, match =>
        match.Value == "native" ? "\"ncacn_ip_tcp:127.0.0.1[8080]\"" : "\"grpc://127.0.0.1:50051\"");

    [GeneratedRegex(@"^[TM]:(?:\w+\.)*(?<name>\w+)")]
    private static partial Regex Member();

    [GeneratedRegex("// <(?<name>[A-Z][A-Za-z]+)>\n(?<code>.*?)// </\\k<name>>", RegexOptions.Singleline)]
    private static partial Regex Sample();

    [GeneratedRegex(@"(?<=[( ])(?:address|native)(?=[,)])")]
    private static partial Regex Endpoint();

    [GeneratedRegex("```csharp\r?\n.*?```|`[^`\r\n]+`", RegexOptions.Singleline)]
    private static partial Regex Code();

    [GeneratedRegex(@"\b[A-Z]\w+\b")]
    private static partial Regex Word();
}
