namespace ProtoRpc.WindowsTests;

/// <summary>Which tests one process runs; the test runner writes it.</summary>
/// <param name="Assembly">The assembly of the tests.</param>
/// <param name="Part">Which part of its classes, from 0.</param>
/// <param name="Parts">Into how many parts its classes are split.</param>
/// <param name="Classes">These classes instead of a part, or null.</param>
/// <param name="Spaces">How the full names of the classes begin, or null for all.</param>
/// <param name="Without">Classes and methods to leave out.</param>
/// <param name="Later">Classes and namespaces that only a long run has.</param>
/// <param name="Filter">Part of the names of the tests.</param>
/// <param name="Tests">The ids of these tests only, or null for all.</param>
/// <param name="Peers">Where tests ask for programs of Linux; null for none. A secret.</param>
internal sealed record TestPlan(
    string Assembly, int Part, int Parts, IReadOnlyList<string>? Classes, IReadOnlyList<string>? Spaces,
    IReadOnlyList<string> Without, IReadOnlyList<string> Later, string Filter,
    IReadOnlyList<string>? Tests = null, string? Peers = null)
{
    /// <summary>The same with these tests only.</summary>
    public TestPlan OfTests(IEnumerable<string> classes, IEnumerable<string> ids) =>
        this with { Part = 0, Parts = 1, Classes = [.. classes.Distinct()], Tests = [.. ids] };
}
