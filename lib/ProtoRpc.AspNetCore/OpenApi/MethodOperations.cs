using Microsoft.OpenApi;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Http;

namespace ProtoRpc.AspNetCore.OpenApi;

/// <summary>The operations of methods in a document: POST at <c>/package.Service/Method</c>.</summary>
/// <param name="document">The document.</param>
/// <param name="schemas">The schemas of messages.</param>
internal sealed class MethodOperations(OpenApiDocument document, MessageSchemas schemas)
{
    /// <summary>The media type of messages.</summary>
    public const string Json = "application/json";

    private const string FailureName = "failure";

    private static readonly RpcMessageInfo FailureType =
        RpcSchema.FromDescriptors(HttpErrorReflection.Descriptor).GetMessage(ErrorResult.Descriptor.FullName);

    private bool _hasFailure;

    /// <summary>Adds a method.</summary>
    public void Add(RpcMethodInfo method)
    {
        OpenApiOperation operation = Describe(method, $"{method.Service.FullName}.{method.Name}");
        operation.RequestBody = new OpenApiRequestBody
        {
            Required = true,
            Content = Unary(method.RequestType),
        };
        operation.Responses = Responses(
            method, method.IsServerStreaming ? Streamed(method.ReplyType) : Unary(method.ReplyType));
        document.Paths[$"/{method.FullName}"] = new OpenApiPathItem
        {
            Operations = new() { [System.Net.Http.HttpMethod.Post] = operation },
        };
    }

    /// <summary>The common description of all operations of a method.</summary>
    /// <param name="method">The method.</param>
    /// <param name="id">The name of the operation, unique in the document.</param>
    public OpenApiOperation Describe(RpcMethodInfo method, string id) => new()
    {
        OperationId = id,
        Tags = new HashSet<OpenApiTagReference> { new(method.Service.FullName, document) },
        Description = RpcOpenApi.TextOf(method.Comment),
        Deprecated = MessageSchemas.IsDeprecated(method.Options),
    };

    /// <summary>The responses of an operation: its replies, and failures.</summary>
    public OpenApiResponses Responses(RpcMethodInfo method, Dictionary<string, IOpenApiMediaType> content)
    {
        if (!_hasFailure)
        {
            _hasFailure = true;
            document.AddComponent(FailureName, new OpenApiResponse
            {
                Description = "The call failed.",
                Content = new Dictionary<string, IOpenApiMediaType>
                {
                    [Json] = new OpenApiMediaType { Schema = schemas.Get(FailureType) },
                },
            });
        }

        return new()
        {
            ["200"] = new OpenApiResponse
            {
                Description = method.IsServerStreaming ? "The replies." : "The reply.",
                Content = content,
            },
            ["default"] = new OpenApiResponseReference(FailureName, document),
        };
    }

    private Dictionary<string, IOpenApiMediaType> Unary(RpcMessageInfo type) => new()
    {
        [Json] = new OpenApiMediaType { Schema = schemas.Get(type) },
        [MessageFormats.Binary.MediaType] = new OpenApiMediaType { Schema = Bytes() },
    };

    // OpenAPI 3.1 cannot describe the items of a stream, so the schema is that of one line.
    private Dictionary<string, IOpenApiMediaType> Streamed(RpcMessageInfo type) => new()
    {
        [HttpStreamFormat.Lines.MediaTypes[0]] = new OpenApiMediaType { Schema = schemas.Get(type) },
        [HttpStreamFormat.Delimited.MediaTypes[0]] = new OpenApiMediaType { Schema = Bytes() },
    };

    /// <summary>A body of raw bytes.</summary>
    public static OpenApiSchema Bytes() => new() { Type = JsonSchemaType.String, Format = "binary" };
}
