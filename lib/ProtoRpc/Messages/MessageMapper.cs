using ProtoRpc.Messages;
using ProtoRpc.Messages.Mapping;

namespace ProtoRpc;

/// <summary>Makes messages of objects and objects of messages.</summary>
/// <remarks>
/// What a field accepts:
/// <list type="bullet">
/// <item>integers: any number type without fraction, .NET enums, and text of a whole number, where it
/// fits;</item>
/// <item>float, double: any number type, text of a number, <c>NaN</c>, <c>Infinity</c>,
/// <c>-Infinity</c>;</item>
/// <item>bool: true, false, the same as text, 0 and 1;</item>
/// <item>string: text, characters, and what has one text in the invariant culture: numbers, .NET enums, Guid,
/// Uri, Version, IPAddress, dates and times (ISO 8601); not bool, for <c>True</c> and <c>true</c> are both
/// right;</item>
/// <item>bytes: byte[], memory, ByteString, a stream from where it stands, base64 text of either alphabet, a
/// list of numbers from 0 to 255;</item>
/// <item>enums: a name in any case, a number, a .NET enum with such a name or number;</item>
/// <item>messages: a dictionary, an object, or a message of the same full name;</item>
/// <item>Timestamp: DateTime (without kind: local time), DateTimeOffset, DateOnly, RFC 3339 text, a date with
/// or without a time as text (<c>2024-02-29</c>, in UTC), or seconds and nanos;
/// Duration: TimeSpan, text as <c>1.5s</c> or <c>00:00:01.5</c>, or seconds and nanos;</item>
/// <item>wrappers: the bare value; Struct, Value, ListValue: dictionaries, objects, lists, scalars; Any:
/// members with <c>@type</c>, or any message; FieldMask: paths in a list or in one text with commas.</item>
/// </list>
/// <c>null</c> leaves a field out, and is the null value of a Value in a list, map or Struct. Rows of tables
/// are also accepted: a dotted name fills a field of a nested message or an entry of a map, an empty text
/// leaves out a field that is no text, and lists, maps and messages are also read from JSON text.
/// </remarks>
/// <param name="objects">How the host's objects are read and made; plain .NET objects by default.</param>
public sealed class MessageMapper(IObjectModel? objects = null)
{
    private static readonly RpcLimits Usual = RpcLimits.Default;

    /// <summary>How objects are read and made.</summary>
    public IObjectModel Objects { get; } = objects ?? PlainObjectModel.Instance;

    /// <summary>Whether keys that the message does not have are left out instead of refused.</summary>
    public bool AllowUnknownFields { get; init; }

    /// <summary>Nesting bound; deeper, and cyclic, objects are refused.</summary>
    public int MaxDepth { get; init; } = Usual.MaxDepth;

    /// <summary>Whether objects that are no dictionaries may be rows of tables, where a text may be a list in
    /// JSON: shells have no other rows.</summary>
    internal bool TakesRows { get; init; } = true;

    /// <summary>Whether each object is one of several, which views show as rows of a table.</summary>
    internal bool MakesRows { get; init; }

    /// <summary>Asked from time to time whether nobody waits any longer for the object
    /// that is made.</summary>
    internal Func<bool>? IsGivenUp { get; init; }

    /// <summary>A message of a dictionary or object; null gives an empty message.</summary>
    /// <remarks>A message of the type itself is given back as it is, not copied.</remarks>
    /// <exception cref="RpcException">InvalidArgument with <see cref="RpcException.FieldPath"/>, the value,
    /// the type and what would do; error ids UnknownField, InvalidFieldValue, OneofConflict,
    /// MissingRequiredField, TooDeep.</exception>
    public DynamicMessage ToMessage(RpcMessageInfo type, object? value)
    {
        DynamicMessage message = new ObjectReader(this, type).ReadRoot(value);
        message.CheckRequired();
        return message;
    }

    /// <summary>An object of a message, made by <see cref="Objects"/>.</summary>
    /// <remarks>
    /// A message with a shape of its own is that value: a Timestamp a DateTimeOffset in UTC, a Duration a
    /// TimeSpan (both to 100 ns; out of range: an object of seconds and nanos), a wrapper its value, a
    /// Struct, Value or ListValue dictionaries, arrays and scalars (null alone is DBNull), a FieldMask text
    /// with commas. An Any whose type the schema lacks, or whose bytes are not of that type, has <c>@type</c>
    /// and the bytes as <c>value</c>.
    /// </remarks>
    public object ToObject(DynamicMessage message) =>
        new ObjectWriter(this, message.Type).WriteMessage(message, 0, MakesRows) ?? DBNull.Value;

    /// <summary>One row of a message, for tables: cells by the names of their columns, those of nested
    /// messages dotted (<c>location.site</c>). All messages of a type have the same columns.</summary>
    /// <remarks>A cell is text, a bool, an integer, or null where the field is absent; dates, durations,
    /// numbers with a fraction and bytes are text in the invariant culture. Lists, maps, Struct, ListValue,
    /// Any, and messages within messages of their own type are JSON in one cell.
    /// <see cref="ToMessage"/> takes such a row.</remarks>
    public IReadOnlyList<KeyValuePair<string, object?>> ToRecord(DynamicMessage message) =>
        new MessageRecord(new ObjectWriter(new MessageMapper { MaxDepth = MaxDepth }, message.Type))
            .Write(message);

    /// <summary>An example of a message as ordered dictionaries: every field there, one element in each
    /// repeated field, recursion cut where a type is already on the path.</summary>
    /// <remarks>Maps are empty, and of each oneof only the first member has a value,
    /// so that <see cref="ToMessage"/>
    /// takes the template as it is; the others are null.</remarks>
    public object Template(RpcMessageInfo type) => new MessageTemplate(MessageLayout.For(type)).Make();
}
