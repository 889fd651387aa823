namespace ProtoRpc.PowerShell.Objects;

/// <summary>The properties of an object that were read already. Unlike the entries of a dictionary, empty
/// cells of a table are left out.</summary>
/// <param name="Members">Names and values.</param>
internal sealed record PropertyRow(IReadOnlyCollection<KeyValuePair<string, object?>> Members);
