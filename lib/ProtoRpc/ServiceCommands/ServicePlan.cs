using System.Collections.Frozen;
using ProtoRpc.Messages;

namespace ProtoRpc.ServiceCommands;

/// <summary>The commands of a module for services.</summary>
internal sealed class ServicePlan
{
    /// <summary>The maximum number of methods of one module.</summary>
    public const int MaxCommands = 10_000;

    // Each command is a class with a property for each parameter, and classes stay in memory until the
    // process ends.
    private const int MaxParameters = 1000;
    private const int MaxAllParameters = 50_000;

    private const int MaxPrefixLength = 60;

    // The services of gRPC itself, which other tools call.
    private static readonly string[] OwnPackages = ["grpc.reflection.", "grpc.health.", "grpc.channelz."];

    private readonly Dictionary<string, ServiceCommand> _byName;

    private ServicePlan(
        RpcSchema schema, string moduleName, string prefix, IReadOnlyList<ServiceCommand> commands)
    {
        Schema = schema;
        ModuleName = moduleName;
        Prefix = prefix;
        Commands = commands;
        _byName = commands.ToDictionary(command => command.Name, StringComparer.OrdinalIgnoreCase);
    }

    /// <summary>The schema with the methods.</summary>
    public RpcSchema Schema { get; }

    /// <summary>The module's name: the prefix, else the name of the first service.</summary>
    public string ModuleName { get; }

    /// <summary>The prefix of each noun; may be empty.</summary>
    public string Prefix { get; }

    /// <summary>The commands in declared order.</summary>
    public IReadOnlyList<ServiceCommand> Commands { get; }

    /// <summary>The commands without a parameter for each field, because their requests have too many fields,
    /// or there are too many commands. The request is given as a whole.</summary>
    public IEnumerable<ServiceCommand> WithoutParameters => Commands.Where(command => !command.HasParameters);

    /// <summary>The commands that got a longer name, because a command of the shell has the
    /// shorter one.</summary>
    public IEnumerable<(ServiceCommand Command, string Shorter)> Renamed => Commands
        .Select(command => (command, CommandNames.Shortest(command.Method, Prefix)))
        .Where(pair => ShellCommands.Names.Contains(pair.Item2));

    /// <summary>Plans the commands. None has a name of <see cref="ShellCommands"/>.</summary>
    /// <param name="schema">Has the services.</param>
    /// <param name="services">The services by their names; empty for all but those of gRPC itself.</param>
    /// <param name="prefix">The prefix of each noun.</param>
    /// <param name="taken">Names of commands that the module has already.</param>
    /// <exception cref="RpcException">InvalidArgument or NotFound: the prefix cannot be part of a name, a
    /// service does not exist, or the number of methods is zero or too large.</exception>
    public static ServicePlan Create(
        RpcSchema schema, IReadOnlyCollection<string> services, string prefix,
        params IEnumerable<string> taken)
    {
        CheckPrefix(prefix);
        List<RpcServiceInfo> chosen = services.Count > 0
            ? [.. services.Select(schema.GetService).Distinct()]
            : [.. schema.Services.Where(service => !IsOwn(service))];
        List<RpcMethodInfo> methods = [.. chosen.SelectMany(service => service.Methods)];
        if (methods.Count is 0 or > MaxCommands)
        {
            throw NotMade(chosen, methods.Count);
        }

        IReadOnlyList<string> names =
            CommandNames.Create(methods, prefix, [.. ShellCommands.Names, .. taken]);
        int left = MaxAllParameters;
        List<ServiceCommand> commands = [];
        for (int i = 0; i < methods.Count; i++)
        {
            int fields = methods[i].RequestType.Fields.Count;
            bool hasParameters = fields <= MaxParameters && fields <= left;
            left -= hasParameters ? fields : 0;
            commands.Add(new ServiceCommand(names[i], methods[i], hasParameters));
        }

        string first = NameWords.Pascal(chosen[0].Name);
        string moduleName = prefix.Length > 0 ? prefix : first.Length > 0 ? first : "Service";
        return new(schema, moduleName, prefix, commands);
    }

    /// <summary>A command by its name, or null.</summary>
    public ServiceCommand? Find(string name) => _byName.GetValueOrDefault(name);

    private static bool IsOwn(RpcServiceInfo service) =>
        OwnPackages.Any(package => service.FullName.StartsWith(package, StringComparison.Ordinal));

    private static void CheckPrefix(string prefix)
    {
        bool isWord = prefix.Length == 0
            || (char.IsAsciiLetter(prefix[0]) && prefix.All(char.IsAsciiLetterOrDigit)
                && prefix.Length <= MaxPrefixLength);
        if (!isWord)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidPrefix,
                $"'{prefix}' cannot be part of a command's name. Give up to {MaxPrefixLength} ASCII letters "
                + "and digits, the first one a letter, such as 'Shop'.");
        }
    }

    private static RpcException NotMade(List<RpcServiceInfo> services, int count) => count == 0
        ? new(
            RpcStatusCode.NotFound, RpcErrorIds.NoMethods,
            services.Count == 0
                ? "The schema has no services to make commands for."
                : $"{string.Join(", ", services.Take(5))}: there are no methods to make commands for.")
        : new(
            RpcStatusCode.InvalidArgument, RpcErrorIds.TooManyMethods,
            $"There are {count:N0} methods, and a module has at most {MaxCommands:N0} commands. Choose "
            + "fewer services.");
}

/// <summary>The command of a method, from the schema.</summary>
internal sealed class ServiceCommand
{
    // Methods with other verbs may make changes that cannot be undone.
    private static readonly FrozenSet<string> ReadingVerbs = FrozenSet.Create(
        StringComparer.OrdinalIgnoreCase,
        "ConvertFrom", "ConvertTo", "Find", "Get", "Measure", "Read", "Search", "Test", "Watch");

    private readonly Lazy<FrozenDictionary<string, CommandParameter>> _byName;
    private readonly Lazy<FrozenDictionary<string, CommandParameter>> _byField;

    public ServiceCommand(string name, RpcMethodInfo method, bool hasParameters)
    {
        Name = name;
        Method = method;
        HasParameters = hasParameters;
        IsPaged = PagedMethod.IsPaged(method);
        Parameters = hasParameters ? CommandParameters.Create(method.RequestType, IsPaged) : [];
        WellKnown = WellKnownTypes.Get(method.RequestType);
        _byName = new(() => Index(Parameters));
        _byField = new(() => IndexFields(Parameters));
    }

    /// <summary>The name, verb and noun.</summary>
    public string Name { get; }

    public RpcMethodInfo Method { get; }

    /// <summary>Whether the fields have parameters. Requests with very many fields are given whole.</summary>
    public bool HasParameters { get; }

    /// <summary>Whether the command has <c>-WhatIf</c> and <c>-Confirm</c>: not if it only reads.</summary>
    public bool CanConfirm => !ReadingVerbs.Contains(Name.Split('-')[0]);

    /// <summary>Whether the method returns a list in pages, so that the command has <c>-All</c>.</summary>
    public bool IsPaged { get; }

    /// <summary>The parameter that a text from the pipeline sets: that of the only field, if it accepts text
    /// or numbers; otherwise null.</summary>
    public CommandParameter? OnlyValue =>
        Parameters is [{ Field: { IsMap: false } single } only]
        && (single.MessageType is not { } type
            || WellKnownTypes.Get(type) is WellKnownType.Timestamp or WellKnownType.Duration
                or WellKnownType.Wrapper or WellKnownType.FieldMask)
            ? only
            : null;

    /// <summary>Which of the well-known types the request is, whose values are requests themselves.</summary>
    public WellKnownType WellKnown { get; }

    /// <summary>The parameters of the fields, in declared order.</summary>
    public IReadOnlyList<CommandParameter> Parameters { get; }

    /// <summary>The parameter of a name, as the shell binds it; or null.</summary>
    public CommandParameter? FindByName(string name) =>
        _byName.Value.GetValueOrDefault(name) is { } parameter
        && parameter.Name.Equals(name, StringComparison.OrdinalIgnoreCase) ? parameter : null;

    /// <summary>The parameter whose field has exactly this name, or that has it as its name or alias; or
    /// null.</summary>
    public CommandParameter? FindParameter(string name) =>
        _byField.Value.GetValueOrDefault(name) ?? _byName.Value.GetValueOrDefault(name);

    // The names of fields may differ only in case, and one field's parameter may have the name of another
    // field.
    private static FrozenDictionary<string, CommandParameter> IndexFields(
        IReadOnlyList<CommandParameter> parameters)
    {
        Dictionary<string, CommandParameter> byField =
            parameters.ToDictionary(parameter => parameter.Field.Name, StringComparer.Ordinal);
        foreach (CommandParameter parameter in parameters)
        {
            byField.TryAdd(parameter.Field.JsonKey, parameter);
        }

        return byField.ToFrozenDictionary(StringComparer.Ordinal);
    }

    // Parameter names are added first, because one parameter's name may be another one's field.
    private static FrozenDictionary<string, CommandParameter> Index(
        IReadOnlyList<CommandParameter> parameters)
    {
        Dictionary<string, CommandParameter> byName = new(StringComparer.OrdinalIgnoreCase);
        foreach (CommandParameter parameter in parameters)
        {
            byName.TryAdd(parameter.Name, parameter);
        }

        foreach (CommandParameter parameter in parameters)
        {
            foreach (string alias in parameter.Aliases)
            {
                byName.TryAdd(alias, parameter);
            }
        }

        foreach (CommandParameter parameter in parameters)
        {
            byName.TryAdd(parameter.Field.Name, parameter);
            byName.TryAdd(parameter.Field.JsonKey, parameter);
        }

        return byName.ToFrozenDictionary(StringComparer.OrdinalIgnoreCase);
    }
}

/// <summary>The parameter of a command for a field of the request.</summary>
/// <param name="Name">The parameter's name.</param>
/// <param name="Aliases">Other names: the field's name, if it differs.</param>
/// <param name="Field">The field.</param>
/// <param name="Type">The type of its argument.</param>
internal sealed record CommandParameter(
    string Name, IReadOnlyList<string> Aliases, RpcFieldInfo Field, Type Type)
{
    // Further values would not help in a syntax, and a hostile schema can have millions.
    private const int MaxValues = 200;

    /// <summary>Whether it is a switch: a bool that can be omitted.</summary>
    public bool IsSwitch { get; init; }

    /// <summary>Whether its value needs no name: the first required field, or the only field.</summary>
    public bool IsPositional { get; init; }

    /// <summary>How it reads text.</summary>
    public ArgumentText Text { get; init; }

    /// <summary>Whether the parameter is mandatory.</summary>
    public bool IsMandatory => Field.IsRequired;

    /// <summary>The suggested names of the field's enum.</summary>
    public IEnumerable<string> EnumNames =>
        Field.EnumType?.Values.Select(value => value.Key).Take(MaxValues) ?? [];
}

/// <summary>The names of commands of PowerShell's modules and of ProtoRpc, which commands of services must
/// not have.</summary>
/// <remarks>The last module that is imported wins, so a method ConvertToSecureString would receive the
/// secrets that a script passes to ConvertTo-SecureString. The list is fixed, because a module
/// that is exported on one system is imported on others, which have more commands.</remarks>
internal static class ShellCommands
{
    private const string OfPowerShell =
        """
        Add-Content Add-History Add-Member Add-Type Clear-Content Clear-History Clear-Host Clear-Item
        Clear-ItemProperty Clear-RecycleBin Clear-Variable Compare-Object Compress-Archive
        Compress-PSResource Connect-PSSession Connect-WSMan Convert-Path ConvertFrom-CliXml ConvertFrom-Csv
        ConvertFrom-Json ConvertFrom-Markdown ConvertFrom-SddlString ConvertFrom-SecureString
        ConvertFrom-StringData ConvertTo-CliXml ConvertTo-Csv ConvertTo-Html ConvertTo-Json
        ConvertTo-SecureString ConvertTo-Xml Copy-Item Copy-ItemProperty Debug-Job Debug-Process
        Debug-Runspace Disable-ExperimentalFeature Disable-PSBreakpoint Disable-PSRemoting
        Disable-PSSessionConfiguration Disable-PSTrace Disable-PSWSManCombinedTrace Disable-RunspaceDebug
        Disable-WSManCredSSP Disable-WSManTrace Disconnect-PSSession Disconnect-WSMan
        Enable-ExperimentalFeature Enable-PSBreakpoint Enable-PSRemoting Enable-PSSessionConfiguration
        Enable-PSTrace Enable-PSWSManCombinedTrace Enable-RunspaceDebug Enable-WSManCredSSP
        Enable-WSManTrace Enter-PSHostProcess Enter-PSSession Exit-PSHostProcess Exit-PSSession
        Expand-Archive Export-Alias Export-Clixml Export-Csv Export-FormatData Export-ModuleMember
        Export-PSSession Find-Command Find-DSCResource Find-Module Find-Package Find-PackageProvider
        Find-PSResource Find-RoleCapability Find-Script ForEach-Object Format-Custom Format-Hex Format-List
        Format-Table Format-Wide Get-Acl Get-Alias Get-AuthenticodeSignature Get-ChildItem
        Get-CimAssociatedInstance Get-CimClass Get-CimInstance Get-CimSession Get-Clipboard Get-CmsMessage
        Get-Command Get-ComputerInfo Get-Content Get-Counter Get-Credential Get-CredsFromCredentialProvider
        Get-Culture Get-Date Get-DscResource Get-Error Get-Event Get-EventSubscriber Get-ExecutionPolicy
        Get-ExperimentalFeature Get-FileHash Get-FormatData Get-Help Get-History Get-Host Get-HotFix
        Get-InstalledModule Get-InstalledPSResource Get-InstalledScript Get-Item Get-ItemProperty
        Get-ItemPropertyValue Get-Job Get-Location Get-LogProperties Get-MarkdownOption Get-Member
        Get-Module Get-Package Get-PackageProvider Get-PackageSource Get-PfxCertificate Get-Process
        Get-PSBreakpoint Get-PSCallStack Get-PSDrive Get-PSHostProcessInfo Get-PSProvider
        Get-PSReadLineKeyHandler Get-PSReadLineOption Get-PSRepository Get-PSResourceRepository
        Get-PSScriptFileInfo Get-PSSession Get-PSSessionCapability Get-PSSessionConfiguration
        Get-PSSubsystem Get-Random Get-Runspace Get-RunspaceDebug Get-SecureRandom Get-Service Get-TimeZone
        Get-TraceSource Get-TypeData Get-UICulture Get-Unique Get-Uptime Get-Variable Get-Verb Get-WinEvent
        Get-WSManCredSSP Get-WSManInstance Group-Object Import-Alias Import-Clixml Import-Csv
        Import-LocalizedData Import-Module Import-PackageProvider Import-PowerShellDataFile
        Import-PSGetRepository Import-PSSession Install-Module Install-Package Install-PackageProvider
        Install-PSResource Install-Script Invoke-CimMethod Invoke-Command Invoke-DscResource
        Invoke-Expression Invoke-History Invoke-Item Invoke-RestMethod Invoke-WebRequest Invoke-WSManAction
        Join-Path Join-String Measure-Command Measure-Object Move-Item Move-ItemProperty New-Alias
        New-CimInstance New-CimSession New-CimSessionOption New-DscChecksum New-Event New-FileCatalog
        New-Guid New-Item New-ItemProperty New-Module New-ModuleManifest New-Object New-PSDrive
        New-PSRoleCapabilityFile New-PSScriptFileInfo New-PSSession New-PSSessionConfigurationFile
        New-PSSessionOption New-PSTransportOption New-ScriptFileInfo New-Service New-TemporaryFile
        New-TimeSpan New-Variable New-WinEvent New-WSManInstance New-WSManSessionOption Out-Default Out-File
        Out-GridView Out-Host Out-Null Out-Printer Out-String Pop-Location Protect-CmsMessage Publish-Module
        Publish-PSResource Publish-Script Push-Location Read-Host Receive-Job Receive-PSSession
        Register-ArgumentCompleter Register-CimIndicationEvent Register-EngineEvent Register-ObjectEvent
        Register-PackageSource Register-PSRepository Register-PSResourceRepository
        Register-PSSessionConfiguration Remove-Alias Remove-CimInstance Remove-CimSession Remove-Event
        Remove-Item Remove-ItemProperty Remove-Job Remove-Module Remove-PSBreakpoint Remove-PSDrive
        Remove-PSReadLineKeyHandler Remove-PSSession Remove-Service Remove-TypeData Remove-Variable
        Remove-WSManInstance Rename-Computer Rename-Item Rename-ItemProperty Reset-PSResourceRepository
        Resolve-Path Restart-Computer Restart-Service Resume-Service Save-Help Save-Module Save-Package
        Save-PSResource Save-Script Select-Object Select-String Select-Xml Send-MailMessage Set-Acl
        Set-Alias Set-AuthenticodeSignature Set-CimInstance Set-Clipboard Set-Content Set-Date
        Set-ExecutionPolicy Set-Item Set-ItemProperty Set-Location Set-LogProperties Set-MarkdownOption
        Set-PackageSource Set-PSBreakpoint Set-PSDebug Set-PSReadLineKeyHandler Set-PSReadLineOption
        Set-PSRepository Set-PSResourceRepository Set-PSSessionConfiguration Set-Service Set-StrictMode
        Set-TimeZone Set-TraceSource Set-Variable Set-WSManInstance Set-WSManQuickConfig Show-Command
        Show-Markdown Sort-Object Split-Path Start-Job Start-Process Start-Service Start-Sleep
        Start-ThreadJob Start-Trace Start-Transcript Stop-Computer Stop-Job Stop-Process Stop-Service
        Stop-Trace Stop-Transcript Suspend-Service Switch-Process Tee-Object Test-Connection
        Test-FileCatalog Test-Json Test-ModuleManifest Test-Path Test-PSScriptFileInfo Test-ScriptFileInfo
        Test-WSMan Trace-Command Unblock-File Uninstall-Module Uninstall-Package Uninstall-PSResource
        Uninstall-Script Unprotect-CmsMessage Unregister-Event Unregister-PackageSource
        Unregister-PSRepository Unregister-PSResourceRepository Unregister-PSSessionConfiguration
        Update-FormatData Update-Help Update-List Update-Module Update-ModuleManifest
        Update-PSModuleManifest Update-PSResource Update-PSScriptFileInfo Update-Script
        Update-ScriptFileInfo Update-TypeData Wait-Debugger Wait-Event Wait-Job Wait-Process Where-Object
        Write-Debug Write-Error Write-Host Write-Information Write-Output Write-Progress Write-Verbose
        Write-Warning
        """;

    private const string OfProtoRpc =
        """
        Assert-RpcMockCall Close-RpcStream Compare-RpcSchema Complete-RpcStream Connect-RpcEndpoint
        ConvertFrom-RpcMessage ConvertTo-RpcMessage
        ConvertTo-RpcRecord Disable-RpcCompletion Disconnect-RpcEndpoint Enable-RpcCompletion
        Export-RpcSchema Export-RpcService Get-RpcConnection Get-RpcEndpoint Get-RpcListener
        Get-RpcMessageType Get-RpcMethod Get-RpcMockCall Get-RpcService Get-RpcSession Import-RpcSchema
        Import-RpcService Invoke-RpcMethod Measure-RpcEndpoint New-RpcConnectionOption
        New-RpcListenerOption New-RpcMessage New-RpcMock Open-RpcStream Receive-RpcListener
        Receive-RpcStream Register-RpcEndpoint Remove-RpcSession Send-RpcStream Set-RpcListener
        Set-RpcMock Start-RpcListener Stop-RpcListener Test-RpcEndpoint
        Unregister-RpcEndpoint Wait-RpcEndpoint Wait-RpcListener
        """;

    /// <summary>All names; their case does not matter.</summary>
    public static FrozenSet<string> Names { get; } = $"{OfPowerShell}\n{OfProtoRpc}"
        .Split([' ', '\n', '\r'], StringSplitOptions.RemoveEmptyEntries)
        .ToFrozenSet(StringComparer.OrdinalIgnoreCase);
}
