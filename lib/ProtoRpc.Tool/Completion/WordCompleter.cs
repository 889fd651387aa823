using System.CommandLine.Completions;
using System.CommandLine.Parsing;
using ProtoRpc.Tool.Verbs;

namespace ProtoRpc.Tool.Completion;

/// <summary>Suggests values for the last word of a command line.</summary>
internal sealed class WordCompleter(RootCommand root, ParserConfiguration parsing, ToolConsole console)
{
    // The shell is blocked during completion.
    private static readonly TimeSpan SchemaTime = TimeSpan.FromMilliseconds(800);
    private static readonly string[] OfMethods = ["--reply", "--template", "--fail", "--exec", "--exec-keep"];

    /// <summary>The first of the arguments of a completion, which no user types.</summary>
    public const string Word = "__complete";

    /// <summary>The suggestions, one on each line, which are safe to insert.</summary>
    /// <param name="words">The words after the program's name; the last one is completed, and may be
    /// empty.</param>
    public async Task<IReadOnlyList<string>> CompleteAsync(string[] words)
    {
        string word = words.Length == 0 ? "" : words[^1];
        ParseResult parsed = root.Parse(words.Length == 0 ? [] : words[..^1], parsing);
        try
        {
            IEnumerable<string> found = await FindAsync(parsed, words.Length == 0 ? [] : words[..^1], word);
            return
            [
                .. found.Where(text => text.StartsWith(word, StringComparison.OrdinalIgnoreCase)
                    && text.Length > 0 && IsPlain(text))
                    .Distinct().Order(StringComparer.Ordinal),
            ];
        }
        catch (RpcException)
        {
            // An earlier word is invalid. Running the command reports a better error.
            return [];
        }
    }

    private async Task<IEnumerable<string>> FindAsync(ParseResult parsed, string[] before, string word)
    {
        Command command = parsed.CommandResult.Command;
        if (command == root)
        {
            return root.Subcommands.Where(verb => !verb.Hidden).Select(verb => verb.Name)
                .Concat(word.StartsWith('-') ? NamesOf(root) : []);
        }

        if (before is [.., { } last] && FindOption(command, last) is { } option
            && option.Arity.MaximumNumberOfValues > 0)
        {
            return await ValuesAsync(parsed, option.Name, option, word);
        }

        if (word.StartsWith('-'))
        {
            return NamesOf(command).Concat(["--help"]);
        }

        // The argument at the position of the word. The last argument may take several words.
        int given = parsed.CommandResult.Children.OfType<ArgumentResult>().Sum(one => one.Tokens.Count);
        Argument? argument = command.Arguments.ElementAtOrDefault(
            Math.Min(given, Math.Max(0, command.Arguments.Count - 1)));
        return argument is null ? [] : await ValuesAsync(parsed, argument.Name, argument, word);
    }

    private async Task<IEnumerable<string>> ValuesAsync(
        ParseResult parsed, string name, Symbol symbol, string word) => name switch
        {
            // Commands that serve can have several endpoints.
            "ENDPOINT" or "TARGET" or "--endpoint" => Endpoints(isServed: symbol is Argument<string[]>),
            "METHOD" => Methods(await SchemaAsync(parsed)),
            "SYMBOL" or "NAME" => Symbols(await SchemaAsync(parsed)),
            "--service" => (await SchemaAsync(parsed))?.Services.Select(one => one.FullName) ?? [],
            "--set" => Fields(await SchemaAsync(parsed), parsed, word),
            _ when OfMethods.Contains(name) =>
                Methods(await SchemaAsync(parsed)).Select(method => $"{method}="),
            _ => symbol.GetCompletions(CompletionContext.Empty).Select(item => item.Label),
        };

    private static IEnumerable<string> Methods(RpcSchema? schema) =>
        schema?.Services.SelectMany(service => service.Methods).Select(method => method.FullName) ?? [];

    private static IEnumerable<string> Symbols(RpcSchema? schema) => schema is null
        ? []
        : schema.Services.Select(one => one.FullName)
            .Concat(Methods(schema))
            .Concat(schema.Messages.Select(one => one.FullName))
            .Concat(schema.Enums.Select(one => one.FullName));

    private static IEnumerable<string> Fields(RpcSchema? schema, ParseResult parsed, string word) =>
        schema is not null && Text(parsed, "METHOD") is { } name && schema.FindMethod(name) is { } method
            ? FieldPaths.Get(method.RequestType, word)
            : [];

    private IEnumerable<string> Endpoints(bool isServed)
    {
        string[] schemes =
        [
            .. (isServed ? EndpointKinds.Served : EndpointKinds.All).Select(kind => $"{kind.Scheme}://"),
            .. isServed ? [] : GrpcNameSyntax.Prefixes,
        ];
        try
        {
            return console.Registry.Read().Select(named => named.Name).Concat(schemes);
        }
        catch (Exception e) when (e is RpcException or IOException or UnauthorizedAccessException)
        {
            return schemes;
        }
    }

    private async Task<RpcSchema?> SchemaAsync(ParseResult parsed)
    {
        try
        {
            // Compiling files or calling servers may take longer than the shell should wait.
            return await Task.Run(() => LoadAsync(parsed)).WaitAsync(SchemaTime);
        }
        catch (Exception)
        {
            // Without a schema there are no suggestions. Completion cannot show an error.
            return null;
        }
    }

    private async Task<RpcSchema?> LoadAsync(ParseResult parsed)
    {
        Option? option = FindOption(parsed.CommandResult.Command, "--schema");
        string[] sources = option is null ? [] : Tokens(parsed.GetResult(option));
        if (sources.Length > 0)
        {
            return RpcSchemaLoader.Load(sources, new RpcSchemaLoadOptions
            {
                ImportPaths = FindOption(parsed.CommandResult.Command, "--import-path") is { } paths
                    ? Tokens(parsed.GetResult(paths))
                    : [],
            });
        }

        if (ServerOf(parsed) is not { } endpoint)
        {
            return null;
        }

        bool isPlain = FindOption(parsed.CommandResult.Command, "--plaintext") is { } plain
            && parsed.GetResult(plain) is not null;
        ToolTarget target = ToolTarget.Find(ConnectOptions.Expand(endpoint, isPlain), console);
        if (target.LoadSchema(console: null) is { } schema)
        {
            return schema;
        }

        using CancellationTokenSource timer = new(SchemaTime);
        await using RpcClient client = await RpcClient.ConnectAsync(
            target.Endpoint, schema: null, new RpcClientOptions { RetryCount = 0 }, timer.Token);
        return await client.FetchSchemaAsync(cancellationToken: timer.Token);
    }

    // The endpoints of commands that serve are those to listen on, except the last one of a proxy, which is
    // the server.
    private static string? ServerOf(ParseResult parsed)
    {
        Command command = parsed.CommandResult.Command;
        if (command.Arguments.FirstOrDefault(one => one.Name == "ENDPOINT") is not { } argument)
        {
            return null;
        }

        string[] given = Tokens(parsed.GetResult(argument));
        return argument.Arity.MaximumNumberOfValues == 1 ? given.FirstOrDefault()
            : command.Name == ProxyVerb.Name && given.Length > 1 ? given[^1]
            : null;
    }

    private static string? Text(ParseResult parsed, string name) =>
        parsed.CommandResult.Command.Arguments.FirstOrDefault(one => one.Name == name) is { } argument
            ? Tokens(parsed.GetResult(argument)).FirstOrDefault()
            : null;

    private static string[] Tokens(SymbolResult? result) => result is null
        ? []
        : [.. result.Tokens.Select(token => token.Value)];

    private static Option? FindOption(Command command, string name) => command.Options.FirstOrDefault(
        option => option.Name == name || option.Aliases.Contains(name));

    private static IEnumerable<string> NamesOf(Command command) =>
        command.Options.Where(option => !option.Hidden)
            .SelectMany(option => option.Aliases.Prepend(option.Name))
            .Where(name => !name.StartsWith('/'));

    // Names from a server are inserted into a command line, so they must not contain characters with a
    // meaning for a shell or terminal.
    private static bool IsPlain(string text) =>
        text.All(c => char.IsLetterOrDigit(c) || "._-/:=[]\\*@+".Contains(c, StringComparison.Ordinal));
}

/// <summary>Suggests the fields of a request for <c>--set</c>.</summary>
internal static class FieldPaths
{
    /// <summary>The fields of the message at the end of a word: with <c>=</c> before a value, and with a dot
    /// before a nested field.</summary>
    public static IEnumerable<string> Get(RpcMessageInfo request, string word)
    {
        string[] steps = word.Split('.');
        RpcMessageInfo? type = request;
        foreach (string step in steps[..^1])
        {
            type = type?.FindField(step)?.MessageType;
        }

        string before = string.Concat(steps[..^1].Select(step => $"{step}."));
        return type?.Fields.Select(field =>
            before + field.Name + (field.MessageType is null || field.IsMap ? "=" : ".")) ?? [];
    }
}
