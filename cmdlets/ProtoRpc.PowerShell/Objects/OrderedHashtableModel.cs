namespace ProtoRpc.PowerShell.Objects;

/// <summary>Reads the shell's objects, and makes ordered hashtables (<c>-AsHashtable</c>).</summary>
internal sealed class OrderedHashtableModel : PSObjectModel
{
    public static new OrderedHashtableModel Instance { get; } = new();

    protected override bool MakesShellObjects => false;

    public override object CreateObject(
        DynamicMessage source, IReadOnlyList<RpcFieldInfo> fields, IReadOnlyList<object?> values) =>
        PlainObjectModel.Instance.CreateObject(source, fields, values);

    public override object CreateAny(
        DynamicMessage source, IReadOnlyList<string> names, IReadOnlyList<object?> values) =>
        ((IObjectModel)PlainObjectModel.Instance).CreateAny(source, names, values);
}
