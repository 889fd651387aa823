using System.Net;
using System.Text.RegularExpressions;
using ProtoRpc.Client;
using ProtoRpc.Client.Http;
using ProtoRpc.Client.Schemas;
using ProtoRpc.Protocols;
using ProtoRpc.Schema;
using ProtoRpc.Schema.Linking;
using ProtoRpc.Schema.Sources;
using ProtoRpc.Schema.Sources.Protoc;
using ProtoRpc.Transports;
using ProtoRpc.Transports.Http;

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
            warnings.AddRange([.. part.LeftOutOptions, .. part.Warnings]);
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

/// <summary>Downloads a descriptor set, or a .proto file with its imports. All files are below one folder,
/// and imports name them relative to it.</summary>
internal sealed partial class HttpSchemaReader(
    HttpMessageInvoker http, RpcEndpoint endpoint, RpcClientOptions options, CancellationToken cancellation)
{
    private const int MaxFiles = 256;
    private const string WellKnown = "google/protobuf/";

    private static readonly DescriptorSetSource Sets = new();

    private readonly List<KeyValuePair<string, string>> _files = [];

    public async Task<IReadOnlyList<SchemaPart>> ReadAsync(Uri file)
    {
        if (file.AbsolutePath.EndsWith('/'))
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"'{file}' is not the address of a file. Give the address of a .proto file, such as "
                + $"'{new Uri(file, "Service.proto")}'.");
        }

        using PooledMessageBytes first = await FindAsync(file).ConfigureAwait(false)
            ?? throw new RpcException(RpcStatusCode.NotFound, $"There is no file at '{file}'.", endpoint);
        if (Sets.Reads(file.AbsolutePath))
        {
            return [DescriptorSetSource.PartOf(
                BytesOf(first).ToArray(), $"'{file}'", Uri.UnescapeDataString(file.AbsolutePath),
                TextSetReader.ToBinary)];
        }

        await AddWithImportsAsync(file, TextOf(first)).ConfigureAwait(false);
        return ProtoSource.Compile(_files);
    }

    // Only finds the imports to download: protoc parses the files and reports missing ones. [^\S\n] instead
    // of \s, because a peer could send many blank lines, which \s would scan in quadratic time.
    [GeneratedRegex(
        """^[^\S\n]*import\s+(?:public\s+|weak\s+|option\s+)?["'](?<name>[^"']+)["']\s*;""",
        RegexOptions.Multiline)]
    private static partial Regex Imports();

    private static ReadOnlyMemory<byte> BytesOf(PooledMessageBytes body) => body.Message;

    private static string TextOf(PooledMessageBytes body) => Encoding.UTF8.GetString(BytesOf(body).Span);

    private static string[] ImportsOf(string text) =>
    [
        .. from match in Imports().Matches(text)
           let name = match.Groups["name"].Value
           where !name.StartsWith(WellKnown, StringComparison.Ordinal)
           select name,
    ];

    private async Task AddWithImportsAsync(Uri file, string text)
    {
        string[] imports = ImportsOf(text);
        Uri root = await RootOfAsync(file, imports).ConfigureAwait(false);
        string first = Uri.UnescapeDataString(root.MakeRelativeUri(file).ToString());
        _files.Add(KeyValuePair.Create(first, text));
        Queue<string> wanted = new(imports);
        HashSet<string> seen = [first];
        while (wanted.TryDequeue(out string? name))
        {
            if (!seen.Add(name))
            {
                continue;
            }

            // Files that the server does not have also count: each of them costs a request.
            if (seen.Count > MaxFiles)
            {
                throw new RpcException(
                    RpcStatusCode.ResourceExhausted, $"'{file}' imports more than {MaxFiles} files.");
            }

            if (await ReadTextAsync(AddressOf(root, name)).ConfigureAwait(false) is { } import)
            {
                _files.Add(KeyValuePair.Create(name, import));
                Array.ForEach(ImportsOf(import), wanted.Enqueue);
            }
        }
    }

    // Imports are relative to a root that the address does not name: the folder of the file, or one above it.
    private async Task<Uri> RootOfAsync(Uri file, string[] imports)
    {
        Uri folder = new(file, ".");
        // A server rarely serves imports that are installed with protoc, such as google/protobuf/any.proto.
        if (imports.FirstOrDefault(import => !ProtocLocator.HasImport(import)) is not { } first)
        {
            return folder;
        }

        for (Uri root = folder; ; root = new Uri(root, ".."))
        {
            if (await ReadTextAsync(AddressOf(root, first)).ConfigureAwait(false) is not null)
            {
                return root;
            }

            if (root.AbsolutePath == "/")
            {
                return folder;
            }
        }
    }

    private static Uri AddressOf(Uri root, string import) => Uri.TryCreate(root, import, out Uri? address)
        ? address
        : throw SchemaError.Invalid($"The import '{import}' below '{root}' is not the name of a file.");

    private async Task<string?> ReadTextAsync(Uri address)
    {
        using PooledMessageBytes? body = await FindAsync(address).ConfigureAwait(false);
        return body is null ? null : TextOf(body);
    }

    // Null if the server does not have the file.
    private async Task<PooledMessageBytes?> FindAsync(Uri address)
    {
        // The scheme is compared as well: the headers may contain a token, which a server without TLS must
        // not receive.
        if (Uri.Compare(
            address, new Uri(endpoint.Uri), UriComponents.SchemeAndServer, UriFormat.UriEscaped,
            StringComparison.OrdinalIgnoreCase) != 0)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument, $"The import '{address}' leads to another server.");
        }

        using HttpRequestMessage request = new(HttpMethod.Get, address);
        foreach ((string name, object value) in options.Headers)
        {
            request.Headers.TryAddWithoutValidation(
                name, value as string ?? Convert.ToBase64String((byte[])value));
        }

        using HttpResponseMessage response = await http.SendAsync(request, cancellation)
            .ConfigureAwait(false);
        if (response.StatusCode == HttpStatusCode.NotFound)
        {
            return null;
        }

        PooledMessageBytes body = new(options.Limits.MaxMessageBytes, "file");
        try
        {
            await FillAsync(body, response.Content).ConfigureAwait(false);
            return response.IsSuccessStatusCode
                ? body
                : throw HttpErrorReader.Read(
                    address.ToString(), response,
                    response.Content.Headers.ContentType?.MediaType ?? "", BytesOf(body));
        }
        catch
        {
            body.Dispose();
            throw;
        }
    }

    private async Task FillAsync(PooledMessageBytes body, HttpContent content)
    {
        Stream stream = await content.ReadAsStreamAsync(cancellation).ConfigureAwait(false);
        await using (stream.ConfigureAwait(false))
        {
            int count;
            while ((count = await stream.ReadAsync(body.GetMemory(), cancellation).ConfigureAwait(false)) > 0)
            {
                body.Advance(count);
            }
        }
    }
}
