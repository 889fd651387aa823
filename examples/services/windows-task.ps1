<#
.SYNOPSIS
Runs the search service on Windows as a scheduled task that starts with the machine.
.DESCRIPTION
PowerShell itself cannot be a Windows service, because the service manager expects a program that answers its
requests. A scheduled task needs no other program. The task restarts after a failure, and stops gracefully by a
named event, because Task Scheduler can only end a process immediately.
Run the script as an administrator.
.EXAMPLE
./examples/services/windows-task.ps1 Install
.EXAMPLE
./examples/services/windows-task.ps1 Stop
#>
[CmdletBinding()]
param(
    [Parameter(Mandatory, Position = 0)]
    [ValidateSet('Install', 'Uninstall', 'Start', 'Stop', 'Serve')]
    [string] $Action,

    [ValidatePattern('^[A-Za-z0-9-]+$')]
    [string] $TaskName = 'ProtoRpcSearch',

    [string] $Endpoint = 'grpc://127.0.0.1:50051',

    # How long running calls may take to end, in seconds.
    [int] $DrainTimeout = 20
)

$ErrorActionPreference = 'Stop'
$eventName = "Global\$TaskName-stop"

switch ($Action) {
    'Install' {
        $arguments = "-NoProfile -NonInteractive -File `"$PSCommandPath`" Serve -TaskName $TaskName " +
            "-Endpoint `"$Endpoint`" -DrainTimeout $DrainTimeout"
        $run = New-ScheduledTaskAction -Execute (Join-Path $PSHOME pwsh.exe) -Argument $arguments
        $settings = New-ScheduledTaskSettingsSet -ExecutionTimeLimit 0 -RestartCount 3 `
            -RestartInterval (New-TimeSpan -Minutes 1)
        $null = Register-ScheduledTask -TaskName $TaskName -Action $run -Settings $settings -User 'LOCAL SERVICE' `
            -Trigger (New-ScheduledTaskTrigger -AtStartup)
        Start-ScheduledTask -TaskName $TaskName
    }
    'Uninstall' { Unregister-ScheduledTask -TaskName $TaskName -Confirm:$false }
    'Start' { Start-ScheduledTask -TaskName $TaskName }
    'Stop' {
        $stop = [System.Threading.EventWaitHandle]::OpenExisting($eventName)
        $null = $stop.Set()
        $stop.Dispose()
    }
    'Serve' {
        $root = Split-Path (Split-Path $PSScriptRoot)
        Import-Module (Join-Path $root ProtoRpc.psd1)
        $stop = [System.Threading.EventWaitHandle]::new($false, 'ManualReset', $eventName)
        $listener = Start-RpcListener -Schema (Join-Path $root protos search.proto) -Endpoint $Endpoint -Handler @{
            Search = {
                param($Request)
                @{ result = @(@{ url = "http://example.com/$($Request.query)"; title = $Request.query }) }
            }
        }
        try {
            while (-not $stop.WaitOne(0) -and $listener.State -eq 'Listening') {
                $listener | Wait-RpcListener -Timeout 0.5
            }
        } finally {
            $listener | Stop-RpcListener -DrainTimeout $DrainTimeout
            $stop.Dispose()
        }
    }
}
