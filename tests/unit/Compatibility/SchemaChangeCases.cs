namespace ProtoRpc.Tests.Compatibility;

/// <summary>All pairs of schemas. The tests of interoperability ask buf about them.</summary>
internal static class SchemaChangeCases
{
    public static IReadOnlyList<SchemaChange> All { get; } =
    [
        .. FieldChangeCases.Fields, .. TypeChangeCases.Messages, .. TypeChangeCases.Enums,
        .. TypeChangeCases.Services, .. FileChangeCases.Files,
    ];

    /// <summary>The names of the cases, for theories.</summary>
    public static IEnumerable<TheoryDataRow<string>> Names =>
        All.Select(change => new TheoryDataRow<string>(change.Name));

    /// <summary>Those about which buf is asked.</summary>
    public static IEnumerable<TheoryDataRow<string>> NamesForBuf =>
        All.Where(change => change.WithoutBuf is null)
            .Select(change => new TheoryDataRow<string>(change.Name));

    public static SchemaChange Get(string name) => All.Single(change => change.Name == name);
}
