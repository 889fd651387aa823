using System.Text.Json.Nodes;
using Microsoft.OpenApi;
using ProtoRpc.Messages;

namespace ProtoRpc.AspNetCore.OpenApi;

/// <summary>The schemas of messages and enums in the forms of ProtoJSON, as components of a
/// document.</summary>
/// <param name="document">The document.</param>
internal sealed class MessageSchemas(OpenApiDocument document)
{
    // The names of components, by type. OpenAPI restricts their characters.
    private readonly Dictionary<object, string> _names = [];
    private readonly HashSet<string> _taken = [];
    private readonly Queue<(string Name, RpcMessageInfo Type)> _pending = [];

    /// <summary>A reference to the schema of a message, or the schema itself if it is short.</summary>
    public IOpenApiSchema Get(RpcMessageInfo type) =>
        WellKnown(type) ?? new OpenApiSchemaReference(NameOf(type), document);

    /// <summary>The schema of a field's value, or of one element of a repeated field.</summary>
    public IOpenApiSchema Get(RpcFieldInfo field) => field switch
    {
        { EnumType: { } type } => Get(type),
        { MessageType: { } type } => Get(type),
        _ => Scalar(field.Kind),
    };

    /// <summary>The schema of a field with all its elements.</summary>
    public IOpenApiSchema GetWhole(RpcFieldInfo field) => field switch
    {
        { IsMap: true } => new OpenApiSchema
        {
            Type = JsonSchemaType.Object,
            AdditionalProperties = Get(field.MessageType!.FindField(2)!),
        },
        { IsRepeated: true } => new OpenApiSchema { Type = JsonSchemaType.Array, Items = Get(field) },
        _ => Get(field),
    };

    /// <summary>The schema of a field in a path or a query, which cannot hold null.</summary>
    public IOpenApiSchema GetParameter(RpcFieldInfo field) =>
        field is { IsRepeated: false, MessageType: { } type }
        && WellKnownTypes.Get(type) == WellKnownType.Wrapper
            ? Scalar(type.Fields[0].Kind)
            : GetWhole(field);

    /// <summary>Writes the messages that others refer to. A queue, since messages may nest in a circle, and
    /// as deep as a schema is long.</summary>
    public void Complete()
    {
        while (_pending.TryDequeue(out (string Name, RpcMessageInfo Type) next))
        {
            document.AddComponent(next.Name, SchemaOf(next.Type));
        }
    }

    private OpenApiSchema SchemaOf(RpcMessageInfo type)
    {
        OpenApiSchema schema = new()
        {
            Type = JsonSchemaType.Object,
            Description = DescriptionOf(type),
            Deprecated = IsDeprecated(type.Options),
            Properties = new Dictionary<string, IOpenApiSchema>(),
        };
        foreach (RpcFieldInfo field in type.Fields.Concat(type.Extensions))
        {
            string name = field.IsExtension ? $"[{field.FullName}]" : field.JsonKey;
            schema.Properties[name] = Described(GetWhole(field), field);
            if (field.IsRequired)
            {
                (schema.Required ??= new HashSet<string>()).Add(name);
            }
        }

        return schema;
    }

    // Properties next to a reference only apply to this field.
    private static IOpenApiSchema Described(IOpenApiSchema schema, RpcFieldInfo field)
    {
        string? comment = RpcOpenApi.TextOf(field.Comment);
        bool isDeprecated = IsDeprecated(field.Options);
        switch (schema)
        {
            case OpenApiSchemaReference reference:
                if (comment is not null)
                {
                    reference.Description = comment;
                }

                reference.Deprecated = isDeprecated;
                break;
            case OpenApiSchema own:
                own.Description = comment ?? own.Description;
                own.Deprecated = isDeprecated;
                break;
        }

        return schema;
    }

    private static string? DescriptionOf(RpcMessageInfo type)
    {
        IEnumerable<string> choices = type.Oneofs.Where(choice => choice.Fields.Count > 1).Select(
            choice => "At most one of these is set: "
                + $"{string.Join(", ", choice.Fields.Select(field => field.JsonKey))}.");
        return RpcOpenApi.TextOf(
            string.Join("\n\n", choices.Prepend(type.Comment).Where(text => text.Length > 0)));
    }

    private IOpenApiSchema Get(RpcEnumInfo type)
    {
        if (type.FullName == "google.protobuf.NullValue")
        {
            return new OpenApiSchema { Type = JsonSchemaType.Null };
        }

        if (!_names.TryGetValue(type, out string? name))
        {
            name = AddName(type, type.FullName);
            document.AddComponent(name, new OpenApiSchema
            {
                Type = JsonSchemaType.String,
                Description = RpcOpenApi.TextOf(type.Comment),
                Deprecated = IsDeprecated(type.Options),
                Enum = [.. type.Values.Select(value => (JsonNode)JsonValue.Create(value.Key)!)],
            });
        }

        return new OpenApiSchemaReference(name, document);
    }

    private string NameOf(RpcMessageInfo type)
    {
        if (!_names.TryGetValue(type, out string? name))
        {
            name = AddName(type, type.FullName);
            _pending.Enqueue((name, type));
        }

        return name;
    }

    // Services of two schemas may have different types with the same name.
    private string AddName(object type, string fullName)
    {
        string name = fullName;
        for (int n = 2; !_taken.Add(name); n++)
        {
            name = $"{fullName}.{n}";
        }

        _names[type] = name;
        return name;
    }

    private static IOpenApiSchema? WellKnown(RpcMessageInfo type) => WellKnownTypes.Get(type) switch
    {
        WellKnownType.Timestamp => new OpenApiSchema { Type = JsonSchemaType.String, Format = "date-time" },
        WellKnownType.Duration => new OpenApiSchema
        {
            Type = JsonSchemaType.String,
            Pattern = @"^-?[0-9]+(\.[0-9]{1,9})?s$",
            Description = "Seconds, such as 1.5s.",
        },
        WellKnownType.FieldMask => new OpenApiSchema
        {
            Type = JsonSchemaType.String,
            Description = "Paths of fields, separated by commas.",
        },
        WellKnownType.Struct => new OpenApiSchema
        {
            Type = JsonSchemaType.Object,
            AdditionalProperties = new OpenApiSchema(),
        },
        WellKnownType.Value => new OpenApiSchema(),
        WellKnownType.ListValue => new OpenApiSchema
        {
            Type = JsonSchemaType.Array,
            Items = new OpenApiSchema(),
        },
        WellKnownType.Any => new OpenApiSchema
        {
            Type = JsonSchemaType.Object,
            Description = "A message of any type, which @type names.",
            Properties = new Dictionary<string, IOpenApiSchema>
            {
                ["@type"] = new OpenApiSchema { Type = JsonSchemaType.String },
            },
            AdditionalProperties = new OpenApiSchema(),
        },
        WellKnownType.Wrapper => Nullable(Scalar(type.Fields[0].Kind)),
        _ => null,
    };

    private static OpenApiSchema Nullable(OpenApiSchema schema)
    {
        schema.Type |= JsonSchemaType.Null;
        return schema;
    }

    // ProtoJSON writes 64-bit numbers as strings.
    private static OpenApiSchema Scalar(RpcFieldKind kind) => kind switch
    {
        RpcFieldKind.Bool => new() { Type = JsonSchemaType.Boolean },
        RpcFieldKind.Double => new() { Type = JsonSchemaType.Number, Format = "double" },
        RpcFieldKind.Float => new() { Type = JsonSchemaType.Number, Format = "float" },
        RpcFieldKind.Int32 or RpcFieldKind.SInt32 or RpcFieldKind.SFixed32 =>
            new() { Type = JsonSchemaType.Integer, Format = "int32" },
        RpcFieldKind.UInt32 or RpcFieldKind.Fixed32 => new()
        {
            Type = JsonSchemaType.Integer,
            Format = "uint32",
            Minimum = "0",
        },
        RpcFieldKind.Int64 or RpcFieldKind.SInt64 or RpcFieldKind.SFixed64 =>
            new() { Type = JsonSchemaType.String, Format = "int64" },
        RpcFieldKind.UInt64 or RpcFieldKind.Fixed64 =>
            new() { Type = JsonSchemaType.String, Format = "uint64" },
        RpcFieldKind.Bytes => new()
        {
            Type = JsonSchemaType.String,
            Format = "byte",
            ContentEncoding = "base64",
        },
        _ => new() { Type = JsonSchemaType.String },
    };

    /// <summary>Whether options say <c>deprecated = true</c>.</summary>
    public static bool IsDeprecated(IReadOnlyDictionary<string, object?> options) =>
        options.GetValueOrDefault("deprecated") is true;
}
