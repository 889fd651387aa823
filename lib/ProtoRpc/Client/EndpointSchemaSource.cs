using ProtoRpc.Schema.Sources;

namespace ProtoRpc.Client;

/// <summary>Reads the schema that servers publish, such as gRPC servers with reflection.</summary>
/// <param name="optionsOf">Returns the options for connecting to a server.</param>
internal sealed class EndpointSchemaSource(Func<RpcEndpoint, RpcClientOptions> optionsOf) : SchemaSource
{
    // Accepts the scheme of a URI or the protocol sequence of a string binding: file names do not begin like
    // that.
    public override bool Takes(string location) =>
        location.Contains("://", StringComparison.Ordinal)
        || EndpointKinds.OfSequence(location.Split(':', 2) is [{ } sequence, _] ? sequence : "") is not null;

    public override async Task<IReadOnlyList<SchemaPart>> ReadAsync(
        IReadOnlyList<SourceFile> locations, SchemaRequest request, CancellationToken cancellation)
    {
        List<SchemaPart> parts = [];
        foreach (SourceFile location in locations)
        {
            RpcEndpoint endpoint = RpcEndpoint.Parse(location.Given);
            // The service and interface of a connection do not apply to the whole schema.
            RpcClientOptions options = optionsOf(endpoint) with { Service = null, InterfaceId = null };
            RpcClient client = await RpcClient.ConnectAsync(endpoint, options, cancellation)
                .ConfigureAwait(false);
            await using (client.ConfigureAwait(false))
            {
                RpcSchema schema = await client.FetchSchemaAsync(cancellationToken: cancellation)
                    .ConfigureAwait(false);
                parts.Add(SchemaPart.Of(schema, endpoint.ToString()));
            }
        }

        return parts;
    }
}
