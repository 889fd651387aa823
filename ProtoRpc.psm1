# Loads the module: the shared assembly into the default load context, so that scripts can name its types,
# everything else into a private one, so that no other module's Google.Protobuf can meet ours.

# Captured by its module, so that a function of the same name cannot get between.
$importModule = Get-Command -Name Import-Module -Module Microsoft.PowerShell.Core

# No cmdlets of other modules: each would be found and loaded first, which takes longer than all the rest.
$shared = [System.IO.Path]::Combine($PSScriptRoot, 'bin', 'ProtoRpc.Shared.dll')
if (-not [System.IO.File]::Exists($shared)) {
    throw "ProtoRpc is not built: '$shared' is missing. Run 'dotnet build' in '$PSScriptRoot', then import again."
}

$isReload = $null -ne ('ProtoRpc.ModuleLoadContext' -as [type])
if (-not $isReload) {
    $null = [System.Runtime.Loader.AssemblyLoadContext]::Default.LoadFromAssemblyPath($shared)
}

$cmdlets = & $importModule -Assembly ([ProtoRpc.ModuleLoadContext]::LoadCmdlets()) -PassThru:$isReload

if ($isReload) {
    # An assembly that was imported before exports nothing when it is imported again
    # (https://github.com/PowerShell/PowerShell/issues/20710), so each cmdlet is exported here.
    $addExportedCmdlet = [System.Management.Automation.PSModuleInfo].GetMethod(
        'AddExportedCmdlet', [System.Reflection.BindingFlags]'Instance, NonPublic')
    foreach ($cmdlet in $cmdlets.ExportedCmdlets.Values) {
        $addExportedCmdlet.Invoke($ExecutionContext.SessionState.Module, @(, $cmdlet))
    }
}

$ExecutionContext.SessionState.Module.OnRemove = {
    Get-RpcConnection | Disconnect-RpcEndpoint
    Get-RpcListener | Stop-RpcListener
}
