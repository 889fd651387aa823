using System.CommandLine;

namespace ProtoRpc.Tool.Verbs;

/// <summary>The options that name a schema, the same for every verb.</summary>
internal sealed class SchemaOptions
{
    private readonly Option<string[]> _schema = new("--schema", "-s")
    {
        Description = "A .proto file or a descriptor set (.pb, .protoset, .desc); may be repeated.",
        HelpName = "FILE",
        AllowMultipleArgumentsPerToken = true,
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

    /// <summary>The schema, or null where none was asked for.</summary>
    public RpcSchema? LoadIfGiven(ParseResult parsed)
    {
        string[] files = parsed.GetValue(_schema) ?? [];
        return files.Length == 0 ? null : RpcSchema.Load(files, parsed.GetValue(_importPath));
    }

    public RpcSchema Load(ParseResult parsed) =>
        LoadIfGiven(parsed) ?? throw new UsageException("Give a schema with --schema FILE.");
}
