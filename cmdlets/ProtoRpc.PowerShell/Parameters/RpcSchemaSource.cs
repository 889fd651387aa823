namespace ProtoRpc;

/// <summary>The value of <c>-Schema</c>: a schema object, paths and addresses, or a hashtable with parameters
/// of Import-RpcSchema.</summary>
/// <remarks>The shell converts arguments with these constructors. The cmdlet reads the files, relative to the
/// shell's location, and connects to the servers.</remarks>
public sealed class RpcSchemaSource
{
    /// <summary>An existing schema.</summary>
    public RpcSchemaSource(RpcSchema schema) => Schema = schema;

    /// <summary>A file, a folder, an endpoint, or the address of a file.</summary>
    public RpcSchemaSource(string path) => Paths = [path];

    /// <summary>A file.</summary>
    public RpcSchemaSource(FileInfo file) => Paths = [PathOf(file)];

    /// <summary>A folder.</summary>
    public RpcSchemaSource(DirectoryInfo folder) => Paths = [PathOf(folder)];

    /// <summary>The address of a file, or an endpoint.</summary>
    public RpcSchemaSource(Uri address) => Paths = [PathOf(address)];

    /// <summary>The endpoint of a server with reflection.</summary>
    public RpcSchemaSource(RpcEndpoint endpoint) => Paths = [endpoint.ToString()];

    /// <summary>Parameters of Import-RpcSchema, for servers that require credentials or
    /// certificates.</summary>
    public RpcSchemaSource(IDictionary import) => Import = import;

    /// <summary>Several paths and addresses.</summary>
    public RpcSchemaSource(object[] paths)
    {
        Paths = [.. paths.Select(PathOf)];
    }

    private RpcSchemaSource(IReadOnlyList<string> paths) => Paths = paths;

    internal RpcSchema? Schema { get; }

    internal IDictionary? Import { get; }

    internal IReadOnlyList<string> Paths { get; } = [];

    /// <summary>The files and addresses that are registered with a name. Registering resolves paths without
    /// expanding wildcards, so a file or folder with brackets in its name is meant literally if it
    /// exists.</summary>
    internal static RpcSchemaSource From(RpcNamedEndpoint named) => new(
        (IReadOnlyList<string>)[.. named.Schema.Select(
            path => System.IO.Path.Exists(path) ? WildcardPattern.Escape(path) : path)]);

    private static string PathOf(object? source) => source switch
    {
        PSObject wrapped => PathOf(wrapped.BaseObject),
        FileSystemInfo file => WildcardPattern.Escape(file.FullName),
        Uri address => address.OriginalString,
        _ => LanguagePrimitives.ConvertTo<string>(source),
    };
}
