using System.Net;
using System.Text;
using System.Text.RegularExpressions;
using ProtoRpc.Client;
using ProtoRpc.Client.Http;
using ProtoRpc.Protocols;
using ProtoRpc.Schema.Sources;
using ProtoRpc.Transports;

namespace ProtoRpc;

/// <summary>Loads a schema from an HTTP server that has its .proto files,
/// with all that they import.</summary>
public static partial class RpcHttpSchema
{
    private const int MaxFiles = 256;
    private const string WellKnown = "google/protobuf/";

    /// <summary>Loads the schema of a file, <c>http://host/Service.proto</c>.</summary>
    /// <param name="file">The address of the file.</param>
    /// <param name="options">How the server is asked; null for the defaults.</param>
    /// <param name="cancellationToken">Gives up.</param>
    /// <exception cref="RpcException">The server cannot be reached, a file is not there,
    /// or they do not compile.</exception>
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

    /// <summary>The same with options that a client has checked.</summary>
    internal static RpcSchema Fetch(Uri file, RpcClientOptions options, CancellationToken cancellation)
    {
        RpcEndpoint endpoint = EndpointOf(file);
        using HttpMessageInvoker http = HttpTransport.Create(
            endpoint, options.Limits, options.Security, options.Tls);
        using CallTime time = new(options.Limits.CallTimeout, cancellation);
        try
        {
            return Compile(new Reader(http, endpoint, options, time.Token).ReadAll(file));
        }
        catch (Exception e) when (e is HttpRequestException or OperationCanceledException or IOException
            or InvalidDataException)
        {
            throw time.Explain(endpoint, e);
        }
    }

    private static RpcEndpoint EndpointOf(Uri file) =>
        RpcEndpoint.Parse(file.GetLeftPart(UriPartial.Authority));

    private static RpcSchema Compile(List<KeyValuePair<string, string>> files)
    {
        DirectoryInfo folder = Directory.CreateTempSubdirectory("protorpc-");
        try
        {
            IReadOnlyList<string> paths = ProtoFolder.Write(folder.FullName, files);
            return RpcSchema.Load([Escape(paths[0])], [folder.FullName]);
        }
        finally
        {
            folder.Delete(recursive: true);
        }
    }

    // The name is the server's, and no pattern.
    private static string Escape(string path) => path.AsSpan().ContainsAny('*', '?')
        ? throw new RpcException(
            RpcStatusCode.InvalidArgument, $"'{Path.GetFileName(path)}' is not the name of a file.")
        : path;

    // Only to know what to fetch: protoc reads the files, and says what is missing.
    [GeneratedRegex(
        """^\s*import\s+(?:public\s+|weak\s+)?["'](?<name>[^"']+)["']\s*;""", RegexOptions.Multiline)]
    private static partial Regex Imports();

    /// <summary>Fetches a file and its imports, each below the one folder from where all are named.</summary>
    private sealed class Reader(
        HttpMessageInvoker http, RpcEndpoint endpoint,
        RpcClientOptions options, CancellationToken cancellation)
    {
        private readonly List<KeyValuePair<string, string>> _files = [];

        public List<KeyValuePair<string, string>> ReadAll(Uri file)
        {
            if (file.AbsolutePath.EndsWith('/'))
            {
                throw new RpcException(
                    RpcStatusCode.InvalidArgument,
                    $"'{file}' is not the address of a file. Give that of a .proto file, such as "
                    + $"'{new Uri(file, "Service.proto")}'.");
            }

            string text = Read(file)
                ?? throw new RpcException(RpcStatusCode.NotFound, $"There is no file at '{file}'.")
                {
                    Endpoint = endpoint,
                };
            string[] imports = ImportsOf(text);
            Uri root = RootOf(file, imports);
            string first = Uri.UnescapeDataString(root.MakeRelativeUri(file).ToString());
            _files.Add(KeyValuePair.Create(first, text));
            Queue<string> wanted = new(imports);
            HashSet<string> seen = [_files[0].Key];
            while (wanted.TryDequeue(out string? name))
            {
                if (!seen.Add(name) || Read(new Uri(root, name)) is not { } import)
                {
                    continue;
                }

                if (_files.Count == MaxFiles)
                {
                    throw new RpcException(
                        RpcStatusCode.ResourceExhausted, $"'{file}' imports more than {MaxFiles} files.");
                }

                _files.Add(KeyValuePair.Create(name, import));
                Array.ForEach(ImportsOf(import), wanted.Enqueue);
            }

            return _files;
        }

        private static string[] ImportsOf(string text) =>
        [
            .. from match in Imports().Matches(text)
               let name = match.Groups["name"].Value
               where !name.StartsWith(WellKnown, StringComparison.Ordinal)
               select name,
        ];

        // Imports are named from a root that the address does not tell:
        // the folder of the file, or one above it.
        private Uri RootOf(Uri file, string[] imports)
        {
            Uri folder = new(file, ".");
            if (imports.Length == 0)
            {
                return folder;
            }

            for (Uri root = folder; ; root = new Uri(root, ".."))
            {
                if (Read(new Uri(root, imports[0])) is not null)
                {
                    return root;
                }

                if (root.AbsolutePath == "/")
                {
                    return folder;
                }
            }
        }

        private string? Read(Uri address)
        {
            if (address.Authority != new Uri(endpoint.Uri).Authority)
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

            using HttpResponseMessage response = http.Send(request, cancellation);
            if (response.StatusCode == HttpStatusCode.NotFound)
            {
                return null;
            }

            using MessageBuffer body = new(0, options.Limits.MaxMessageBytes, "file");
            using Stream stream = response.Content.ReadAsStream(cancellation);
            int count;
            while ((count = stream.Read(body.GetSpan())) > 0)
            {
                body.Advance(count);
            }

            ReadOnlyMemory<byte> bytes = body.Whole[..body.Length];
            return response.IsSuccessStatusCode
                ? Encoding.UTF8.GetString(bytes.Span)
                : throw HttpErrorReader.Read(
                    address.ToString(), (int)response.StatusCode,
                    response.Content.Headers.ContentType?.MediaType ?? "", bytes);
        }
    }
}
