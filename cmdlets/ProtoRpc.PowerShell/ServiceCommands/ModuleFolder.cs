using System.Text;
using ProtoRpc.PowerShell.Completion;
using ProtoRpc.ServiceCommands;

namespace ProtoRpc.PowerShell.ServiceCommands;

/// <summary>The files of a module that a team can publish: manifest, script, help, and the schema as a
/// descriptor set. It needs ProtoRpc and nothing else.</summary>
/// <param name="name">The module's name.</param>
/// <param name="plan">The commands.</param>
/// <param name="endpoint">Where they connect to by themselves, an endpoint or a registered name; null for
/// nowhere.</param>
/// <param name="protoRpc">The version of ProtoRpc that the module needs.</param>
internal sealed class ModuleFolder(string name, ServicePlan plan, string? endpoint, Version protoRpc)
{
    private const string SchemaFile = "schema.pb";
    private const string Service = "$__rpcService";

    private readonly string _name = name;

    /// <summary>The command that connects the module: Connect and the prefix, or else the module's name; with
    /// Service at the end if a command of the shell has this name.</summary>
    public static string ConnectName(string prefix, string moduleName)
    {
        string noun = prefix.Length > 0
            ? prefix
            : NameWords.Pascal(moduleName.Replace('.', '_').Replace('-', '_'));
        return ShellCommands.Names.Contains($"Connect-{noun}") ? $"Connect-{noun}Service" : $"Connect-{noun}";
    }

    /// <summary>The file with the help of a module's commands.</summary>
    public static string HelpPath(string folder, string moduleName) =>
        Path.Combine(folder, HelpFile(moduleName));

    /// <summary>Name and content of each file.</summary>
    public IReadOnlyList<KeyValuePair<string, byte[]>> Files() =>
    [
        new(SchemaFile, plan.Schema.ToDescriptorSet()),
        new(HelpFile(_name), CommandHelp.Write(plan.Commands)),
        new($"{_name}.psm1", Text(Script())),
        // The manifest is last: a folder without a manifest is not a module, so an incomplete one is not
        // loaded.
        new($"{_name}.psd1", Text(Manifest())),
    ];

    private static string HelpFile(string moduleName) => $"{moduleName}-Help.xml";

    private static byte[] Text(string text) => Encoding.UTF8.GetBytes(text);

    private string Script()
    {
        string services = string.Join(
            ", ",
            plan.Commands.Select(command => command.Method.Service.FullName).Distinct()
                .Select(ScriptLiteral.Format));
        return
            $$"""
            # Commands for the methods of {{services}}.
            # Made by Export-RpcService of ProtoRpc. Changes are lost when the module is made again.
            # The commands are cmdlets that are made of the schema when the module is imported.

            {{Service}} = [ProtoRpc.RpcServiceModule]::Load(
                $ExecutionContext.SessionState.Module,
                [System.IO.Path]::Combine($PSScriptRoot, '{{SchemaFile}}'),
                @({{services}}),
                {{ScriptLiteral.Format(plan.Prefix)}},
                {{ScriptLiteral.Format(ConnectName(plan.Prefix, _name))}},
                {{(endpoint is null ? "$null" : ScriptLiteral.Format(endpoint))}})
            $ExecutionContext.SessionState.Module.OnRemove = { {{Service}}.Dispose() }

            {{ConnectFunction()}}
            """.ReplaceLineEndings("\n");
    }

    // The function that connects the module. Its parameters are those of Connect-RpcEndpoint.
    private string ConnectFunction()
    {
        string isMandatory = endpoint is null ? "Mandatory, " : "";
        return
            $$"""
            function {{ConnectName(plan.Prefix, _name)}} {
                # .SYNOPSIS
                # Connects the commands of this module to a service.
                # .DESCRIPTION
                # The commands call over this connection, which is closed with the module. The command also
                # takes the parameters of Connect-RpcEndpoint that say who calls and which server to trust.
                # .PARAMETER Endpoint
                # The service, as a string binding, a URI, or the name of a registered endpoint.
                # .PARAMETER PassThru
                # Returns the connection.
                # .EXAMPLE
                # PS> {{ConnectName(plan.Prefix, _name)}} grpc://localhost:50051
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

    private string Manifest()
    {
        IEnumerable<string> cmdlets = plan.Commands.Select(command => command.Name)
            .Order(StringComparer.OrdinalIgnoreCase)
            .Select(name => $"        {ScriptLiteral.Format(name)}\n");
        string services = string.Join(
            ", ", plan.Commands.Select(command => command.Method.Service.FullName).Distinct().Take(20));

        // The id is derived from the name and the services, so that creating the module again updates it.
        Guid id = InterfaceIds.OfName(InterfaceIds.Namespace, $"module:{_name}:{services}");
        return
            $$"""
            @{
                RootModule = {{ScriptLiteral.Format($"{_name}.psm1")}}
                ModuleVersion = '1.0.0'
                GUID = '{{id}}'
                Author = ''
                Description = {{ScriptLiteral.Format($"Commands for the methods of {services}.")}}
                PowerShellVersion = '7.6'
                CompatiblePSEditions = @('Core')
                RequiredModules = @(@{ ModuleName = 'ProtoRpc'; ModuleVersion = '{{protoRpc.ToString(3)}}' })
                FunctionsToExport = @({{ScriptLiteral.Format(ConnectName(plan.Prefix, _name))}})
                CmdletsToExport = @(
            {{string.Concat(cmdlets)}}    )
                VariablesToExport = @()
                AliasesToExport = @()
                PrivateData = @{ PSData = @{ Tags = @('protobuf', 'rpc') } }
            }

            """.ReplaceLineEndings("\n");
    }
}
