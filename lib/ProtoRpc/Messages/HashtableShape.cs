namespace ProtoRpc.Messages;

/// <summary>The possible keys of a hashtable at its place in a call, and their values.</summary>
internal abstract class HashtableShape
{
    /// <summary>The keys that can still be written, in declared order.</summary>
    /// <param name="given">The existing keys. If they contain a member of a oneof, the other members are left
    /// out.</param>
    public abstract IEnumerable<HashtableKey> Keys(IReadOnlyCollection<string> given);

    /// <summary>The shape of a hashtable that is the value of a key, or an element of it; null if the schema
    /// does not define it, or the value is not a hashtable.</summary>
    public abstract HashtableShape? Inside(string key);

    /// <summary>The values that the schema defines for a key: enums, bools and messages.</summary>
    public abstract IEnumerable<HashtableValue> Values(string key);

    /// <summary>The shape of a hashtable for a message.</summary>
    public static HashtableShape OfMessage(params IEnumerable<RpcMessageInfo> types) =>
        new MessageShape([.. types]);

    /// <summary>The keys of a hashtable with a value for each method, such as its reply.</summary>
    /// <param name="services">The services. With a single one, bare names of methods are suggested.</param>
    public static HashtableShape OfReplies(params IEnumerable<RpcServiceInfo> services) =>
        new ReplyShape([.. services]);

    /// <summary>The shape of a hashtable with some fields, such as extensions of a header.</summary>
    public static HashtableShape OfFields(IReadOnlyList<RpcFieldInfo> fields) => new FieldShape(fields);

    /// <summary>The shape of a hashtable with the allowed callers of methods.</summary>
    public static HashtableShape OfRules(params IEnumerable<RpcServiceInfo> services) =>
        new RuleShape([.. services]);

    private static HashtableShape? InsideField(RpcFieldInfo field) => field switch
    {
        { IsMap: true } => new MapShape(field.MessageType!.Fields[1]),
        { MessageType: { } type } => OfMessage(type),
        _ => null,
    };

    private static IEnumerable<HashtableValue> ValuesOfField(RpcFieldInfo field) => field switch
    {
        { IsMap: true } => [],
        { EnumType: { } type } => type.Values.Select(
            value => new HashtableValue(
                value.Key, $"{type.FullName} = {value.Value}", type.GetValueComment(value.Key))),
        { Kind: RpcFieldKind.Bool } => Bools("bool"),
        { MessageType: { } type } => WellKnownTypes.Get(type) switch
        {
            WellKnownType.None => [new HashtableValue(type, type.FullName, type.Comment)],
            WellKnownType.Wrapper when type.Fields[0].Kind == RpcFieldKind.Bool => Bools(type.FullName),
            _ => [],
        },
        _ => [],
    };

    private static HashtableValue[] Bools(string type) => [new(true, type, ""), new(false, type, "")];

    private sealed class MessageShape(IReadOnlyList<RpcMessageInfo> types) : HashtableShape
    {
        private const string TypeKey = "@type";

        private IEnumerable<RpcMessageInfo> Tables => types.Where(
            type => WellKnownTypes.Get(type) is WellKnownType.None);

        private IEnumerable<RpcMessageInfo> Anys => types.Where(
            type => WellKnownTypes.Get(type) is WellKnownType.Any);

        public override IEnumerable<HashtableKey> Keys(IReadOnlyCollection<string> given) => Tables
            .SelectMany(type => FieldsOf(type, given))
            .Select(field => new HashtableKey(
                field.Name,
                field.IsMap ? field.TypeName : $"{field.Label} {field.TypeName}".TrimStart(),
                field.Comment))
            .Concat(Anys.Where(_ => !given.Contains(TypeKey))
                .Select(type => new HashtableKey(TypeKey, type.FullName, type.Comment)))
            .DistinctBy(key => key.Name);

        public override HashtableShape? Inside(string key) =>
            Fields(key).Select(InsideField).FirstOrDefault();

        public override IEnumerable<HashtableValue> Values(string key) =>
            Fields(key).SelectMany(ValuesOfField)
            .Concat(Anys.Where(_ => key == TypeKey).SelectMany(type => type.Schema.Messages)
                .Select(message => new HashtableValue(message.FullName, "message", message.Comment)));

        private IEnumerable<RpcFieldInfo> Fields(string key) =>
            Tables.Select(type => type.FindField(key)).OfType<RpcFieldInfo>();

        private static IEnumerable<RpcFieldInfo> FieldsOf(
            RpcMessageInfo type, IReadOnlyCollection<string> given)
        {
            HashSet<RpcFieldInfo> known = [.. given.Select(type.FindField).OfType<RpcFieldInfo>()];
            HashSet<RpcOneofInfo> decided = [.. known.Select(field => field.Oneof).OfType<RpcOneofInfo>()];
            return type.Fields.Concat(type.Extensions).Where(field =>
                !known.Contains(field) && (field.Oneof is not { } oneof || !decided.Contains(oneof)));
        }
    }

    private sealed class MapShape(RpcFieldInfo value) : HashtableShape
    {
        // The keys of a map are arbitrary.
        public override IEnumerable<HashtableKey> Keys(IReadOnlyCollection<string> given) => [];

        public override HashtableShape? Inside(string key) => InsideField(value);

        public override IEnumerable<HashtableValue> Values(string key) => ValuesOfField(value);
    }

    private sealed class FieldShape(IReadOnlyList<RpcFieldInfo> fields) : HashtableShape
    {
        public override IEnumerable<HashtableKey> Keys(IReadOnlyCollection<string> given) => fields
            .Where(field => !given.Contains(field.Name))
            .Select(field => new HashtableKey(field.Name, field.TypeName, field.Comment));

        public override HashtableShape? Inside(string key) => Find(key).Select(InsideField).FirstOrDefault();

        public override IEnumerable<HashtableValue> Values(string key) => Find(key).SelectMany(ValuesOfField);

        private IEnumerable<RpcFieldInfo> Find(string key) => fields.Where(field => field.Name == key);
    }

    private sealed class RuleShape(IReadOnlyList<RpcServiceInfo> services) : HashtableShape
    {
        public override IEnumerable<HashtableKey> Keys(IReadOnlyCollection<string> given) => services
            .Select(service => new HashtableKey($"{service.FullName}/*", "all methods", service.Comment))
            .Concat(services.SelectMany(service => service.Methods)
                .Select(method => new HashtableKey(method.FullName, method.Signature, method.Comment)))
            .Where(key => !given.Contains(key.Name, StringComparer.OrdinalIgnoreCase));

        public override HashtableShape? Inside(string key) => null;

        public override IEnumerable<HashtableValue> Values(string key) =>
        [
            new("*", "everyone who is authenticated", ""),
            new("anonymous", "everyone", ""),
        ];
    }

    private sealed class ReplyShape(IReadOnlyList<RpcServiceInfo> services) : HashtableShape
    {
        public override IEnumerable<HashtableKey> Keys(IReadOnlyCollection<string> given) => services
            .SelectMany(service => service.Methods)
            .Where(method => !given.Any(name => Matches(method, name)))
            .Select(method => new HashtableKey(
                services.Count == 1 ? method.Name : method.FullName, method.Signature, method.Comment));

        public override HashtableShape? Inside(string key) =>
            Find(key).Select(method => OfMessage(method.ReplyType)).FirstOrDefault();

        public override IEnumerable<HashtableValue> Values(string key) => Find(key)
            .Select(method => method.ReplyType)
            .Select(type => new HashtableValue(type, type.FullName, type.Comment));

        private IEnumerable<RpcMethodInfo> Find(string name) =>
            services.SelectMany(service => service.Methods).Where(method => Matches(method, name));

        private static bool Matches(RpcMethodInfo method, string name) =>
            name.Equals(method.Name, StringComparison.OrdinalIgnoreCase)
            || name.Equals(method.FullName, StringComparison.OrdinalIgnoreCase);
    }
}

/// <summary>A key of a hashtable.</summary>
/// <param name="Name">The key.</param>
/// <param name="Type">The type of its value.</param>
/// <param name="Comment">The comment in the schema, or empty.</param>
internal sealed record HashtableKey(string Name, string Type, string Comment);

/// <summary>A value of a key.</summary>
/// <param name="Value">A text, a bool, or the message type of a hashtable.</param>
/// <param name="Type">The type of the value.</param>
/// <param name="Comment">The comment in the schema, or empty.</param>
internal sealed record HashtableValue(object Value, string Type, string Comment);
