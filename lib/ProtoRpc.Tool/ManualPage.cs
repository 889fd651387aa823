using System.CommandLine.Help;
using System.CommandLine.Invocation;
using System.Reflection;

namespace ProtoRpc.Tool;

/// <summary>Writes the manual page <c>protorpc.1</c> from the verbs and their options.</summary>
internal static class ManualPage
{
    /// <summary>The page, as roff with the macros of man(7).</summary>
    public static string Write(RootCommand root, string version)
    {
        StringBuilder page = new();
        page.Append($".TH PROTORPC 1 \"\" \"protorpc {Escape(version)}\" \"User Commands\"\n");
        page.Append($".SH NAME\nprotorpc \\- {Escape(LowerFirst(root.Description!).TrimEnd('.'))}\n");
        page.Append(".SH SYNOPSIS\n.B protorpc\n.I VERB\n[\\fIargument\\fR ...] [\\fIoption\\fR ...]\n");
        page.Append(".SH VERBS\n");
        foreach (Command verb in root.Subcommands.Where(verb => !verb.Hidden)
            .OrderBy(verb => verb.Name, StringComparer.Ordinal))
        {
            Write(page, verb);
        }

        page.Append(
            """
            .SH EXIT STATUS
            .TP
            0
            Success.
            .TP
            1
            An error on this side: a schema, a message, a port in use.
            .TP
            2
            The command line cannot be understood.
            .TP
            4
            diff: changes of the schema break callers.
            .TP
            65 to 80
            The call failed: 64 and the number of its gRPC status, such as 69 for NOT_FOUND.

            """.ReplaceLineEndings("\n"));
        return page.ToString();
    }

    private static void Write(StringBuilder page, Command verb)
    {
        string arguments = string.Join(
            ' ', verb.Arguments.Where(one => !one.Hidden).Select(one => $"\\fI{Escape(one.Name)}\\fR"));
        page.Append($".SS \"protorpc {Escape(verb.Name)} {arguments}\"\n{Escape(verb.Description)}\n");
        foreach (Argument argument in verb.Arguments.Where(one => !one.Hidden))
        {
            page.Append($".TP\n\\fI{Escape(argument.Name)}\\fR\n{Escape(argument.Description)}\n");
        }

        foreach (Option option in verb.Options.Where(one => !one.Hidden))
        {
            string names = string.Join(
                ", ", option.Aliases.Prepend(option.Name).Select(name => $"\\fB{Escape(name)}\\fR"));
            string value = option.HelpName is { } help ? $" \\fI{Escape(help)}\\fR" : "";
            page.Append($".TP\n{names}{value}\n{Escape(option.Description)}\n");
        }

        foreach ((string does, string line) in VerbExamples.Get(verb.Name))
        {
            page.Append($".PP\n{Escape(does)}:\n.PP\n.nf\n.RS\n{Escape(line)}\n.RE\n.fi\n");
        }
    }

    // In roff, a backslash begins an escape, a dash is a hyphen, and a dot or quote at the start of a line
    // begins a macro.
    private static string Escape(string? text)
    {
        string escaped = (text ?? "").Replace("\\", "\\e", StringComparison.Ordinal)
            .Replace("-", "\\-", StringComparison.Ordinal)
            .Replace('\n', ' ');
        return escaped.StartsWith('.') || escaped.StartsWith('\'') ? $"\\&{escaped}" : escaped;
    }

    private static string LowerFirst(string text) => char.ToLowerInvariant(text[0]) + text[1..];
}

/// <summary><c>protorpc man</c>: the manual page.</summary>
internal static class ManVerb
{
    public static Command Create(ToolConsole console)
    {
        Command command = new("man", "Writes the manual page: protorpc man | man -l -");
        command.SetAction(parsed =>
        {
            string version = Assembly.GetExecutingAssembly()
                .GetCustomAttribute<AssemblyInformationalVersionAttribute>()?.InformationalVersion ?? "";
            console.Output.Write(ManualPage.Write(
                (RootCommand)parsed.RootCommandResult.Command, version.Split('+')[0]));
            console.Output.Flush();
            return ExitCode.Success;
        });
        return command;
    }
}

/// <summary>The help of the tool: under the name that users type, and with examples.</summary>
internal sealed class ToolHelp(HelpAction inner) : SynchronousCommandLineAction
{
    /// <summary>The name that users type.</summary>
    public const string Name = "protorpc";

    /// <summary>Replaces the library's help by this one.</summary>
    public static void Use(RootCommand root)
    {
        HelpOption option = root.Options.OfType<HelpOption>().Single();
        option.Action = new ToolHelp((HelpAction)option.Action!);
    }

    public override bool Terminating => true;

    // Help must work even if arguments are missing.
    public override bool ClearsParseErrors => true;

    public override int Invoke(ParseResult parseResult)
    {
        ArgumentNullException.ThrowIfNull(parseResult);
        Command command = parseResult.CommandResult.Command;
        using StringWriter help = new();
        TextWriter output = parseResult.InvocationConfiguration.Output;
        parseResult.InvocationConfiguration.Output = help;
        int code = inner.Invoke(parseResult);
        parseResult.InvocationConfiguration.Output = output;

        // The library uses the name of the running file, which may be an assembly or a test host.
        string file = parseResult.RootCommandResult.Command.Name;
        output.WriteLine(help.ToString().Replace($"  {file} ", $"  {Name} ", StringComparison.Ordinal)
            .TrimEnd());
        IReadOnlyList<(string Does, string Line)> examples = VerbExamples.Get(command.Name);
        if (examples.Count > 0)
        {
            output.WriteLine();
            output.WriteLine("Examples:");
            foreach ((string does, string line) in examples)
            {
                output.WriteLine($"  {does}:");
                output.WriteLine($"    {line}");
            }
        }

        return code;
    }
}

/// <summary>Examples of each verb, for its help and for the manual page.</summary>
internal static class VerbExamples
{
    private static readonly Dictionary<string, (string Does, string Line)[]> Examples = new()
    {
        ["bench"] =
        [
            ("Call a method for 10 seconds with 10 callers",
                "protorpc bench grpc://localhost:50051 Greeter/SayHello -d '{\"name\":\"Ann\"}' -c 10"),
            ("Compare two endpoints, which are called in turns",
                "protorpc bench tcp://localhost:8080 Search --endpoint grpc://localhost:50051 "
                + "--schema search.proto --random"),
        ],
        ["call"] =
        [
            ("Call a method of a server that offers reflection",
                "protorpc call grpc://localhost:50051 Greeter/SayHello -d '{\"name\":\"Ann\"}'"),
            ("Call by fields, with a schema of your own and a header",
                "protorpc call tcp://localhost:8080 Search --schema search.proto --set query=tea "
                + "-H 'tenant: a'"),
        ],
        ["completion"] =
        [
            ("Complete in this bash", "source <(protorpc completion bash)"),
            ("Complete in every PowerShell",
                "protorpc completion pwsh >> $PROFILE"),
        ],
        ["demo"] = [("Say hello over three transports", "protorpc demo")],
        ["describe"] =
        [
            ("Describe a message", "protorpc describe --schema shop.proto Shop.Order"),
        ],
        ["diff"] =
        [
            ("Find what a new version breaks for its callers", "protorpc diff shop-1.0.pb ./protos"),
            ("Compare files with the running server, for binary messages only",
                "protorpc diff grpc://localhost:50051 ./protos --category wire --exclude '*.v1alpha*'"),
        ],
        ["export"] =
        [
            ("Write the .proto files of a server", "protorpc export grpc://localhost:50051 -o ./protos"),
            ("Write an OpenAPI document of .proto files",
                "protorpc export --schema shop.proto -o shop.openapi.json"),
        ],
        ["health"] = [("Ask whether a service serves", "protorpc health grpc://localhost:50051")],
        ["list"] = [("List the services of .proto files", "protorpc list --schema shop.proto")],
        ["listen"] =
        [
            ("Answer a method on three transports",
                "protorpc listen grpc://127.0.0.1:50051 http://127.0.0.1:8080/ local://search "
                + "--schema search.proto --reply 'Search={\"result\":[{\"url\":\"http://a.example\"}]}'"),
            ("Answer by a template of the request",
                "protorpc listen grpc://127.0.0.1:50051 --schema search.proto "
                + "--template 'Search={\"result\":[{\"url\":\"/{{request.query}}\"}]}'"),
            ("Answer each call by running a program",
                "protorpc listen grpc://127.0.0.1:50051 --schema search.proto --exec './handler.py'"),
        ],
        ["mock"] =
        [
            ("Serve valid replies to every call, each after 50 ms",
                "protorpc mock grpc://127.0.0.1:50051 --schema shop.proto --latency 0.05"),
        ],
        ["ping"] = [("Ask a server whether it is there", "protorpc ping tcp://localhost:8080")],
        ["proxy"] =
        [
            ("Put gRPC before a native server",
                "protorpc proxy grpc://127.0.0.1:50051 tcp://old:1234 --schema old.proto"),
        ],
        ["repl"] =
        [
            ("Talk to a server line by line", "protorpc repl grpc://localhost:50051"),
            ("Run commands from a file",
                "protorpc repl tcp://localhost:8080 --schema search.proto < commands.txt"),
        ],
    };

    /// <summary>The examples of a verb: what each does, and its command line.</summary>
    public static IReadOnlyList<(string Does, string Line)> Get(string verb) =>
        Examples.GetValueOrDefault(verb, []);
}
