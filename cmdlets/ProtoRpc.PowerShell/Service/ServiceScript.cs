using System.Text;
using ProtoRpc.Commands;
using ProtoRpc.PowerShell.Completion;

namespace ProtoRpc.PowerShell.Service;

/// <summary>Writes the script of a module: a function for each command.</summary>
/// <remarks>What a schema says enters the script as identifiers, which the schema's reader has checked, as
/// quoted text (<see cref="ScriptLiteral"/>) or as comments (<see cref="CommandHelp"/>). The functions only
/// pass on what they get: <see cref="RpcServiceModule"/> makes the calls.</remarks>
internal static class ServiceScript
{
    /// <summary>The variable of the module that has the service. No parameter has underscores in its
    /// name.</summary>
    public const string Service = "$__rpcService";

    private const string Call = "$__rpcCall";

    // The two ways to give a request. An object of the pipeline decides for the second one, so the shell
    // looks for no property of it, which would take longer than the call: the request reads the properties.
    // A hashtable, which has no properties for the shell, can thus have the fields that must be there.
    private const string ByFields = "Fields";
    private const string ByInput = "InputObject";
    private const int MaxSuggestions = 20_000;
    private const int MaxSuggestedFields = 30;

    private static readonly Dictionary<Type, string> Types = new()
    {
        [typeof(object)] = "object",
        [typeof(string)] = "string",
        [typeof(bool)] = "bool",
        [typeof(int)] = "int",
        [typeof(long)] = "long",
        [typeof(uint)] = "uint",
        [typeof(ulong)] = "ulong",
        [typeof(float)] = "float",
        [typeof(double)] = "double",
        [typeof(byte)] = "byte",
        [typeof(TimeSpan)] = "timespan",
        [typeof(DateTimeOffset)] = "System.DateTimeOffset",
    };

    /// <summary>The bodies of the functions of a plan, with their help.</summary>
    /// <param name="commands">The commands.</param>
    /// <param name="service">An expression that gives the <see cref="RpcServiceModule"/>.</param>
    public static IEnumerable<KeyValuePair<string, string>> Write(
        IEnumerable<ServiceCommand> commands, string service)
    {
        TextBudget budget = new();
        foreach (ServiceCommand command in commands)
        {
            StringBuilder script = new();
            Write(script, command, service, budget);
            yield return new(command.Name, script.ToString());
        }
    }

    /// <summary>The function that connects the module of a folder.</summary>
    /// <param name="name">Its name.</param>
    /// <param name="endpoint">The endpoint when none is given; null for none.</param>
    public static string WriteConnect(string name, RpcEndpoint? endpoint)
    {
        string isMandatory = endpoint is null ? "Mandatory, " : "";
        return
            $$"""
            function {{name}} {
                # .SYNOPSIS
                # Connects the commands of this module to a service.
                # .DESCRIPTION
                # The commands call over this connection, which is closed with the module. The command also
                # takes the parameters of Connect-RpcEndpoint that say who calls and which server to trust.
                # .PARAMETER Endpoint
                # The service, as a string binding or a URI.
                # .PARAMETER PassThru
                # Returns the connection.
                # .EXAMPLE
                # PS> {{name}} grpc://localhost:50051
                [CmdletBinding()]
                [OutputType([ProtoRpc.RpcConnection])]
                param(
                    [Parameter({{isMandatory}}Position = 0)]
                    [ValidateNotNullOrEmpty()]
                    [string] $Endpoint,

                    [switch] $PassThru
                )

                dynamicparam { {{Service}}.ConnectParameters($PSCmdlet) }

                end {
                    $connection = {{Service}}.Connect($PSCmdlet, $PSBoundParameters)
                    if ($PassThru) { $connection }
                }
            }

            """.ReplaceLineEndings("\n");
    }

    private static void Write(
        StringBuilder script, ServiceCommand command, string service, TextBudget budget)
    {
        new CommandHelp(script, budget).Write(command);
        script.Append("    [CmdletBinding(DefaultParameterSetName = '").Append(ByFields)
            .Append("', PositionalBinding = $false)]\n")
            .Append("    [OutputType('").Append(command.Method.ReplyType.FullName).Append("')]\n")
            .Append("    param(\n");
        foreach (CommandParameter parameter in command.Parameters)
        {
            Write(script, parameter, budget);
        }

        string method = ScriptLiteral.Of(command.Method.FullName);
        script.Append(
            $$"""
                    [Parameter(ValueFromPipeline, ParameterSetName = '{{ByInput}}')]
                    [object] $InputObject,

                    [ValidateNotNullOrEmpty()]
                    [ArgumentCompleter([ProtoRpc.ConnectionCompleter])]
                    [ProtoRpc.RpcConnection[]] $Connection,

                    [ProtoRpc.DeadlineAttribute()]
                    [timespan] $Deadline,

                    [ValidateNotNull()]
                    [ArgumentCompleter([ProtoRpc.HeaderCompleter])]
                    [System.Collections.IDictionary] $Header,

                    [switch] $AsHashtable,

                    [ValidateRange(1, 10000)]
                    [int] $ThrottleLimit,

                    [switch] $AsJob
                )

                begin {
                    {{Call}} = $null
                    {{Call}} = {{service}}.Begin({{method}}, $PSCmdlet, $PSBoundParameters)
                }

                process { {{Call}}.Process($PSBoundParameters) }

                end { {{Call}}.End() }

                clean { if ($null -ne {{Call}}) { {{Call}}.Dispose() } }

            """.ReplaceLineEndings("\n"));
    }

    private static void Write(StringBuilder script, CommandParameter parameter, TextBudget budget)
    {
        script.Append("        [Parameter(").Append(parameter.IsMandatory ? "Mandatory, " : "")
            .Append("ValueFromPipelineByPropertyName, ParameterSetName = '").Append(ByFields).Append("')]\n")
            .Append("        [Parameter(ParameterSetName = '").Append(ByInput).Append("')]\n");
        if (parameter.Aliases.Count > 0)
        {
            script.Append("        [Alias(").AppendJoin(", ", parameter.Aliases.Select(ScriptLiteral.Of))
                .Append(")]\n");
        }

        if (parameter.Text != ArgumentText.Plain)
        {
            script.Append("        [ProtoRpc.RpcFieldTextAttribute('").Append(parameter.Text).Append("')]\n");
        }

        AppendSuggestions(script, parameter, budget);
        if (parameter.IsMandatory && (parameter.Type.IsArray || parameter.Type == typeof(string)))
        {
            script.Append(parameter.Type.IsArray
                ? "        [AllowEmptyCollection()]\n"
                : "        [AllowEmptyString()]\n");
        }

        script.Append("        [").Append(parameter.IsSwitch ? "switch" : TypeName(parameter.Type))
            .Append("] $").Append(parameter.Name).Append(",\n\n");
    }

    private static void AppendSuggestions(StringBuilder script, CommandParameter parameter, TextBudget budget)
    {
        IEnumerable<string> values = parameter.Field switch
        {
            { IsMap: true } => [],
            { EnumType: not null } => parameter.EnumNames,
            { MessageType: { } type } when parameter.Type == typeof(object)
                || parameter.Type == typeof(object[]) => [TemplateOf(type)],
            _ => [],
        };
        string text = string.Join(", ", values.Where(value => value.Length > 0).Select(ScriptLiteral.Of));
        if (text.Length is > 0 and <= MaxSuggestions && budget.Take(text, MaxSuggestions) is { Length: > 0 })
        {
            script.Append("        [ArgumentCompletions(").Append(text).Append(")]\n");
        }
    }

    // The nested message as a hashtable to be filled in; its own messages are empty ones.
    private static string TemplateOf(RpcMessageInfo type) => ScriptLiteral.Table(
        type.Fields.Take(MaxSuggestedFields).Select(field =>
            KeyValuePair.Create<object, string>(field.Name, EmptyOf(field))));

    private static string EmptyOf(RpcFieldInfo field) => field switch
    {
        { IsMap: true } => "@{}",
        { IsRepeated: true } => "@()",
        { Kind: RpcFieldKind.Message or RpcFieldKind.Group } => "@{}",
        { Kind: RpcFieldKind.String or RpcFieldKind.Bytes } => "''",
        { Kind: RpcFieldKind.Bool } => "$false",
        { EnumType: { Values: [var first, ..] } } => ScriptLiteral.Of(first.Key),
        _ => "0",
    };

    private static string TypeName(Type type) =>
        type.IsArray ? $"{TypeName(type.GetElementType()!)}[]" : Types[type];
}
