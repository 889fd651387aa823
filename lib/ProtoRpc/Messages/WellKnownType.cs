namespace ProtoRpc.Messages;

/// <summary>The well-known types that objects show in a shape of their own.</summary>
internal enum WellKnownType
{
    None,
    Timestamp,
    Duration,
    Wrapper,
    Struct,
    Value,
    ListValue,
    Any,
    FieldMask,
}
