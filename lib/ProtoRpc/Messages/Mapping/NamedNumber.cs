namespace ProtoRpc.Messages.Mapping;

/// <summary>A value of an enum whose .NET type is not at hand, because it was serialized by a shell: read as
/// the enum itself.</summary>
/// <param name="Name">The name, or the number as text.</param>
/// <param name="Number">The boxed integer.</param>
internal readonly record struct NamedNumber(string Name, object Number) : IFormattable
{
    /// <inheritdoc/>
    public string ToString(string? format, IFormatProvider? formatProvider) => Name;

    /// <inheritdoc/>
    public override string ToString() => Name;
}
