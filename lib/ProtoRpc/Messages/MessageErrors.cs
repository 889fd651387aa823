using ProtoRpc.Messages.Binary;

namespace ProtoRpc.Messages;

/// <summary>Makes exceptions of messages that are too large.</summary>
internal static class MessageErrors
{
    /// <summary>The error text for the name of a field that a message does not have.</summary>
    public static string NoField(RpcMessageInfo type, string name)
    {
        string[] names = [.. type.Fields.Concat(type.Extensions).Select(field => field.Name)];
        string hint = NearestName.Hint(name, names);
        if (hint.Length == 0)
        {
            hint = ValueText.OfNames(names, " Its fields are", " It has no fields") + ".";
        }

        return $"the message {type.FullName} has no field '{ValueText.OfName(name)}'.{hint}";
    }

    public static RpcException UnknownField(RpcMessageInfo type, string name)
    {
        string what = NoField(type, name);
        return new(
            RpcStatusCode.InvalidArgument, RpcErrorIds.UnknownField,
            char.ToUpperInvariant(what[0]) + what[1..]);
    }

    /// <summary>The error for a field that is not an enum with one value.</summary>
    public static RpcException NoEnum(RpcFieldInfo field) => new(
        RpcStatusCode.InvalidArgument,
        field.EnumType is null
            ? $"{field.FullName} is not an enum field: its type is {field.TypeName}. Read it by the indexer."
            : $"{field.FullName} has more than one value. Read the numbers by the indexer, and get their "
            + $"names with {nameof(RpcEnumInfo)}.{nameof(RpcEnumInfo.FindName)} of the field's "
            + $"{nameof(RpcFieldInfo.EnumType)}.");

    /// <summary>The error of a message over the limit.</summary>
    /// <param name="what">The kind of message: request or reply.</param>
    /// <param name="size">The size in bytes, as far as it is known.</param>
    /// <param name="maxBytes">The limit.</param>
    public static RpcException TooLarge(string what, string size, int maxBytes) => new(
        RpcStatusCode.ResourceExhausted,
        $"The {what} has {size} bytes; the limit is {maxBytes:N0}. Send less per call, or raise "
        + "RpcLimits.MaxMessageBytes on both sides.");

    /// <summary>The error that a server sends for a request over its limit. The caller cannot change the
    /// limit, and may know it by another name.</summary>
    /// <param name="maxBytes">The server's limit.</param>
    public static RpcException OverServerLimit(int maxBytes) => new(
        RpcStatusCode.ResourceExhausted, TextOfServerLimit(maxBytes));

    /// <inheritdoc cref="OverServerLimit"/>
    public static string TextOfServerLimit(int maxBytes) =>
        $"The request is larger than the server's limit of {maxBytes:N0} bytes. Send less per call, or raise "
        + $"{nameof(RpcLimits.MaxMessageBytes)} of the server.";

    /// <summary>No array can hold the message.</summary>
    public static RpcException LargerThanArrays() => new(
        RpcStatusCode.ResourceExhausted,
        $"A message is larger than {Array.MaxLength} bytes. Send its parts in several messages.");
}

/// <summary>Checks that Google.Protobuf leaves to its callers.</summary>
internal static class MessageChecks
{
    /// <summary>Rejects a message with missing required fields, dynamic or generated. An opaque message was
    /// checked when it was encoded.</summary>
    public static void RequireInitialized(IMessage message, RpcMessageInfo type)
    {
        if (message is DynamicMessage dynamic)
        {
            dynamic.CheckRequired();
        }
        else if (message is not OpaqueMessage && GeneratedRequired.FindMissing(message) is { } missing)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument, $"{missing} must be set: the field is required.")
            {
                ErrorId = RpcErrorIds.MissingRequiredField,
                FieldPath = missing,
            };
        }
    }

    /// <summary>Refuses a message over the limit.</summary>
    public static void RequireSize(int size, int maxBytes, string what)
    {
        if (size > maxBytes)
        {
            throw MessageErrors.TooLarge(what, $"{size:N0}", maxBytes);
        }
    }
}

/// <summary>Counts the elements of a peer's message, and rejects it if they are too many for its
/// size.</summary>
/// <remarks>An empty message has two bytes in binary form, but becomes an object with memory for all its
/// fields. So the size of a message does not limit the memory that it needs.</remarks>
/// <param name="type">The type that is read, for the error.</param>
/// <param name="limit">Elements that every message may have.</param>
/// <param name="look">Called repeatedly while a long message is read. Throws if the call has ended, or memory
/// is low. Null for none.</param>
internal struct ElementBudget(RpcMessageInfo type, int limit, Action? look = null)
{
    /// <summary>Bytes of the binary form that are read between two looks.</summary>
    public const int BytesPerLook = 16 * 1024;

    // More elements than in real messages: a set field needs at least three bytes, but many fields are not
    // set.
    private const int BytesPerElement = 2;

    private long _left = limit;
    private long _forBytes;

    /// <summary>Called after each <see cref="BytesPerLook"/>; null for nothing.</summary>
    public readonly Action? Look => look;

    /// <summary>The elements that may still come.</summary>
    public readonly long Left => _left;

    /// <summary>A budget without a limit.</summary>
    public static ElementBudget Unlimited { get; } = new(null!, 0) { _left = long.MaxValue };

    /// <summary>Increases the limit to the number of elements that real messages of this size have, if that
    /// is more.</summary>
    public void AddBytes(long count)
    {
        long before = Math.Max(_forBytes, limit);
        _forBytes += count / BytesPerElement;
        _left += Math.Max(_forBytes, limit) - before;
    }

    /// <summary>Counts a message within the message.</summary>
    public void CountMessage(MessageLayout layout) => Count(layout.Elements);

    /// <summary>Counts an entry of a map, without a message that is its value.</summary>
    public void CountEntry() => Count(1);

    private void Count(int count)
    {
        _left -= count;
        if (_left < 0)
        {
            throw TooMany();
        }
    }

    private readonly RpcException TooMany() => new(
        RpcStatusCode.ResourceExhausted, RpcErrorIds.TooManyElements,
        $"The message {type.FullName} is rejected: it has more "
        + $"than {Math.Max(_forBytes, limit):N0} "
        + "elements. Each message in it counts with all its fields, and each entry of a map. "
        + "Raise RpcLimits.MaxMessageElements on this side.");
}
