using System.CommandLine;
using ProtoRpc.Schema.Sources;

namespace ProtoRpc.Tool.Verbs;

/// <summary><c>protorpc export</c>: writes a schema as .proto files or a descriptor set.</summary>
internal static class ExportVerb
{
    private static readonly DescriptorSetSource Sets = new();

    public static Command Create(ToolConsole console)
    {
        Command command = new(
            "export", "Writes the schema of a server as .proto files or as a descriptor set.");
        Option<string> output = new("--output", "-o")
        {
            Description = "A file that ends in .pb, .protoset or .desc for a descriptor set; a folder for "
                + ".proto files.",
            HelpName = "PATH",
            Required = true,
        };
        Option<bool> force = new("--force", "-f") { Description = "Replaces files that exist." };
        output.RequirePath();
        command.Add(output);
        command.Add(force);
        SymbolArguments arguments = new(command);

        command.SetAction(async (parsed, cancellation) =>
        {
            (RpcSchema schema, string[] symbols) =
                await arguments.ReadAsync(parsed, console, cancellation);
            RpcSchema part = symbols.Length == 0
                ? schema
                : SchemaSymbols.PartOf(schema, symbols);
            foreach (string path in Write(part, parsed.GetRequiredValue(output), parsed.GetValue(force)))
            {
                console.WriteLine(TerminalText.Neutralize(path));
            }

            return ExitCode.Success;
        });
        return command;
    }

    private static IReadOnlyList<string> Write(RpcSchema schema, string path, bool isForced)
    {
        if (path.EndsWith(".proto", StringComparison.OrdinalIgnoreCase))
        {
            throw new UsageException(
                $"--output '{path}' is one .proto file, and a schema may have many. Give a folder for .proto "
                + "files, or a file that ends in .pb for a descriptor set.");
        }

        if (Sets.Reads(path) && !Directory.Exists(path))
        {
            RequireNew(path, isForced);
            Directory.CreateDirectory(Path.GetDirectoryName(Path.GetFullPath(path))!);
            File.WriteAllBytes(path, schema.ToDescriptorSet());
            return [path];
        }

        foreach ((string name, _) in schema.ToProtoTexts())
        {
            RequireNew(Path.Combine(path, name), isForced);
        }

        return schema.WriteProtoFiles(path);
    }

    // A link to nothing is there as well.
    private static void RequireNew(string path, bool isForced)
    {
        if (!isForced && (File.Exists(path) || new FileInfo(path).LinkTarget is not null))
        {
            throw new RpcException(
                RpcStatusCode.AlreadyExists, $"'{path}' exists. Use --force to replace it.")
            {
                ErrorId = RpcErrorIds.FileExists,
            };
        }
    }
}
