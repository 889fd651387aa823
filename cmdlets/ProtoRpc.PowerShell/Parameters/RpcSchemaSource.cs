using System.Management.Automation;

namespace ProtoRpc;

/// <summary>What <c>-Schema</c> takes everywhere:
/// a schema object, or the paths of files that make one.</summary>
/// <remarks>The shell converts to it by its constructors;
/// the files are read by the cmdlet, at its location.</remarks>
public sealed class RpcSchemaSource
{
    /// <summary>A schema that is there already.</summary>
    public RpcSchemaSource(RpcSchema schema) => Schema = schema;

    /// <summary>One .proto file or descriptor set.</summary>
    public RpcSchemaSource(string path) => Paths = [path];

    /// <summary>A file.</summary>
    public RpcSchemaSource(FileInfo file) => Paths = [WildcardPattern.Escape(file.FullName)];

    /// <summary>Several files.</summary>
    public RpcSchemaSource(object[] paths)
    {
        Paths = [.. paths.Select(path => LanguagePrimitives.ConvertTo<string>(path))];
    }

    internal RpcSchema? Schema { get; }

    internal IReadOnlyList<string> Paths { get; } = [];
}
