namespace ProtoRpc.Schema.Options;

/// <summary>The fields that are set in an options message, or in a message that is part of one.</summary>
/// <param name="Type">Its type.</param>
/// <param name="Fields">Its fields in the order in which they were first met.</param>
/// <param name="Unknown">Raw values of numbers that the type does not have: ulong, uint or byte[].</param>
internal sealed record OptionMessage(
    RpcMessageInfo Type,
    IReadOnlyList<OptionField> Fields,
    IReadOnlyList<KeyValuePair<int, object>> Unknown);

/// <summary>A field that is set in an options message.</summary>
/// <param name="Field">The field or extension.</param>
/// <param name="Values">
/// One value, or all of a repeated field: boxed scalars, string (byte[] where it is no UTF-8), byte[],
/// an enum's number (int), or an <see cref="OptionMessage"/>.
/// </param>
internal sealed record OptionField(RpcFieldInfo Field, IReadOnlyList<object> Values);
