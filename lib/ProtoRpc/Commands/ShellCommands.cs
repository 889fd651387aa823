using System.Collections.Frozen;

namespace ProtoRpc.Commands;

/// <summary>The names that no command of a service gets: those of the commands of PowerShell's modules and of
/// ProtoRpc.</summary>
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
        Assert-RpcMockCall Connect-RpcEndpoint ConvertFrom-RpcMessage ConvertTo-RpcMessage
        ConvertTo-RpcRecord Disable-RpcCompletion Disconnect-RpcEndpoint Enable-RpcCompletion
        Export-RpcSchema Export-RpcService Get-RpcConnection Get-RpcEndpoint Get-RpcListener
        Get-RpcMessageType Get-RpcMethod Get-RpcMockCall Get-RpcService Get-RpcSession Import-RpcSchema
        Import-RpcService Invoke-RpcMethod Measure-RpcEndpoint New-RpcMessage New-RpcMock
        Receive-RpcListener Register-RpcEndpoint Remove-RpcSession Set-RpcListener Set-RpcMock
        Start-RpcListener Stop-RpcListener Test-RpcEndpoint Unregister-RpcEndpoint Wait-RpcEndpoint
        Wait-RpcListener
        """;

    /// <summary>All names; their case does not matter.</summary>
    public static FrozenSet<string> Names { get; } = $"{OfPowerShell}\n{OfProtoRpc}"
        .Split([' ', '\n', '\r'], StringSplitOptions.RemoveEmptyEntries)
        .ToFrozenSet(StringComparer.OrdinalIgnoreCase);
}
