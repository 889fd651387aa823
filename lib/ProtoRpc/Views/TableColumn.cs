namespace ProtoRpc.Views;

/// <summary>A column of a table of messages.</summary>
/// <param name="Name">The field that it shows.</param>
/// <param name="Field">The field, where that is known.</param>
internal sealed record TableColumn(string Name, RpcFieldInfo? Field)
{
    private const int MaxHeader = 24;
    private const int MinFlexible = 8;
    private const int MaxEnum = 20;
    private const int TimeCells = 19;

    /// <summary>The header.</summary>
    public string Header { get; } = ViewText.Shorten(ViewText.Neutral(Name, MaxHeader * 2), MaxHeader);

    /// <summary>Whether it is a number, which stands at the right and is never cut.</summary>
    public bool IsNumber => Field is { IsRepeated: false } && Field.Kind is not (RpcFieldKind.String
        or RpcFieldKind.Bytes or RpcFieldKind.Bool or RpcFieldKind.Enum or RpcFieldKind.Message
        or RpcFieldKind.Group);

    /// <summary>Whether it takes as much room as there is: texts, bytes, lists and messages.</summary>
    public bool IsFlexible => Field is null || Field.IsRepeated || (IsNested && !IsTime)
        || Field.Kind is RpcFieldKind.String or RpcFieldKind.Bytes;

    /// <summary>Whether it stands behind those that hold one value.</summary>
    public bool IsNested => Field is null || Field.IsRepeated
        || (Field.Kind is RpcFieldKind.Message or RpcFieldKind.Group && !IsOneValue);

    /// <summary>The cells without which the table is none.</summary>
    public int MinCells => Math.Max(ViewText.Cells(Header), Field switch
    {
        _ when IsFlexible => MinFlexible,
        _ when IsTime => TimeCells,
        { Kind: RpcFieldKind.Bool } => "false".Length,
        { EnumType: { } type } => Math.Min(MaxEnum, type.Values.Max(value => value.Key.Length)),
        _ => 1,
    });

    /// <summary>The cells that it gets; set by the layout.</summary>
    public int Cells { get; set; }

    private bool IsTime => Field is { IsRepeated: false, MessageType.FullName: "google.protobuf.Timestamp" };

    // Well-known types that are shown as one value.
    private bool IsOneValue => Field!.MessageType!.FullName is "google.protobuf.Timestamp"
        or "google.protobuf.Duration" or "google.protobuf.FieldMask"
        || (Field.MessageType.FullName.StartsWith("google.protobuf.", StringComparison.Ordinal)
            && Field.MessageType.FullName.EndsWith("Value", StringComparison.Ordinal)
            && Field.MessageType.Fields is [{ Name: "value" }]);
}
