using System.CommandLine.Parsing;
using System.Globalization;
using ProtoRpc.Messages.Mapping;

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

    private readonly ToolOption<string[]> _importPath = new(
        "--import-path", "FOLDER",
        "A folder in which imports and names of --schema are searched; may be repeated.", "-I");

    public SchemaOptions(Command command, bool required = true)
    {
        _schema.Required = required;
        command.Add(_schema);
        command.Add(_importPath);
    }

    /// <summary>Whether a schema is given.</summary>
    public bool IsGiven(ParseResult parsed) => parsed.GetValue(_schema) is { Length: > 0 };

    /// <summary>Loads the schema; null if the option was not given.</summary>
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

    /// <summary>Loads a schema, and warns of files and options that were left out.</summary>
    public static RpcSchema Load(
        IReadOnlyList<string> sources, RpcSchemaLoadOptions options, ToolConsole? console)
    {
        RpcSchema schema = sources.Any(RpcSchemaLoader.IsAddress)
            ? CallFailedException.Guard(() => RpcSchemaLoader.Load(sources, options))
            : RpcSchemaLoader.Load(sources, options);
        if (console is not null)
        {
            Warn(schema, console);
        }

        return schema;
    }

    /// <summary>Writes which files were left out because of their errors, or which a server did not
    /// send.</summary>
    public static void Warn(RpcSchema schema, ToolConsole console)
    {
        foreach (string warning in schema.Losses)
        {
            console.WriteError(FlagNames.Rename(TerminalText.Neutralize(warning)));
        }
    }

    public RpcSchema Load(ParseResult parsed, ToolConsole console) =>
        LoadIfGiven(parsed, console) ?? throw new UsageException("Give a schema with --schema SOURCE.");
}

/// <summary>An option with a value.</summary>
internal sealed class ToolOption<T> : Option<T>
{
    /// <param name="name">The name, such as <c>--schema</c>.</param>
    /// <param name="helpName">The name of the value in the help.</param>
    /// <param name="description">The description in the help.</param>
    /// <param name="aliases">Further names.</param>
    public ToolOption(string name, string helpName, string description, params string[] aliases)
        : base(name, aliases)
    {
        HelpName = helpName;
        Description = description;
    }
}

/// <summary>An option without a value.</summary>
internal sealed class ToolFlag : Option<bool>
{
    public ToolFlag(string name, string description, params string[] aliases)
        : base(name, aliases) => Description = description;
}

/// <summary>Options whose value is the path of a file or folder.</summary>
internal static class PathOption
{
    /// <summary>Rejects an empty path, as of a variable of a script that is not set.</summary>
    public static void RequirePath(this Option option) => option.Validators.Add(result =>
    {
        if (result.Tokens.Any(token => token.Value.Length == 0))
        {
            result.AddError($"{option.Name} is empty. Give a path.");
        }
    });
}

/// <summary>Reads a number such as 2.5 the same in every culture. A comma is an error: it separates thousands
/// in some cultures, and decimals in others.</summary>
internal static class NumberArgument
{
    /// <summary>Reads a number.</summary>
    /// <returns>False if the text is not a number.</returns>
    public delegate bool Reader(string text, out double number);

    public static double? ParseOptional(ArgumentResult result) =>
        Parse(result, TryParse, text => $"a number such as 2.5, not '{text}'");

    /// <summary>Reads the value of an option or an argument.</summary>
    /// <param name="result">The value.</param>
    /// <param name="read">Reads the text.</param>
    /// <param name="wanted">The accepted values, and the text, for the error.</param>
    public static double Parse(ArgumentResult result, Reader read, Func<string, string> wanted)
    {
        if (result.Tokens is not [{ Value: string text }])
        {
            // The parser reports too many values itself.
            return default;
        }

        if (!read(text, out double number))
        {
            string name = result.Parent is OptionResult option ? option.Option.Name : result.Argument.Name;
            result.AddError($"{name} must be {wanted(text)}.");
        }

        return number;
    }

    public static bool TryParse(string text, out double number) =>
        double.TryParse(text, NumberStyles.Float, CultureInfo.InvariantCulture, out number);
}

/// <summary>Reads a time: seconds, or text with a unit such as 50ms.</summary>
internal static class SecondsArgument
{
    public static double? ParseOptional(ArgumentResult result) => Parse(result);

    public static double Parse(ArgumentResult result) => NumberArgument.Parse(
        result, TryParse, text => $"seconds (2.5), or a time such as 50ms or 5m, not '{text}'");

    public static bool TryParse(string text, out double seconds)
    {
        // A number that is too large for a time is accepted here, so that the option reports its limits.
        if (NumberArgument.TryParse(text, out seconds))
        {
            return true;
        }

        TimeSpan? time = DurationText.TryParse(text);
        seconds = time?.TotalSeconds ?? 0;
        return time is not null;
    }
}
