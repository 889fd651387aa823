using System.Text;
using ProtoRpc.Server;

namespace ProtoRpc.AspNetCore.OpenApi;

/// <summary>The document of OpenAPI that an HTTP endpoint serves at <c>/openapi.json</c>.</summary>
/// <param name="services">The services of the endpoint.</param>
/// <param name="options">The description of the server, except its address.</param>
internal sealed class OpenApiFile(IReadOnlyList<ServerService> services, RpcOpenApiOptions options)
{
    /// <summary>The path of the document, below that of the endpoint.</summary>
    public const string Name = "openapi.json";

    private Text? _last;

    /// <summary>The document in UTF-8 for a client whose paths begin with a base. The last document is
    /// cached, because the base rarely differs between requests.</summary>
    public byte[] BytesAt(string basePath)
    {
        Text? text = _last;
        if (text?.BasePath != basePath)
        {
            string address = basePath.TrimEnd('/');
            string document = RpcOpenApi.Write(
                services.Select(service => service.Info),
                options with { ServerUrl = address.Length == 0 ? "/" : address });
            _last = text = new Text(basePath, Encoding.UTF8.GetBytes(document));
        }

        return text.Bytes;
    }

    private sealed record Text(string BasePath, byte[] Bytes);
}
