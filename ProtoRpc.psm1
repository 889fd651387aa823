# Loads the module: the shared assembly into the default load context, so that scripts can name its types,
# everything else into a private one, so that no other module's Google.Protobuf can meet ours.

# Captured by its module, so that a function of the same name cannot get between.
$importModule = [System.Management.Automation.CmdletInfo]::new(
    'Import-Module', [Microsoft.PowerShell.Commands.ImportModuleCommand])

# The packed module has its assemblies a second time for common platforms, compiled ahead of time: half of the
# time of an import, and most of the time of the first Tab, would be the just-in-time compiler's.
$native = [System.IO.Path]::Combine($PSScriptRoot, 'bin', (
        ($IsWindows ? 'win-' : $IsMacOS ? 'osx-' : 'linux-') +
        "$([System.Runtime.InteropServices.RuntimeInformation]::ProcessArchitecture)".ToLowerInvariant()))
$folder = [System.IO.Directory]::Exists($native) ? $native : "$PSScriptRoot/bin"

# No cmdlets of other modules: each would be found and loaded first, which takes longer than all the rest.
$isReload = $null -ne ('ProtoRpc.ModuleLoadContext' -as [type])
foreach ($name in 'ProtoRpc.Shared.dll', 'ProtoRpc.Loader.dll') {
    $path = "$folder/$name"
    if (-not [System.IO.File]::Exists($path)) {
        throw "ProtoRpc is not built: '$path' is missing. Run 'dotnet build cmdlets/ProtoRpc.PowerShell' in '$PSScriptRoot', then import again."
    }

    if (-not $isReload) {
        $null = [System.Runtime.Loader.AssemblyLoadContext]::Default.LoadFromAssemblyPath($path)
    }
}

# An assembly that was imported before exports nothing when it is imported again
# (https://github.com/PowerShell/PowerShell/issues/20710), so AddImport exports its cmdlets.
$loaded = & $importModule -Assembly ([ProtoRpc.ModuleLoadContext]::LoadCmdlets()) -PassThru:$isReload

# The shell looks for types in the default context only, and before that among its accelerators. So all public
# types get an accelerator under their full name; scripts, Pester and proxies can name them.
$isNamed = [ProtoRpc.ModuleLoadContext]::AddImport($ExecutionContext, $loaded, {
    Disable-RpcCompletion
    Get-RpcConnection | Disconnect-RpcEndpoint
    Disconnect-RpcEndpoint -Pooled
    Get-RpcListener | Stop-RpcListener
    [ProtoRpc.ModuleLoadContext]::RemoveImport()
})
if (-not $isNamed) {
    Write-Warning ("PowerShell $($PSVersionTable.PSVersion) has no type accelerators. The cmdlets work, but " +
        'scripts and views cannot name types such as [ProtoRpc.RpcClient]. ProtoRpc was tested with PowerShell 7.6.')
}
