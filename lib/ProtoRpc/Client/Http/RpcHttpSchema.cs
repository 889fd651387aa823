using ProtoRpc.Client;
using ProtoRpc.Client.Http;
using ProtoRpc.Schema.Linking;
using ProtoRpc.Schema.Sources;
using ProtoRpc.Transports;

namespace ProtoRpc;

/// <summary>Loads a schema from an HTTP server that has its descriptor set, or its .proto files with all
/// imports.</summary>
public static class RpcHttpSchema
{
    /// <summary>Loads the schema of a file, <c>http://host/Service.proto</c>.</summary>
    /// <param name="file">The address of the file.</param>
    /// <param name="options">The client's options; null for the defaults.</param>
    /// <param name="cancellationToken">Cancels loading.</param>
    /// <exception cref="RpcException">The server cannot be reached, a file does not exist, or the files do
    /// not compile.</exception>
    /// <exception cref="OperationCanceledException">The token is already cancelled.</exception>
    public static RpcSchema Load(
        Uri file, RpcClientOptions? options = null, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(file);
        cancellationToken.ThrowIfCancellationRequested();
        options ??= new RpcClientOptions();
        RpcEndpoint endpoint = EndpointOf(file);
        ClientOptionsCheck.Check(endpoint, options);
        return Fetch(file, ClientAuthorization.Apply(endpoint, options), cancellationToken);
    }

    /// <summary>Loads the schema of a file with options that are already checked.</summary>
    internal static RpcSchema Fetch(Uri file, RpcClientOptions options, CancellationToken cancellation)
    {
        DescriptorFileMerge merge = new();
        List<string> warnings = [];
        foreach (SchemaPart part in FetchAsync(file, options, cancellation).GetAwaiter().GetResult())
        {
            merge.Add(part.Files, part.RootFiles, part.Label);
            warnings.AddRange(part.Warnings);
        }

        return new RpcSchema(DescriptorLinker.Link(merge.Files), merge.RootFiles, warnings);
    }

    /// <summary>Downloads a .proto file with its imports, or a descriptor set.</summary>
    internal static async Task<IReadOnlyList<SchemaPart>> FetchAsync(
        Uri file, RpcClientOptions options, CancellationToken cancellation)
    {
        RpcEndpoint endpoint = EndpointOf(file);
        using HttpMessageInvoker http = HttpTransport.Create(
            endpoint, options.Limits, options.Security, options.Tls,
            HttpCompression.IsAsked(options, endpoint), options.HttpHandler, options.Trace,
            options.Proxy);
        using CallTime time = new(CallClock.Start(options.Limits.CallTimeout, cancellation));
        try
        {
            return await new HttpSchemaReader(http, endpoint, options, time.Token).ReadAsync(file)
                .ConfigureAwait(false);
        }
        catch (Exception e) when (CallTime.IsOfClient(e) || e is InvalidDataException)
        {
            throw time.Explain(endpoint, e);
        }
    }

    internal static RpcEndpoint EndpointOf(Uri file) =>
        RpcEndpoint.Parse(file.GetLeftPart(UriPartial.Authority));
}
