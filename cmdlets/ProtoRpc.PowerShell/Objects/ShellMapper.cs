namespace ProtoRpc.PowerShell.Objects;

/// <summary>Makes mappers between messages and the objects of the shell.</summary>
internal static class ShellMapper
{
    /// <param name="asHashtable">Whether messages become ordered hashtables, and not objects.</param>
    /// <param name="allowUnknownFields">Whether keys that no field has are left out.</param>
    /// <param name="makesRows">Whether messages are shown as the rows of a table: there are several.</param>
    /// <param name="isGivenUp">Asked while it works whether the result is still wanted.</param>
    public static MessageMapper Create(
        bool asHashtable, bool allowUnknownFields = false, bool makesRows = false,
        Func<bool>? isGivenUp = null) =>
        new(asHashtable ? OrderedHashtableModel.Instance : PSObjectModel.Instance)
        {
            AllowUnknownFields = allowUnknownFields,
            MakesRows = makesRows,
            IsGivenUp = isGivenUp,
        };
}

/// <summary>Reads the shell's objects, and makes ordered hashtables (<c>-AsHashtable</c>).</summary>
internal sealed class OrderedHashtableModel : PSObjectModel
{
    public static new OrderedHashtableModel Instance { get; } = new();

    protected override bool MakesShellObjects => false;

    protected override object Create(
        DynamicMessage source, IReadOnlyList<RpcFieldInfo> fields, IReadOnlyList<object?> values,
        bool isElement) =>
        PlainObjectModel.Instance.CreateObject(source, fields, values);

    public override object CreateAny(
        DynamicMessage source, IReadOnlyList<string> names, IReadOnlyList<object?> values) =>
        ((IObjectModel)PlainObjectModel.Instance).CreateAny(source, names, values);
}
