using System.Text.RegularExpressions;
using ProtoRpc.TestRun;

namespace ProtoRpc.Tests.Architecture;

/// <summary>A file is a concept that one reads alone, and a folder has one reason: what can be counted of
/// that.</summary>
public static partial class ProductFilesTests
{
    private const int MostFiles = 575;
    private const int MostInAFolder = 20;
    private const int FewestLines = 30;

    private static readonly (string Path, string Text)[] Files =
    [
        .. from folder in new[] { "lib", "cmdlets" }
           from file in SourceFiles.Under(Path.Combine(Repository.Root, folder))
           select ($"{folder}/{file}", File.ReadAllText(Path.Combine(Repository.Root, folder, file))),
    ];

    [Fact]
    public static void The_house_has_few_files()
    {
        Assert.InRange(Files.Length, 100, MostFiles);
    }

    [Fact]
    public static void Hardly_a_file_without_a_public_type_is_shorter_than_a_concept()
    {
        string[] small =
        [
            .. from file in Files
               where file.Text.AsSpan().Count('\n') < FewestLines && !PublicType().IsMatch(file.Text)
               select file.Path,
        ];

        Assert.True(small.Length <= 15, string.Join(Environment.NewLine, small));
    }

    [Fact]
    public static void A_folder_has_as_many_files_as_a_reader_takes_in()
    {
        IEnumerable<string> crowded =
            from folder in Files.GroupBy(file => Path.GetDirectoryName(file.Path)!.Replace('\\', '/'))
            where folder.Count() > MostInAFolder
            select $"{folder.Key} has {folder.Count()} files";

        Findings.None(crowded);
    }

    [Fact]
    public static void No_factory_is_named_Of()
    {
        IEnumerable<string> named =
            from file in Files
            where FactoryOf().IsMatch(file.Text)
            select file.Path;

        Findings.None(named);
    }

    [GeneratedRegex("^public ", RegexOptions.Multiline)]
    private static partial Regex PublicType();

    [GeneratedRegex(@"\bstatic [^=;\n]+ Of(<\w+>)?\(")]
    private static partial Regex FactoryOf();
}
