namespace ProtoRpc.Compatibility;

/// <summary>The cardinality of a field, in an order that shows which can be read as another.</summary>
internal enum FieldCardinality
{
    /// <summary>One, where an absent field is the default.</summary>
    Implicit,

    /// <summary>One, or none.</summary>
    Explicit,

    /// <summary>One.</summary>
    Required,

    /// <summary>A list.</summary>
    Repeated,

    /// <summary>Keys with values.</summary>
    Map,
}

/// <summary>Which types of fields are read as each other, on the wire and in JSON.</summary>
internal sealed class FieldTypes
{
    // Cached, because thousands of fields may have the same large enum.
    private readonly Dictionary<(RpcEnumInfo, RpcEnumInfo), bool> _movedEnums = [];

    public static FieldCardinality CardinalityOf(RpcFieldInfo field) => field switch
    {
        { IsMap: true } => FieldCardinality.Map,
        { IsRepeated: true } => FieldCardinality.Repeated,
        { IsRequired: true } => FieldCardinality.Required,
        { HasPresence: true } => FieldCardinality.Explicit,
        _ => FieldCardinality.Implicit,
    };

    public static string Describe(FieldCardinality cardinality) => cardinality switch
    {
        FieldCardinality.Map => "a map",
        FieldCardinality.Repeated => "repeated",
        FieldCardinality.Required => "required",
        FieldCardinality.Explicit => "optional with presence",
        _ => "optional without presence",
    };

    /// <summary>Whether values of the older type on the wire are read by the newer one.</summary>
    /// <remarks>A string is read as bytes, but bytes need not be a string.</remarks>
    public bool HaveSameEncoding(RpcFieldInfo older, RpcFieldInfo newer) =>
        (older.Kind, newer.Kind) is (RpcFieldKind.String, RpcFieldKind.Bytes)
        || (EncodingOf(older.Kind) == EncodingOf(newer.Kind) && HaveSameDeclaration(older, newer));

    /// <summary>Whether values of the older type in JSON are read by the newer one.</summary>
    public bool HaveSameJson(RpcFieldInfo older, RpcFieldInfo newer) =>
        JsonOf(older.Kind) == JsonOf(newer.Kind) && HaveSameDeclaration(older, newer);

    /// <summary>Whether it is a 64-bit number, for which JavaScript has two types.</summary>
    public static bool HasLongNumbers(RpcFieldInfo field) =>
        JsonOf(field.Kind) == RpcFieldKind.Int64;

    /// <summary>Whether it is text or bytes, for which C++ has several types. Maps always use the
    /// first.</summary>
    public static bool HasText(RpcFieldInfo field) => field.Kind is RpcFieldKind.String or RpcFieldKind.Bytes;

    // The types of one group encode the same numbers as the same bytes, if the numbers fit.
    private static RpcFieldKind EncodingOf(RpcFieldKind kind) => kind switch
    {
        RpcFieldKind.Int64 or RpcFieldKind.UInt32 or RpcFieldKind.UInt64 or RpcFieldKind.Bool =>
            RpcFieldKind.Int32,
        RpcFieldKind.SInt64 => RpcFieldKind.SInt32,
        RpcFieldKind.SFixed32 => RpcFieldKind.Fixed32,
        RpcFieldKind.SFixed64 => RpcFieldKind.Fixed64,
        _ => kind,
    };

    // In JSON, 64-bit numbers are strings, and float has the same form as double.
    private static RpcFieldKind JsonOf(RpcFieldKind kind) => kind switch
    {
        RpcFieldKind.UInt32 or RpcFieldKind.SInt32 or RpcFieldKind.Fixed32 or RpcFieldKind.SFixed32 =>
            RpcFieldKind.Int32,
        RpcFieldKind.UInt64 or RpcFieldKind.SInt64 or RpcFieldKind.Fixed64 or RpcFieldKind.SFixed64 =>
            RpcFieldKind.Int64,
        RpcFieldKind.Float => RpcFieldKind.Double,
        RpcFieldKind.Group => RpcFieldKind.Message,
        _ => kind,
    };

    // Messages with other names may have the same fields, but nothing keeps them the same. An enum may move
    // with its values to another package or message.
    private bool HaveSameDeclaration(RpcFieldInfo older, RpcFieldInfo newer) => older.Kind switch
    {
        RpcFieldKind.Message or RpcFieldKind.Group =>
            older.MessageType!.FullName == newer.MessageType!.FullName,
        RpcFieldKind.Enum => older.EnumType!.FullName == newer.EnumType!.FullName
            || (older.EnumType.Name == newer.EnumType.Name && HasMoved(older.EnumType, newer.EnumType)),
        _ => true,
    };

    private bool HasMoved(RpcEnumInfo older, RpcEnumInfo newer)
    {
        if (!_movedEnums.TryGetValue((older, newer), out bool hasMoved))
        {
            hasMoved = older.Values.All(
                value => newer.TryGetExactNumber(value.Key, out int number) && number == value.Value);
            _movedEnums.Add((older, newer), hasMoved);
        }

        return hasMoved;
    }
}
