namespace ProtoRpc.PowerShell.Mock;

/// <summary>A change of a mock that was checked.</summary>
/// <param name="Methods">The full names of the methods with new replies.</param>
/// <param name="Apply">Changes the mock; cannot fail.</param>
internal sealed record MockSetup(IReadOnlyList<string> Methods, Action Apply);
