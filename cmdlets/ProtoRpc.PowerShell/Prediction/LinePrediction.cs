using System.Management.Automation.Language;
using System.Management.Automation.Runspaces;
using System.Management.Automation.Subsystem;
using System.Management.Automation.Subsystem.Prediction;
using System.Reflection;
using ProtoRpc.Messages;
using ProtoRpc.PowerShell.Completion;
using ProtoRpc.PowerShell.Connections;
using ProtoRpc.PowerShell.Objects;
using ProtoRpc.Protocols.Native;

namespace ProtoRpc.PowerShell.Prediction;

/// <summary>Predicts the rest of a line with Invoke-RpcMethod: names of methods with their requests, and keys
/// and values of messages.</summary>
/// <remarks>It runs without a runspace, so it cannot read variables. It uses the schemas of the open
/// connections, or of the endpoint that the line names.</remarks>
internal static class LinePrediction
{
    private const string Cmdlet = "Invoke-RpcMethod";

    // Longer lists are not useful, and PSReadLine waits only 20 ms.
    private const int MaxLines = 10;
    private const int MaxInput = 4096;

    // About two lines of a terminal.
    private const int MaxTemplate = 200;

    /// <summary>The predicted lines, all of which begin with the input.</summary>
    public static IReadOnlyList<CompletionResult> Predict(string input, RunspaceStore store)
    {
        if (input.Length > MaxInput || !input.Contains(Cmdlet, StringComparison.OrdinalIgnoreCase))
        {
            return [];
        }

        return
        [
            .. (HashtablePlace.Find(input, input.Length) is { } place
                    ? InTable(input, place, store)
                    : OfCommand(input, store))
                .Where(line => line.CompletionText.Length > input.Length
                    && line.CompletionText.StartsWith(input, StringComparison.OrdinalIgnoreCase))
                .DistinctBy(line => line.CompletionText)
                .Take(MaxLines),
        ];
    }

    private static IEnumerable<CompletionResult> InTable(
        string input, HashtablePlace place, RunspaceStore store)
    {
        if (CommandCall.Find(place.Line, place.Cursor) is not { } call
            || call is not { WritesMessage: true, Method: { } method })
        {
            return [];
        }

        HashtableShape? shape =
            HashtableShape.OfMessage(MessageCompleter.RequestTypes(SchemasOf(call, store), method));
        foreach (string key in place.Path)
        {
            shape = shape?.Inside(key);
        }

        string before = input[..place.Index];
        return shape is null ? [] : HashtableCompletion.Candidates(shape, place)
            .Select(candidate => LineOf(
                $"{before}{candidate.Text}{(place.Key is null ? " = " : "")}", candidate.ToolTip));
    }

    private static IEnumerable<CompletionResult> OfCommand(string input, RunspaceStore store)
    {
        if (CommandCall.Find(input, input.Length) is not { } call)
        {
            return [];
        }

        IEnumerable<RpcMethodInfo> methods = SchemasOf(call, store)
            .SelectMany(schema => schema.Services)
            .SelectMany(service => service.Methods);
        if (call.WritesMethod)
        {
            string word = call.Method ?? "";
            string before = input[..call.MethodStart];
            return methods
                .Where(method => method.Name.StartsWith(word, StringComparison.OrdinalIgnoreCase))
                .Select(method => LineOf(
                    $"{before}{ScriptLiteral.Argument(method.Name)}{TemplateOf(method.RequestType)}",
                    MethodCompleter.ToolTip(method)));
        }

        return call is { AwaitsMessage: true, Method: { } name }
            ? MessageCompleter.RequestTypes(SchemasOf(call, store), name)
                .Select(type => LineOf($"{input.TrimEnd()}{TemplateOf(type)}", type.FullName))
            : [];
    }

    private static string TemplateOf(RpcMessageInfo type)
    {
        string template = ScriptLiteral.Format(ShellMapper.Create(asHashtable: true).Template(type));
        return template.Length <= MaxTemplate && !template.Contains('\n', StringComparison.Ordinal)
            ? $" {template}"
            : " @{ ";
    }

    private static CompletionResult LineOf(string line, string toolTip) =>
        RpcCompleter.Candidate.OfScript(line, toolTip).ToResult(CompletionResultType.Text);

    // The values of variables are not available here.
    private static IEnumerable<RpcSchema> SchemasOf(CommandCall call, RunspaceStore store) =>
        call.Has("Schema") ? []
        : !call.Has("Endpoint")
            ? store.Connections.Select(connection => connection.Schema).OfType<RpcSchema>().Distinct()
        : RpcEndpoint.TryParse(call.TextOf("Endpoint"), out RpcEndpoint? endpoint)
            ? store.SchemasOf(endpoint)
            : [];

    /// <summary>The last Invoke-RpcMethod of a line, as far as it is typed.</summary>
    private sealed class CommandCall
    {
        private static readonly PropertyInfo[] Parameters = typeof(InvokeRpcMethodCommand).GetProperties();

        private readonly Dictionary<string, CommandElementAst?> _named =
            new(StringComparer.OrdinalIgnoreCase);
        private readonly List<CommandElementAst> _positional = [];
        private readonly int _cursor;

        private CommandCall(CommandAst command, int cursor)
        {
            _cursor = cursor;
            for (int i = 1; i < command.CommandElements.Count; i++)
            {
                if (command.CommandElements[i] is not CommandParameterAst parameter)
                {
                    _positional.Add(command.CommandElements[i]);
                    continue;
                }

                string name = NameOf(parameter.ParameterName);
                CommandElementAst? value = parameter.Argument
                    ?? (IsSwitch(name) ? null : command.CommandElements.ElementAtOrDefault(i + 1));
                _named[name] = value;
                i += parameter.Argument is null && value is not null ? 1 : 0;
            }
        }

        /// <summary>The method, or the typed part of its name.</summary>
        public string? Method => MethodElement is StringConstantExpressionAst text ? text.Value : null;

        public int MethodStart => MethodElement?.Extent.StartOffset ?? _cursor;

        /// <summary>Whether the cursor is in the name of the method.</summary>
        public bool WritesMethod => MethodElement is null ? !Has("Message") : IsAtCursor(MethodElement);

        /// <summary>Whether the cursor is in the message.</summary>
        public bool WritesMessage => MessageElement is { } message && IsAtCursor(message);

        /// <summary>Whether the method is known and no message was given.</summary>
        public bool AwaitsMessage =>
            MessageElement is null && !Has("MessagePath") && _positional.Count <= (Has("Method") ? 0 : 1);

        private CommandElementAst? MethodElement => Has("Method")
            ? _named["Method"]
            : _positional.FirstOrDefault();

        private CommandElementAst? MessageElement =>
            _named.GetValueOrDefault("Message") ?? _named.GetValueOrDefault("InputObject")
            ?? _positional.ElementAtOrDefault(Has("Method") ? 0 : 1);

        public static CommandCall? Find(string line, int cursor) =>
            Parser.ParseInput(line, out _, out _)
                .FindAll(ast => ast is CommandAst command && command.Extent.StartOffset < cursor, true)
                .Cast<CommandAst>()
                .LastOrDefault() is { } last
                && Cmdlet.Equals(last.GetCommandName(), StringComparison.OrdinalIgnoreCase)
                && last.CommandElements[0].Extent.EndOffset < cursor
                    ? new CommandCall(last, cursor)
                    : null;

        public bool Has(string parameter) => _named.ContainsKey(parameter);

        public string? TextOf(string parameter) =>
            (_named.GetValueOrDefault(parameter) as StringConstantExpressionAst)?.Value;

        private bool IsAtCursor(CommandElementAst element) =>
            element.Extent.StartOffset <= _cursor && element.Extent.EndOffset >= _cursor;

        // The names of parameters may be shortened if they stay unique.
        private static string NameOf(string written) => Parameters
            .Select(property => property.Name)
            .Where(name => name.StartsWith(written, StringComparison.OrdinalIgnoreCase))
            .OrderBy(name => name.Length)
            .FirstOrDefault() ?? written;

        private static bool IsSwitch(string name) => name is "Verbose" or "Debug" or "vb" or "db"
            || Array.Exists(Parameters, property =>
                property.PropertyType == typeof(SwitchParameter)
                && property.Name.Equals(name, StringComparison.OrdinalIgnoreCase));
    }
}

/// <summary>A predictor of command lines, which PSReadLine queries after each key. It is registered until it
/// is disposed.</summary>
internal sealed class CommandPredictor : ICommandPredictor, IDisposable
{
    private readonly Func<string, IReadOnlyList<CompletionResult>> _suggest;

    private CommandPredictor(Func<string, IReadOnlyList<CompletionResult>> suggest) => _suggest = suggest;

    public Guid Id { get; } = Guid.NewGuid();

    public string Name => nameof(ProtoRpc);

    public string Description => "Methods and messages of Invoke-RpcMethod, by the open connections.";

    /// <summary>Registers a predictor.</summary>
    /// <param name="suggest">Returns complete lines, as lists show them, for the current input. Called on any
    /// thread, without a runspace, and must return within 20 ms.</param>
    public static CommandPredictor Register(Func<string, IReadOnlyList<CompletionResult>> suggest)
    {
        CommandPredictor predictor = new(suggest);
        SubsystemManager.RegisterSubsystem(SubsystemKind.CommandPredictor, predictor);
        return predictor;
    }

    public SuggestionPackage GetSuggestion(
        PredictionClient client, PredictionContext context, CancellationToken cancellationToken)
    {
        try
        {
            IReadOnlyList<CompletionResult> lines = _suggest(context.InputAst.Extent.Text);
            // A package rejects an empty list.
            return lines.Count == 0 ? default : new SuggestionPackage(
                [.. lines.Select(line => new PredictiveSuggestion(line.CompletionText, line.ToolTip))]);
        }
        catch (Exception)
        {
            // There is no place to show an error while the user types.
            return default;
        }
    }

    public void Dispose() => SubsystemManager.UnregisterSubsystem(SubsystemKind.CommandPredictor, Id);
}

/// <summary>Completes a line before the user first presses Tab, so that the code for the first Tab is
/// compiled and read from disk.</summary>
/// <remarks>The shell compiles its completion at the first Tab. The same is true for the module's, unless it
/// is compiled ahead of time. This compilation is most of the time of a first Tab.</remarks>
internal static class CompletionWarmUp
{
    private const string LineEditor = "Microsoft.PowerShell.PSReadLine";

    private static readonly Lazy<Thread> Begun = new(() =>
    {
        Thread thread = new(Run)
        {
            IsBackground = true,
            Name = nameof(CompletionWarmUp),
            Priority = ThreadPriority.BelowNormal,
        };
        thread.Start();
        return thread;
    });

    /// <summary>Begins in interactive sessions. There PSReadLine is loaded before a profile or a prompt
    /// imports the module; scripts never load it.</summary>
    public static void BeginAtPrompt()
    {
        if (Array.Exists(
            AppDomain.CurrentDomain.GetAssemblies(),
            assembly => assembly.FullName?.StartsWith(LineEditor, StringComparison.Ordinal) == true))
        {
            Begin();
        }
    }

    /// <summary>Begins once per process, on a thread with a lower priority.</summary>
    public static void Begin() => _ = Begun.Value;

    private static void Run()
    {
        try
        {
            RpcMethodInfo method = PingProtocol.Info;

            // A separate runspace, because the user's runspace runs the user's commands meanwhile.
            InitialSessionState state = InitialSessionState.CreateDefault2();
            state.Commands.Add(
                new SessionStateCmdletEntry("Invoke-RpcMethod", typeof(InvokeRpcMethodCommand), null));
            state.Variables.Add(new SessionStateVariableEntry("schema", method.Service.Schema, null));
            using Runspace runspace = RunspaceFactory.CreateRunspace(state);
            runspace.Name = "ProtoRpc completion";
            runspace.Open();
            Runspace.DefaultRunspace = runspace;
            const string Call = "Invoke-RpcMethod -Endpoint inproc://x -Schema $schema ";
            Complete($"{Call}-Method p");
            Complete($"{Call}-Method {method.Name} -Message @{{ ");
            Complete($"{Call}-Method {method.Name} -Message ");
            LinePrediction.Predict($"{Call}-Method p", RunspaceStore.Current);
            LinePrediction.Predict($"Invoke-RpcMethod {method.Name} @{{ s", RunspaceStore.Current);
            Runspace.DefaultRunspace = null;
        }
        catch (Exception)
        {
            // Errors are ignored here; the first Tab shows them.
        }
    }

    private static void Complete(string line) =>
        _ = HashtableCompletion.Find(line, line.Length, null)
            ?? CommandCompletion.CompleteInput(line, line.Length, null);
}
