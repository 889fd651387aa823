namespace ProtoRpc.Commands;

/// <summary>The parameter of a command for a field of the request.</summary>
/// <param name="Name">The parameter's name.</param>
/// <param name="Aliases">Other names: the field's own, where it differs.</param>
/// <param name="Field">The field.</param>
/// <param name="Type">The type of its argument.</param>
internal sealed record CommandParameter(
    string Name, IReadOnlyList<string> Aliases, RpcFieldInfo Field, Type Type)
{
    // Nobody reads more in a syntax, and a hostile schema can have millions.
    private const int MaxValues = 200;

    /// <summary>Whether it is a switch: a bool that may be left out.</summary>
    public bool IsSwitch { get; init; }

    /// <summary>How it reads text.</summary>
    public ArgumentText Text { get; init; }

    /// <summary>Whether a call without it is refused.</summary>
    public bool IsMandatory => Field.IsRequired;

    /// <summary>The names of the field's enum, as far as they are offered.</summary>
    public IEnumerable<string> EnumNames =>
        Field.EnumType?.Values.Select(value => value.Key).Take(MaxValues) ?? [];
}
