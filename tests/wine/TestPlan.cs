namespace ProtoRpc.WineTests;

/// <summary>Which tests to run; the test runner writes it.</summary>
/// <param name="Assembly">The assembly of the tests.</param>
/// <param name="Part">Which part of its classes, from 0.</param>
/// <param name="Parts">Into how many parts its classes are split.</param>
/// <param name="Classes">These classes instead of a part, or null.</param>
/// <param name="Spaces">How the full names of the classes begin, or null for all.</param>
/// <param name="Without">Classes and methods to leave out.</param>
/// <param name="Filter">Part of the names of the tests.</param>
internal sealed record TestPlan(
    string Assembly, int Part, int Parts, string[]? Classes, string[]? Spaces, string[] Without,
    string Filter);
