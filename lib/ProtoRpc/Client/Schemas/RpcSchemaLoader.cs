using ProtoRpc.Client;
using ProtoRpc.Client.Schemas;
using ProtoRpc.Schema.Sources;

namespace ProtoRpc;

/// <summary>Loads schemas from all sources: .proto files and folders, descriptor sets, servers with
/// reflection, and HTTP servers that have the files.</summary>
/// <remarks>
/// A location is a path (see <see cref="RpcSchema.Load"/>), a folder with .proto files, the address of a
/// .proto file or a descriptor set (<c>https://host/Service.proto</c>), or an endpoint
/// (<c>grpcs://host:443</c>). All locations of one call form one schema.
/// </remarks>
/// <example><code>
/// RpcSchema schema = await RpcSchemaLoader.LoadAsync(file);
/// </code></example>
public static class RpcSchemaLoader
{
    /// <summary>Loads the schema of one location.</summary>
    /// <exception cref="RpcException">The location cannot be read or reached, or is not a schema.</exception>
    public static RpcSchema Load(
        string location, RpcSchemaLoadOptions? options = null,
        CancellationToken cancellationToken = default) =>
        Load([location], options, cancellationToken);

    /// <summary>Loads one schema of several locations.</summary>
    /// <inheritdoc cref="Load(string, RpcSchemaLoadOptions?, CancellationToken)"/>
    public static RpcSchema Load(
        IEnumerable<string> locations,
        RpcSchemaLoadOptions? options = null,
        CancellationToken cancellationToken = default) =>
        LoadAsync(locations, options, cancellationToken).GetAwaiter().GetResult();

    /// <summary>Loads the schema of one location, without blocking a thread while a server answers.</summary>
    /// <inheritdoc cref="Load(string, RpcSchemaLoadOptions?, CancellationToken)"/>
    public static Task<RpcSchema> LoadAsync(
        string location, RpcSchemaLoadOptions? options = null,
        CancellationToken cancellationToken = default) =>
        LoadAsync([location], options, cancellationToken);

    /// <summary>Loads one schema of several locations, without blocking a thread while servers
    /// answer.</summary>
    /// <inheritdoc cref="Load(string, RpcSchemaLoadOptions?, CancellationToken)"/>
    public static Task<RpcSchema> LoadAsync(
        IEnumerable<string> locations,
        RpcSchemaLoadOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(locations);
        options ??= new RpcSchemaLoadOptions();
        return LoadAsync(locations, options, _ => options.Client, cancellationToken);
    }

    /// <summary>Whether a location is the address of a server, not a file.</summary>
    public static bool IsAddress(string location)
    {
        ArgumentNullException.ThrowIfNull(location);
        return SourcesOf(static _ => new RpcClientOptions()).Any(source => source.Takes(location));
    }

    /// <summary>The endpoint of the server in a location.</summary>
    internal static RpcEndpoint EndpointOf(string address) =>
        Uri.TryCreate(address, UriKind.Absolute, out Uri? uri) && uri.Scheme is "http" or "https"
            ? RpcHttpSchema.EndpointOf(uri)
            : RpcEndpoint.Parse(address);

    /// <summary>Loads one schema of several locations, with options for each server.</summary>
    internal static Task<RpcSchema> LoadAsync(
        IEnumerable<string> locations,
        RpcSchemaLoadOptions options,
        Func<RpcEndpoint, RpcClientOptions> optionsOf,
        CancellationToken cancellation)
    {
        cancellation.ThrowIfCancellationRequested();
        IReadOnlyList<SchemaSource> sources = SourcesOf(optionsOf);
        SchemaRequest request = RpcSchema.RequestOf(options.ImportPaths, options.BaseFolder);
        ILookup<string?, string> byFolder =
            locations.ToLookup(location => FindFolder(location, sources, request));
        string[] folders = [.. byFolder.Select(group => group.Key).OfType<string>()];

        return SchemaLoader.LoadAsync(
            [.. byFolder[null], .. folders.Select(folder => Path.Combine(folder, "**", "*.proto"))],
            sources,
            request with { Folders = folders, TextSets = TextSetReader.ToBinary },
            cancellation);
    }

    // All sources of schemas. To add one, add a line here, or to SchemaLoader.Files if it reads files.
    private static IReadOnlyList<SchemaSource> SourcesOf(Func<RpcEndpoint, RpcClientOptions> optionsOf) =>
    [
        .. SchemaLoader.Files,
        new HttpSchemaSource(optionsOf),
        new EndpointSchemaSource(optionsOf),
    ];

    private static string? FindFolder(
        string location, IReadOnlyList<SchemaSource> sources, SchemaRequest request) =>
        location.Length > 0 && !location.Contains('\0') && !sources.Any(source => source.Takes(location))
            ? SchemaLoader.FindFolder(location, request)
            : null;
}

/// <summary>The options of <see cref="RpcSchemaLoader"/>.</summary>
public sealed record RpcSchemaLoadOptions
{
    /// <summary>The folders to search for imports, and for names of files that the base folder does not have,
    /// in order.</summary>
    public IReadOnlyList<string> ImportPaths { get; init; } = [];

    /// <summary>The base of relative paths; null for the process's current folder.</summary>
    public string? BaseFolder { get; init; }

    /// <summary>The options for connecting to all servers: credentials, certificates, limits. <see
    /// cref="RpcClientOptions.Service"/> and <see cref="RpcClientOptions.InterfaceId"/> are
    /// ignored.</summary>
    public RpcClientOptions Client { get; init; } = new();
}

/// <summary>Reads the schema that servers publish, such as gRPC servers with reflection.</summary>
/// <param name="optionsOf">Returns the options for connecting to a server.</param>
internal sealed class EndpointSchemaSource(Func<RpcEndpoint, RpcClientOptions> optionsOf) : SchemaSource
{
    // Accepts the scheme of a URI, the protocol sequence of a string binding or a name of gRPC: file names do
    // not begin like that.
    public override bool Takes(string location) =>
        location.Contains("://", StringComparison.Ordinal) || GrpcNameSyntax.IsName(location)
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
                parts.Add(SchemaPart.Create(schema, endpoint.ToString()));
            }
        }

        return parts;
    }
}

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
