using System.Globalization;
using System.Text;
using Microsoft.OpenApi;
using ProtoRpc.Formats;
using ProtoRpc.Messages;
using ProtoRpc.Protocols.Http;
using ProtoRpc.Protocols.Rest;
using HttpMethod = System.Net.Http.HttpMethod;

namespace ProtoRpc.AspNetCore.OpenApi;

/// <summary>The operations of HTTP rules (<c>google.api.http</c>) in a document.</summary>
/// <remarks>A parameter of OpenAPI is one segment of a path. A variable of several segments,
/// <c>{name=shelves/*/books/*}</c>, becomes a parameter for each <c>*</c>.</remarks>
/// <param name="document">The document.</param>
/// <param name="schemas">The schemas of messages.</param>
/// <param name="methods">Describes what all operations of a method have.</param>
internal sealed class RestOperations(
    OpenApiDocument document, MessageSchemas schemas, MethodOperations methods)
{
    // A request with more fields should be sent as a body. MaxSteps also limits messages that only contain
    // messages.
    private const int MaxParameters = 200;
    private const int MaxSteps = 2000;
    private const int MaxDepth = 5;

    // Paths that only differ in the names of their parameters are the same path in OpenAPI.
    private readonly Dictionary<string, (string Path, List<string> Names)> _paths = [];
    private readonly Dictionary<string, int> _bindings = [];

    /// <summary>Adds a binding. One for all methods of HTTP, or for a method that OpenAPI 3.1 does not have,
    /// is left out.</summary>
    public void Add(RestBinding binding)
    {
        if (MethodOf(binding.HttpMethod) is not { } http)
        {
            return;
        }

        List<IOpenApiParameter> parameters = [];
        string path = PathOf(binding, parameters);
        if (!document.Paths.TryGetValue(path, out IOpenApiPathItem? item))
        {
            document.Paths[path] = item = new OpenApiPathItem { Operations = [] };
        }

        if (!item.Operations!.ContainsKey(http))
        {
            item.Operations[http] = OperationOf(binding, parameters);
        }
    }

    private OpenApiOperation OperationOf(RestBinding binding, List<IOpenApiParameter> parameters)
    {
        RpcMethodInfo method = binding.Method;
        string name = $"{method.Service.FullName}.{method.Name}";
        int number = _bindings[name] = _bindings.GetValueOrDefault(name) + 1;
        string suffix = number == 1 ? "" : number.ToString(CultureInfo.InvariantCulture);
        OpenApiOperation operation = methods.Describe(method, $"{name}.rest{suffix}");
        if (!binding.IsBodyWhole)
        {
            AddQuery(binding, parameters);
        }

        operation.Parameters = parameters.Count == 0 ? null : parameters;
        if (binding.HasBody)
        {
            operation.RequestBody = new OpenApiRequestBody
            {
                Required = true,
                Content = binding.IsBodyRaw ? Raw() : Json(
                    binding.BodyField is { } part
                        ? schemas.GetWhole(part)
                        : schemas.Get(method.RequestType)),
            };
        }

        operation.Responses = methods.Responses(method, ContentOf(binding));
        return operation;
    }

    private Dictionary<string, IOpenApiMediaType> ContentOf(RestBinding binding)
    {
        if (binding.IsReplyRaw)
        {
            return Raw();
        }

        IOpenApiSchema Schema() => binding.ReplyField is { } part
            ? schemas.GetWhole(part)
            : schemas.Get(binding.Method.ReplyType);
        return binding.Method.IsServerStreaming
            ? new()
            {
                [HttpStreamFormat.Lines.MediaTypes[0]] = new OpenApiMediaType { Schema = Schema() },
                [HttpStreamFormat.Events.MediaTypes[0]] = new OpenApiMediaType { Schema = Schema() },
            }
            : Json(Schema());
    }

    private static Dictionary<string, IOpenApiMediaType> Json(IOpenApiSchema schema) =>
        new() { [MethodOperations.Json] = new OpenApiMediaType { Schema = schema } };

    private static Dictionary<string, IOpenApiMediaType> Raw() => new()
    {
        ["*/*"] = new OpenApiMediaType { Schema = MethodOperations.Bytes() },
    };

    private string PathOf(RestBinding binding, List<IOpenApiParameter> parameters)
    {
        RestTemplate template = binding.Template;
        StringBuilder shape = new();
        List<(string Name, IOpenApiSchema Schema, string? Description)> values = [];
        for (int i = 0; i < template.Segments.Count; i++)
        {
            RestSegment segment = template.Segments[i];
            shape.Append('/');
            if (segment.Kind == RestSegmentKind.Literal)
            {
                RestText.Encode(shape, segment.Literal);
                continue;
            }

            shape.Append("{}");
            values.Add(ValueAt(binding, i));
        }

        shape.Append(shape.Length == 0 ? "/" : "");
        if (template.Verb is not null)
        {
            shape.Append(':');
            RestText.Encode(shape, template.Verb);
        }

        (string path, List<string> names) = Named(shape.ToString(), values.ConvertAll(value => value.Name));
        parameters.AddRange(values.Select((value, index) => new OpenApiParameter
        {
            Name = names[index],
            In = ParameterLocation.Path,
            Required = true,
            Description = value.Description,
            Schema = value.Schema,
        }));
        return path;
    }

    private (string Name, IOpenApiSchema Schema, string? Description) ValueAt(RestBinding binding, int place)
    {
        RestTemplate template = binding.Template;
        int index = Array.FindIndex(
            [.. template.Variables], variable => place >= variable.Start && place < variable.End);
        if (index < 0)
        {
            return ($"segment{place}", new OpenApiSchema { Type = JsonSchemaType.String }, null);
        }

        RestVariable variable = template.Variables[index];
        RpcFieldInfo field = binding.Fields[index][^1];
        string? comment = RpcOpenApi.TextOf(field.Comment);
        if (!variable.IsMulti)
        {
            return (variable.Name, schemas.GetParameter(field), comment);
        }

        bool isDeep = template.Segments[place].Kind == RestSegmentKind.Deep;
        string what = isDeep ? $"Any number of segments of {variable.Name}." : $"A part of {variable.Name}.";
        string name = isDeep || place == 0
            || template.Segments[place - 1] is not { Kind: RestSegmentKind.Literal } before
                ? variable.Name
                : $"{before.Literal}Id";
        return (
            name, new OpenApiSchema { Type = JsonSchemaType.String },
            comment is null ? what : $"{what} {comment}");
    }

    // All bindings of a path use the parameter names of the first one.
    private (string Path, List<string> Names) Named(string shape, List<string> wanted)
    {
        if (_paths.TryGetValue(shape, out (string Path, List<string> Names) known))
        {
            return known;
        }

        List<string> names = [];
        StringBuilder path = new();
        foreach (string part in shape.Split("{}"))
        {
            path.Append(part);
            if (names.Count < wanted.Count)
            {
                string name = wanted[names.Count];
                for (int n = 2; names.Contains(name); n++)
                {
                    name = $"{wanted[names.Count]}{n}";
                }

                names.Add(name);
                path.Append('{').Append(name).Append('}');
            }
        }

        return _paths[shape] = (path.ToString(), names);
    }

    // The fields of the request that are neither in the path nor in the body.
    private void AddQuery(RestBinding binding, List<IOpenApiParameter> parameters)
    {
        HashSet<RpcMessageInfo> around = [];
        int left = MaxParameters;
        int steps = MaxSteps;
        Add(binding.Method.RequestType, "", "");

        void Add(RpcMessageInfo type, string path, string name)
        {
            if (steps-- <= 0 || around.Count >= MaxDepth || !around.Add(type))
            {
                return;
            }

            foreach (RpcFieldInfo field in type.Fields.Where(
                field => !field.IsMap && field != binding.BodyField))
            {
                if (binding.Template.HasVariable(path + field.Name))
                {
                    continue;
                }

                if (field.MessageType is not { } message || WellKnownText.IsOne(WellKnownTypes.Get(message)))
                {
                    if (left-- > 0)
                    {
                        parameters.Add(QueryOf(field, name + field.JsonKey));
                    }
                }
                else if (!field.IsRepeated && WellKnownTypes.Get(message) == WellKnownType.None)
                {
                    Add(message, $"{path}{field.Name}.", $"{name}{field.JsonKey}.");
                }
            }

            around.Remove(type);
        }
    }

    private OpenApiParameter QueryOf(RpcFieldInfo field, string name) => new()
    {
        Name = name,
        In = ParameterLocation.Query,
        Description = RpcOpenApi.TextOf(field.Comment),
        Deprecated = MessageSchemas.IsDeprecated(field.Options),
        Schema = schemas.GetParameter(field),
    };

    private static HttpMethod? MethodOf(string name) => name switch
    {
        "GET" => HttpMethod.Get,
        "PUT" => HttpMethod.Put,
        "POST" => HttpMethod.Post,
        "DELETE" => HttpMethod.Delete,
        "PATCH" => HttpMethod.Patch,
        "HEAD" => HttpMethod.Head,
        "OPTIONS" => HttpMethod.Options,
        "TRACE" => HttpMethod.Trace,
        _ => null,
    };
}
