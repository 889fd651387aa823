using ProtoRpc.Schema.Sources;

namespace ProtoRpc.Client.Http;

/// <summary>Reads .proto files and descriptor sets from HTTP servers.</summary>
/// <param name="optionsOf">Returns the options for connecting to a server.</param>
internal sealed class HttpSchemaSource(Func<RpcEndpoint, RpcClientOptions> optionsOf) : SchemaSource
{
    public override bool Takes(string location) => AddressOf(location) is not null;

    public override async Task<IReadOnlyList<SchemaPart>> ReadAsync(
        IReadOnlyList<SourceFile> locations, SchemaRequest request, CancellationToken cancellation)
    {
        List<SchemaPart> parts = [];
        foreach (SourceFile location in locations)
        {
            Uri address = AddressOf(location.Given)!;
            RpcEndpoint endpoint = RpcHttpSchema.EndpointOf(address);
            RpcClientOptions options = optionsOf(endpoint);
            ClientOptionsCheck.Check(endpoint, options);
            parts.AddRange(await RpcHttpSchema.FetchAsync(
                address, ClientAuthorization.Apply(endpoint, options), cancellation).ConfigureAwait(false));
        }

        return parts;
    }

    private static Uri? AddressOf(string location) =>
        Uri.TryCreate(location, UriKind.Absolute, out Uri? address) && address.Scheme is "http" or "https"
            ? address
            : null;
}
