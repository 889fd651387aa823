using ProtoRpc.Messages;
using ProtoRpc.Messages.Mapping;

namespace ProtoRpc;

/// <summary>Converts objects to messages, and messages to objects.</summary>
/// <remarks>
/// What a field accepts:
/// <list type="bullet">
/// <item>integers: any number type without fraction, .NET enums, and text of a whole number, if in
/// range;</item>
/// <item>float, double: any number type, text of a number, <c>NaN</c>, <c>Infinity</c>,
/// <c>-Infinity</c>;</item>
/// <item>bool: true, false, the same as text, 0 and 1;</item>
/// <item>string: text, characters, and types with one text in the invariant culture: numbers, .NET enums,
/// Guid, Uri, Version, IPAddress, dates and times (ISO 8601); not bool, because <c>True</c> and <c>true</c>
/// are both valid texts;</item>
/// <item>bytes: byte[], memory, ByteString, a stream from its position, text with the prefix
/// <c>utf8:</c> or <c>base64:</c> (either alphabet), a list of numbers from 0 to 255;</item>
/// <item>enums: a name in any case, a number, a .NET enum with the same name or number;</item>
/// <item>messages: a dictionary, an object, or a message with the same full name;</item>
/// <item>Timestamp: DateTime (without kind: local time), DateTimeOffset, DateOnly, RFC 3339 text, a date with
/// or without a time as text (<c>2024-02-29</c>, in UTC), or seconds and nanos; Duration: TimeSpan, text such
/// as <c>1.5s</c> or <c>00:00:01.5</c>, or seconds and nanos;</item>
/// <item>wrappers: the bare value; Struct, Value, ListValue: dictionaries, objects, lists, scalars; Any:
/// members with <c>@type</c>, or any message; FieldMask: paths in a list or in one text with commas.</item>
/// </list>
/// <c>null</c> leaves a field out; in a list, map or Struct it is the null value of a Value. Rows of tables
/// are also accepted. In a row, a dotted name fills a field of a nested message or an entry of a map. An
/// empty text leaves out a field that is not text. Lists, maps and messages may be JSON texts.
/// </remarks>
/// <example><code>
/// MessageMapper mapper = new() { AllowUnknownFields = true };
/// DynamicMessage reply = mapper.ToMessage(
///     schema.GetMessage("shop.PlaceReply"), new { id = "o1", total = 2, note = "ignored" });
/// </code></example>
/// <param name="objects">Reads and creates the host's objects; null for plain .NET objects.</param>
public sealed class MessageMapper(IObjectModel? objects = null)
{
    private static readonly RpcLimits Usual = RpcLimits.Default;

    /// <summary>Reads and creates the host's objects.</summary>
    public IObjectModel Objects { get; } = objects ?? PlainObjectModel.Instance;

    /// <summary>Whether to ignore keys that are not fields, instead of rejecting them. Well-known types, such
    /// as a Timestamp, always reject them.</summary>
    public bool AllowUnknownFields { get; init; }

    /// <summary>The maximum nesting. Deeper or cyclic objects are rejected.</summary>
    public int MaxDepth { get; init; } = Usual.MaxDepth;

    /// <summary>Whether objects other than dictionaries may be rows of tables, in which a text may be a JSON
    /// list. In shells, all rows are such objects.</summary>
    internal bool TakesRows { get; init; } = true;

    /// <summary>Polled during a conversion: whether to stop it, because its result is no longer
    /// needed.</summary>
    internal Func<bool>? IsGivenUp { get; init; }

    /// <summary>Converts a dictionary or object to a message; null gives an empty message.</summary>
    /// <remarks>A message of the same type is returned itself, not copied.</remarks>
    /// <exception cref="RpcException">InvalidArgument with <see cref="RpcException.FieldPath"/>, the value,
    /// the type and the accepted values. Error ids: UnknownField, InvalidFieldValue, OneofConflict,
    /// MissingRequiredField, TooDeep.</exception>
    public DynamicMessage ToMessage(RpcMessageInfo type, object? value)
    {
        DynamicMessage message = new ObjectReader(this, type).ReadRoot(value);
        message.CheckRequired();
        return message;
    }

    /// <summary>Converts a message to an object of <see cref="Objects"/>.</summary>
    /// <remarks>
    /// Well-known types become values: a Timestamp becomes a DateTimeOffset in UTC, a Duration a TimeSpan
    /// (out of range: an object with seconds and nanos), a wrapper its value, and a FieldMask a text with
    /// commas. .NET counts in 100 ns; <see cref="ToMessage"/> restores the nanoseconds of a boxed value that
    /// is passed on itself. Struct, Value and ListValue become dictionaries, arrays and scalars; a null
    /// outside of them is DBNull. An Any has <c>@type</c>, and its bytes as <c>value</c> if the schema lacks
    /// its type or the bytes are not of that type.
    /// </remarks>
    public object ToObject(DynamicMessage message) =>
        new ObjectWriter(this, message.Type).WriteMessage(message, 0) ?? DBNull.Value;

    /// <summary>Converts a message to an object with the full name of its type as the first member,
    /// <c>@type</c>. An Any is converted as by <see cref="ToObject"/>.</summary>
    internal object ToTypedObject(DynamicMessage message) => message.Layout.WellKnown == WellKnownType.Any
        ? ToObject(message)
        : new ObjectWriter(this, message.Type).WriteTyped(message, message.Type.FullName, 0);

    /// <summary>Converts a message to a row of a table: cells by the names of their columns. The columns of
    /// nested messages have dotted names (<c>location.site</c>). All messages of a type have the same
    /// columns.</summary>
    /// <remarks>A cell is text, a bool, an integer, or null if the field is absent. Dates, durations, numbers
    /// with a fraction and bytes are text in the invariant culture. Lists, maps, Struct, ListValue, Any, and
    /// messages nested in their own type are JSON in one cell. <see cref="ToMessage"/> accepts a
    /// row.</remarks>
    public IReadOnlyList<KeyValuePair<string, object?>> ToRecord(DynamicMessage message) =>
        new MessageRecord(new ObjectWriter(new MessageMapper { MaxDepth = MaxDepth }, message.Type))
            .Write(message);

    /// <summary>Creates an example of a message as ordered dictionaries, with every field, and one element in
    /// each repeated field. A type that is already on the path is not repeated.</summary>
    /// <remarks>Maps are empty. Only the first member of each oneof has a value, and the others are null, so
    /// that <see cref="ToMessage"/> accepts the template unchanged.</remarks>
    public object Template(RpcMessageInfo type) => new MessageTemplate(MessageLayout.For(type)).Make();

    /// <summary>Creates a message to fill in, with every field. As long as no field is set, <see
    /// cref="ToMessage"/> converts it to an empty message. Well-known types with a single value are <see
    /// cref="DBNull"/>.</summary>
    internal static object Blank(RpcMessageInfo type) =>
        new MessageTemplate(MessageLayout.For(type), isBlank: true).Make();
}
