using System.Collections;
using System.Management.Automation;

namespace ProtoRpc;

/// <summary>What <c>-Schema</c> takes everywhere: a schema object, the paths and addresses that make one, or
/// a hashtable of the parameters of Import-RpcSchema.</summary>
/// <remarks>The shell converts to it by its constructors;
/// the cmdlet reads the files, at its location, and asks the servers.</remarks>
public sealed class RpcSchemaSource
{
    /// <summary>An existing schema.</summary>
    public RpcSchemaSource(RpcSchema schema) => Schema = schema;

    /// <summary>A file, a folder, an endpoint, or the address of a file.</summary>
    public RpcSchemaSource(string path) => Paths = [path];

    /// <summary>A file.</summary>
    public RpcSchemaSource(FileInfo file) => Paths = [WildcardPattern.Escape(file.FullName)];

    /// <summary>A folder.</summary>
    public RpcSchemaSource(DirectoryInfo folder) => Paths = [WildcardPattern.Escape(folder.FullName)];

    /// <summary>The address of a file, or an endpoint.</summary>
    public RpcSchemaSource(Uri address) => Paths = [address.OriginalString];

    /// <summary>The endpoint of a server with reflection.</summary>
    public RpcSchemaSource(RpcEndpoint endpoint) => Paths = [endpoint.ToString()];

    /// <summary>The parameters of Import-RpcSchema, for servers that need credentials or
    /// certificates.</summary>
    public RpcSchemaSource(IDictionary import) => Import = import;

    /// <summary>Several paths and addresses.</summary>
    public RpcSchemaSource(object[] paths)
    {
        Paths = [.. paths.Select(path => LanguagePrimitives.ConvertTo<string>(path))];
    }

    internal RpcSchema? Schema { get; }

    internal IDictionary? Import { get; }

    internal IReadOnlyList<string> Paths { get; } = [];
}
