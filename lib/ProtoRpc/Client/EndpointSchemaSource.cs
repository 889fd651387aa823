using ProtoRpc.Schema.Sources;

namespace ProtoRpc.Client;

/// <summary>What servers say of themselves, as gRPC servers do by reflection.</summary>
/// <param name="optionsOf">How a server is contacted.</param>
internal sealed class EndpointSchemaSource(Func<RpcEndpoint, RpcClientOptions> optionsOf) : SchemaSource
{
    // What no file is called: the scheme of a URI, the protocol sequence of a string binding.
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
