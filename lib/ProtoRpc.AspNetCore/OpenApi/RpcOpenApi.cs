using System.Globalization;
using Microsoft.OpenApi;
using ProtoRpc.AspNetCore.OpenApi;
using ProtoRpc.Protocols.Rest;

namespace ProtoRpc;

/// <summary>Writes the HTTP interface of services as a document of OpenAPI 3.1.</summary>
/// <example><code>
/// string document = RpcOpenApi.Write(
///     schema.Services,
///     new RpcOpenApiOptions { Title = "Orders", ServerUrl = "https://shop.example" });
/// </code></example>
public static class RpcOpenApi
{
    /// <summary>Writes a document.</summary>
    /// <param name="services">The services. Methods that take a stream of requests are left out, because HTTP
    /// endpoints do not serve them.</param>
    /// <param name="options">The description of the server; null for the defaults.</param>
    /// <returns>The document as JSON. Its size is linear in the size of the services' schema.</returns>
    public static string Write(IEnumerable<RpcServiceInfo> services, RpcOpenApiOptions? options = null)
    {
        ArgumentNullException.ThrowIfNull(services);
        OpenApiDocument document = Create([.. services], options ?? new());
        using StringWriter text = new(CultureInfo.InvariantCulture) { NewLine = "\n" };
        document.SerializeAsV31(new OpenApiJsonWriter(text));
        return text.ToString();
    }

    /// <summary>Whether a file is named like a document of OpenAPI: <c>NAME.openapi.json</c>.</summary>
    internal static bool IsFileName(string path) =>
        path.EndsWith(".openapi.json", StringComparison.OrdinalIgnoreCase);

    private static OpenApiDocument Create(RpcServiceInfo[] services, RpcOpenApiOptions options)
    {
        OpenApiDocument document = new()
        {
            Info = new()
            {
                Title = options.Title ?? (services.Length == 0
                    ? "No services"
                    : string.Join(", ", services.Select(service => service.FullName))),
                Version = options.Version,
            },
            Servers = options.ServerUrl is { } url ? [new() { Url = url }] : [],
            Paths = [],
            Components = new(),
            Tags = new HashSet<OpenApiTag>(),
        };
        AddSecurity(document, options);
        MessageSchemas schemas = new(document);
        MethodOperations operations = new(document, schemas);
        foreach (RpcServiceInfo service in services)
        {
            document.Tags.Add(new() { Name = service.FullName, Description = TextOf(service.Comment) });
            foreach (RpcMethodInfo method in service.Methods.Where(method => !method.IsClientStreaming))
            {
                operations.Add(method);
            }
        }

        RestOperations rest = new(document, schemas, operations);
        foreach (RestBinding binding in RestRoutes.Create(
            services.SelectMany(service => service.Methods), new List<string>()).Bindings)
        {
            rest.Add(binding);
        }

        schemas.Complete();
        return document;
    }

    /// <summary>A comment as a description; null for none.</summary>
    internal static string? TextOf(string comment) => comment.Length == 0 ? null : comment;

    // One requirement for each way to authenticate, because one of them is sufficient.
    private static void AddSecurity(OpenApiDocument document, RpcOpenApiOptions options)
    {
        if (options.HttpSchemes.Count == 0 && !options.AcceptsCertificates)
        {
            return;
        }

        document.Security = [];
        foreach (string scheme in options.HttpSchemes)
        {
            Add(scheme.ToLowerInvariant(), new() { Type = SecuritySchemeType.Http, Scheme = scheme });
        }

        if (options.AcceptsCertificates)
        {
            Add("certificate", new() { Type = SecuritySchemeType.MutualTLS });
        }

        if (options.AllowsAnonymous)
        {
            document.Security.Add([]);
        }

        void Add(string name, OpenApiSecurityScheme scheme)
        {
            document.AddComponent(name, scheme);
            document.Security.Add(new() { [new OpenApiSecuritySchemeReference(name, document)] = [] });
        }
    }
}

/// <summary>The description of the server in an OpenAPI document.</summary>
public sealed record RpcOpenApiOptions
{
    /// <summary>The title; null for the names of the services.</summary>
    public string? Title { get; init; }

    /// <summary>The version of the interface.</summary>
    public string Version { get; init; } = "1.0.0";

    /// <summary>The address of the server, which may be relative to that of the document; null to leave it
    /// out, which means <c>/</c>.</summary>
    public string? ServerUrl { get; init; }

    /// <summary>The schemes of the Authorization header that the server accepts, such as
    /// <c>bearer</c>.</summary>
    public IReadOnlyList<string> HttpSchemes { get; init; } = [];

    /// <summary>Whether the server accepts client certificates.</summary>
    public bool AcceptsCertificates { get; init; }

    /// <summary>Whether the server also serves callers that do not authenticate.</summary>
    public bool AllowsAnonymous { get; init; }
}
