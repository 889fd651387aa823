namespace ProtoRpc.Schema.Options;

/// <summary>Gathers the values of an options message while it is read.</summary>
internal sealed class OptionFieldValues
{
    private readonly List<RpcFieldInfo> _order = [];
    private readonly Dictionary<RpcFieldInfo, List<object>> _values = [];
    private readonly List<KeyValuePair<int, object>> _unknown = [];

    public IReadOnlyList<KeyValuePair<int, object>> Unknown => _unknown;

    public void AddUnknown(int number, object value) => _unknown.Add(KeyValuePair.Create(number, value));

    /// <summary>Adds a value; a message comes as its bytes.</summary>
    public void Add(RpcFieldInfo field, object value)
    {
        if (!_values.TryGetValue(field, out List<object>? values))
        {
            _values.Add(field, values = []);
            _order.Add(field);
        }

        // The parts of a message are put together at the end, because a hostile schema has many.
        if (field.IsRepeated || values.Count == 0 || field.MessageType is not null)
        {
            values.Add(value);
        }
        else
        {
            values[0] = value;
        }
    }

    /// <summary>The fields with their values, messages decoded.</summary>
    public IReadOnlyList<OptionField> Finish(Func<RpcMessageInfo, byte[], OptionMessage> decode) =>
    [
        .. _order.Select(field => new OptionField(
            field,
            field.MessageType is { } type
                ? [.. MessagesOf(field).Select(message => decode(type, message))]
                : _values[field])),
    ];

    // protoc writes (foo).a and (foo).b as two messages, which are one when put together.
    private IEnumerable<byte[]> MessagesOf(RpcFieldInfo field)
    {
        IEnumerable<byte[]> messages = _values[field].Cast<byte[]>();
        return field.IsRepeated ? messages : [[.. messages.SelectMany(part => part)]];
    }
}
