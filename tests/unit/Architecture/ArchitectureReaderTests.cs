using ProtoRpc.Tests.Architecture.Sample.Lower;
using ProtoRpc.Tests.Architecture.Sample.Upper;

namespace ProtoRpc.Tests.Architecture;

/// <summary>The reader of assemblies sees what the tests of the architecture rely on; this assembly is its
/// sample.</summary>
public static class ArchitectureReaderTests
{
    private const string Lower = "Architecture/Sample/Lower";
    private const string Upper = "Architecture/Sample/Upper";

    private static readonly IReadOnlyList<CodeType> Types = AssemblyTypes.Read(
        typeof(ArchitectureReaderTests).Assembly.Location, "tests/unit");

    [Theory]
    [InlineData(typeof(Wall), Upper)]
    [InlineData(typeof(IBrickOfInterface), Lower)]
    [InlineData(typeof(BrickOfField), Lower)]
    [InlineData(typeof(BrickOfParameter), Lower)]
    [InlineData(typeof(BrickOfBase), Lower)]
    public static void A_type_with_or_without_code_is_in_the_folder_of_its_file(Type type, string folder)
    {
        Assert.Equal([folder], Find(type).Folders);
    }

    [Fact]
    public static void Every_way_to_name_a_type_is_seen()
    {
        string space = typeof(BrickOfBase).Namespace!;
        string[] named =
        [
            .. Find(typeof(Wall)).Uses
                .Where(name => name.FullName.StartsWith(space, StringComparison.Ordinal))
                .Select(name => name.FullName[(space.Length + 1)..]),
        ];
        IEnumerable<string> bricks = Types
            .Where(type => type.Namespace == space && type.FullName != typeof(BrickOfNothing).FullName)
            .Select(type => type.FullName[(space.Length + 1)..]);

        Assert.Equal(bricks.Order(), named.Order());
    }

    [Fact]
    public static void An_arrow_that_the_plan_has_not_is_named_with_its_types()
    {
        Dictionary<string, string[]> sees = new() { [Lower] = [], [Upper] = [] };

        IEnumerable<string> forbidden = Arrows
            .Forbidden(Arrows.Between(Types, type => type.Folders.FirstOrDefault()), sees)
            .Where(arrow => arrow.From == Upper)
            .Select(arrow => arrow.ToString());

        Assert.Contains(
            $"{Upper} -> {Lower}: {typeof(Wall).FullName} names {typeof(BrickOfLambda).FullName}", forbidden);
    }

    [Fact]
    public static void An_arrow_of_the_plan_is_not_forbidden()
    {
        Dictionary<string, string[]> sees = new() { [Lower] = [], [Upper] = [Lower] };
        IEnumerable<CodeType> sample = Types.Where(type => sees.ContainsKey(type.Folders.FirstOrDefault("")));

        Assert.Empty(Arrows.Forbidden(Arrows.Between([.. sample], type => type.Folders[0]), sees));
    }

    [Fact]
    public static void A_cycle_is_named_with_its_rooms()
    {
        Assert.Equal(
            ["B -> C -> D -> B"],
            Arrows.Cycles([("A", "B"), ("B", "C"), ("C", "D"), ("D", "B"), ("A", "D")]));
        Assert.Empty(Arrows.Cycles([("A", "B"), ("B", "C"), ("A", "C")]));
    }

    private static CodeType Find(Type type) => Types.Single(found => found.FullName == type.FullName);
}
