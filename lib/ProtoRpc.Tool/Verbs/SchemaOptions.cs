using System.CommandLine;

namespace ProtoRpc.Tool.Verbs;

/// <summary>The options that name a schema, the same for every verb.</summary>
internal sealed class SchemaOptions
{
    private readonly Option<string[]> _schema = new("--schema", "-s")
    {
        Description =
            "A .proto file, a descriptor set (.pb, .protoset, .desc), a folder, the http:// address "
            + "of a file, or an endpoint that offers reflection, as grpc://host:50051; may be repeated.",
        HelpName = "SOURCE",
    };

    private readonly Option<string[]> _importPath = new("--import-path", "-I")
    {
        Description = "A folder in which imports are looked up; may be repeated.",
        HelpName = "FOLDER",
    };

    public SchemaOptions(Command command, bool required = true)
    {
        _schema.Required = required;
        command.Add(_schema);
        command.Add(_importPath);
    }

    /// <summary>Whether a schema is given.</summary>
    public bool IsGiven(ParseResult parsed) => parsed.GetValue(_schema) is { Length: > 0 };

    /// <summary>The schema, or null where none was asked for.</summary>
    public RpcSchema? LoadIfGiven(ParseResult parsed, ToolConsole console)
    {
        string[] sources = parsed.GetValue(_schema) ?? [];
        if (sources.Length == 0)
        {
            return null;
        }

        RpcSchemaLoadOptions options = new() { ImportPaths = parsed.GetValue(_importPath) ?? [] };
        return Load(sources, options, console);
    }

    /// <summary>Loads a schema, and warns of files that were left out because of their errors.</summary>
    public static RpcSchema Load(
        IReadOnlyList<string> sources, RpcSchemaLoadOptions options, ToolConsole? console)
    {
        RpcSchema schema = sources.Any(RpcSchemaLoader.IsAddress)
            ? CallFailedException.Guard(() => RpcSchemaLoader.Load(sources, options))
            : RpcSchemaLoader.Load(sources, options);
        foreach (string warning in schema.LeftOut)
        {
            console?.WriteError(warning);
        }

        return schema;
    }

    public RpcSchema Load(ParseResult parsed, ToolConsole console) =>
        LoadIfGiven(parsed, console) ?? throw new UsageException("Give a schema with --schema SOURCE.");
}
