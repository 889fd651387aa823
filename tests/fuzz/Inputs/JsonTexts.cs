namespace ProtoRpc.Fuzz.Inputs;

/// <summary>Makes JSON of messages, some values of which are odd: of another type, another spelling, or only
/// just not allowed.</summary>
internal sealed class JsonTexts(Random random)
{
    private const int MaxDepth = 6;
    private const int Oddity = 40;

    private static readonly string[] Names =
    [
        "\"a\"", "\"b\"", "\"é漢\"", "\"😀\"", "\"\"", "\"\\u0041\"", "\"\\n\"", "\"@type\"",
        "\"value\"",
    ];

    /// <summary>The JSON of a message.</summary>
    public string Make(RpcMessageInfo type, int depth = 0)
    {
        if (Special(type.FullName) is { } values)
        {
            return OneIn(Oddity) ? Pick(JsonOddities.Any) : OneIn(3) ? Pick(values) : values[1];
        }

        return type.FullName switch
        {
            "google.protobuf.Struct" => Object(Names, _ => Value(depth + 1)),
            "google.protobuf.ListValue" => Array(() => Value(depth + 1)),
            "google.protobuf.Value" => Value(depth + 1),
            "google.protobuf.Any" => AnyOf(type, depth + 1),
            _ when type.FullName.StartsWith("google.protobuf.", StringComparison.Ordinal)
                && type.Name.EndsWith("Value", StringComparison.Ordinal) => Scalar(type.Fields[0]),
            _ => $"{{{Members(type, depth)}}}",
        };
    }

    private static string[]? Special(string type) => type switch
    {
        "google.protobuf.Timestamp" => JsonOddities.Timestamps,
        "google.protobuf.Duration" => JsonOddities.Durations,
        "google.protobuf.FieldMask" => JsonOddities.FieldMasks,
        _ => null,
    };

    private string Members(RpcMessageInfo type, int depth)
    {
        IReadOnlyList<RpcFieldInfo> fields = type.Fields;
        List<string> members = [];
        foreach (RpcFieldInfo field in fields.Where(field => field.IsRequired))
        {
            members.Add(Member(field, depth));
        }

        for (int i = random.Next(depth == 0 ? 6 : 4); i > 0 && fields.Count > 0 && depth < MaxDepth; i--)
        {
            members.Add(Member(fields[random.Next(fields.Count)], depth));
        }

        if (OneIn(3 * Oddity))
        {
            members.Insert(random.Next(members.Count + 1), Pick(JsonOddities.Members));
        }

        return string.Join(',', members);
    }

    private string Member(RpcFieldInfo field, int depth)
    {
        string name = OneIn(4) ? field.Name : field.JsonKey;
        if (OneIn(3 * Oddity))
        {
            // Some character as an escape.
            int at = random.Next(name.Length);
            name = $"{name[..at]}\\u{(int)name[at]:x4}{name[(at + 1)..]}";
        }

        string value = OneIn(Oddity) ? Pick(JsonOddities.Any)
            : field.IsMap ? Map(field, depth)
            : field.IsRepeated ? Array(() => One(field, depth))
            : One(field, depth);
        return $"\"{name}\":{value}";
    }

    private string Map(RpcFieldInfo field, int depth)
    {
        RpcFieldInfo key = field.MessageType!.Fields[0];
        RpcFieldInfo value = field.MessageType.Fields[1];
        string[] keys = key.Kind switch
        {
            RpcFieldKind.String => Names,
            RpcFieldKind.Bool => OneIn(4) ? ["\"True\"", "\"1\"", "\"\""] : ["\"true\"", "\"false\""],
            _ => OneIn(4) ? [.. JsonOddities.Numbers.Select(n => n[0] == '"' ? n : $"\"{n}\"")]
                : ["\"1\"", "\"2\"", "\"3\"", "\"4\"", "\"5\""],
        };
        return Object(keys, _ => One(value, depth + 1));
    }

    private string One(RpcFieldInfo field, int depth) =>
        OneIn(4 * Oddity) ? Pick(JsonOddities.Any)
        : field.MessageType is { } type ? depth < MaxDepth ? Make(type, depth + 1) : "null"
        : Scalar(field);

    private string Scalar(RpcFieldInfo field) => OneIn(2 * Oddity)
        ? Pick(JsonOddities.Any) : field.Kind switch
        {
            RpcFieldKind.Bool => OneIn(8) ? Pick(["\"true\"", "1", "null"]) : Pick(["true", "false"]),
            RpcFieldKind.String => Text(),
            RpcFieldKind.Bytes => OneIn(3) ? Pick(JsonOddities.Base64) : "\"YQ==\"",
            RpcFieldKind.Enum => Enum(field.EnumType!),
            _ => OneIn(4) ? Pick(JsonOddities.Numbers) : OneIn(2) ? $"{random.Next(200)}"
                : $"\"{random.Next(-100, 100)}\"",
        };

    private string Enum(RpcEnumInfo type)
    {
        (string name, int number) = type.Values[random.Next(type.Values.Count)];
        return random.Next(16) switch
        {
            0 => $"\"{name.ToLowerInvariant()}\"",
            1 => $"\"{number}\"",
            2 => Pick(JsonOddities.Numbers),
            3 or 4 => $"{number}",
            _ => $"\"{name}\"",
        };
    }

    private string Value(int depth) => depth >= MaxDepth ? "null" : random.Next(6) switch
    {
        0 => Pick(JsonOddities.Numbers),
        1 => Text(),
        2 => Pick(["true", "false", "null"]),
        3 => Object(Names, _ => Value(depth + 1)),
        4 => Array(() => Value(depth + 1)),
        _ => $"{random.NextDouble() * 1e6:R}",
    };

    private string AnyOf(RpcMessageInfo any, int depth)
    {
        if (OneIn(Oddity) || depth >= MaxDepth)
        {
            return Pick(JsonOddities.Anys);
        }

        string name = OneIn(2) ? Pick(JsonOddities.AnyTypes)
            : GeneratedTypes.All[random.Next(GeneratedTypes.All.Count)].Type.FullName;
        string type = $"\"@type\":\"{Pick(["type.googleapis.com/", "a/b/", "x/"])}{name}\"";
        RpcMessageInfo? inner = any.Schema.FindMessage(name);
        bool isBare = inner is null || (Special(name) is null
            && !name.StartsWith("google.protobuf.", StringComparison.Ordinal));
        string body = inner is null ? ""
            : isBare ? Members(inner, depth)
            : $"\"value\":{Make(inner, depth + 1)}";
        string[] parts = body.Length == 0 ? [type] : OneIn(3) ? [body, type] : [type, body];
        return $"{{{string.Join(',', parts)}}}";
    }

    private string Text() => OneIn(4) ? Pick(JsonOddities.Texts) : Pick(Names);

    private string Object(string[] names, Func<string, string> value) =>
        $"{{{string.Join(',', Some(() => Pick(names)).Select(name => $"{name}:{value(name)}"))}}}";

    private string Array(Func<string> item) => $"[{string.Join(',', Some(item))}]";

    private string[] Some(Func<string> make) => [.. Enumerable.Range(0, random.Next(4)).Select(_ => make())];

    private string Pick(string[] values) => values[random.Next(values.Length)];

    private bool OneIn(int count) => random.Next(count) == 0;
}
