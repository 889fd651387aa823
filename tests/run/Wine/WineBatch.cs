using System.Text.Json;

namespace ProtoRpc.TestRun.Wine;

/// <summary>Which tests one process under Wine runs.</summary>
/// <param name="Assembly">The assembly of the tests.</param>
/// <param name="Part">Which part of its classes, from 0.</param>
/// <param name="Parts">Into how many parts its classes are split.</param>
/// <param name="Classes">These classes instead of a part, or null.</param>
/// <param name="Spaces">How the full names of the classes begin, or null for all.</param>
/// <param name="Without">Classes and methods that Wine cannot run.</param>
/// <param name="Filter">Part of the names of the tests.</param>
internal sealed record WineBatch(
    string Assembly, int Part, int Parts, IReadOnlyList<string>? Classes, IReadOnlyList<string>? Spaces,
    IReadOnlyList<string> Without, string Filter)
{
    public string ToJson() => JsonSerializer.Serialize(this);
}
