using System.CommandLine;
using System.CommandLine.Help;
using System.CommandLine.Invocation;

namespace ProtoRpc.Tool.Manual;

/// <summary>The help of the tool: under the name that users type, and with examples.</summary>
internal sealed class ToolHelp(HelpAction inner) : SynchronousCommandLineAction
{
    /// <summary>The name that users type.</summary>
    public const string Name = "protorpc";

    /// <summary>Puts this help in the place of the library's.</summary>
    public static void Use(RootCommand root)
    {
        HelpOption option = root.Options.OfType<HelpOption>().Single();
        option.Action = new ToolHelp((HelpAction)option.Action!);
    }

    public override bool Terminating => true;

    // Help is asked for where arguments are missing.
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

        // The library takes the name of the file that runs: an assembly, or a host of tests.
        string file = parseResult.RootCommandResult.Command.Name;
        output.WriteLine(help.ToString().Replace($"  {file} ", $"  {Name} ", StringComparison.Ordinal)
            .TrimEnd());
        IReadOnlyList<(string Does, string Line)> examples = VerbExamples.Of(command.Name);
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
