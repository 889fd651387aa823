namespace ProtoRpc.PowerShell.Objects;

/// <summary>Creates mappers between messages and objects of the shell.</summary>
internal static class ShellMapper
{
    /// <param name="asHashtable">Whether to convert messages to ordered hashtables instead of
    /// objects.</param>
    /// <param name="allowUnknownFields">Whether to ignore keys that are not fields.</param>
    /// <param name="makesRows">Whether messages are shown as rows of a table, because there are
    /// several.</param>
    /// <param name="isGivenUp">Polled during the conversion: whether to stop it.</param>
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

/// <summary>Reads objects of the shell, and creates ordered hashtables (<c>-AsHashtable</c>).</summary>
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
