# The module under load until standard input ends: listeners with script blocks, connections, sessions, mocks and
# gateways come and go. Writes a line of JSON for each sample, and one for each failure.
param(
    [Parameter(Mandatory)] [string] $Module,
    [Parameter(Mandatory)] [string] $Proto,
    [Parameter(Mandatory)] [double] $Period
)
$ErrorActionPreference = 'Stop'
Import-Module $Module
$schema = Import-RpcSchema $Proto
# The reader of the console itself would block.
$end = [IO.StreamReader]::new([Console]::OpenStandardInput()).ReadLineAsync()
$watch = [Diagnostics.Stopwatch]::StartNew()
$calls = 0
$next = $Period

function Get-Name {
    "s$([guid]::NewGuid().ToString('N').Substring(0, 12))"
}

function Assert-Text($Reply, [string] $Text) {
    if ($Reply.text -ne $Text) {
        throw "'$($Reply.text)' was replied instead of '$Text'."
    }
    $script:calls++
}

# On Linux without those of assemblies: the runtime keeps two for each that it loads, whenever that is.
function Get-HandleCount($Process) {
    if (-not $IsLinux) {
        return $Process.HandleCount
    }
    $targets = foreach ($file in [IO.Directory]::GetFiles('/proc/self/fd')) {
        try { [IO.FileInfo]::new($file).LinkTarget } catch [IO.IOException] { $null = 'It has gone meanwhile.' }
    }
    @($targets -notlike '*.dll').Count
}

function Write-Sample {
    $process = [Diagnostics.Process]::GetCurrentProcess()
    $handles = Get-HandleCount $process
    $threads = $process.Threads.Count
    [GC]::Collect()
    [GC]::WaitForPendingFinalizers()
    [GC]::Collect()
    $heap = [GC]::GetTotalMemory($false) / 1MB
    $process.Refresh()
    [Console]::WriteLine((ConvertTo-Json -Compress @{
        seconds = $watch.Elapsed.TotalSeconds; calls = $calls; handles = $handles; threads = $threads
        heapMiB = $heap; residentMiB = $process.WorkingSet64 / 1MB; runspaces = @(Get-Runspace).Count
    }))
    $process.Dispose()
}

function Invoke-Turn([string] $Endpoint) {
    $listener = Start-RpcListener -Schema $schema -Service streams.Words -Endpoint $Endpoint, "inproc://$(Get-Name)" -Handler @{
        Say = {
            $RpcContext.Session['n'] = 1 + $RpcContext.Session['n']
            @{ text = "$($Request.text) $($RpcContext.Session['n'])" }
        }
        Split = { $Request.text -split ' ' | ForEach-Object { @{ text = $_ } } }
    }
    $rpc = Connect-RpcEndpoint $listener.Endpoint[0] -Schema $schema -Service streams.Words
    foreach ($i in 1..5) {
        Assert-Text (Invoke-RpcMethod Say @{ text = 'a' } -Connection $rpc) "a $i"
    }
    $inside = Connect-RpcEndpoint $listener.Endpoint[1] -Schema $schema -Service streams.Words
    $words = Invoke-RpcMethod Split @{ text = 'x y z' } -Connection $inside
    Assert-Text ($words | Select-Object -Last 1) z
    $gateway = Start-RpcListener "ncalrpc:[$(Get-Name)]" $rpc
    $through = Connect-RpcEndpoint $gateway.Endpoint[0] -Schema $schema -Service streams.Words
    Assert-Text (Invoke-RpcMethod Say @{ text = 'b' } -Connection $through) 'b 1'
    Disconnect-RpcEndpoint $through
    Stop-RpcListener $gateway
    Disconnect-RpcEndpoint $rpc
    Disconnect-RpcEndpoint $inside
    Stop-RpcListener $listener

    $mock = New-RpcMock $schema -Service streams.Words -Reply @{ Say = @{ text = 'mocked' } }
    Assert-Text (Invoke-RpcMethod Say @{ text = 'a' } -Connection $mock.Connection) mocked
    Assert-RpcMockCall $mock Say -Times 1
    Stop-RpcListener $mock
}

$endpoints = { "ncalrpc:[$(Get-Name)]" }, { 'ncacn_ip_tcp:127.0.0.1[0]' }, { 'http://127.0.0.1:0/' }, { 'grpc://127.0.0.1:0' }
for ($turn = 0; -not $end.IsCompleted; $turn++) {
    try {
        Invoke-Turn (& $endpoints[$turn % $endpoints.Count])
    } catch {
        [Console]::WriteLine((ConvertTo-Json -Compress @{ failure = "$_ $($_.ScriptStackTrace)" }))
        Get-RpcConnection | Disconnect-RpcEndpoint
        Get-RpcListener | Stop-RpcListener -DrainTimeout 0
    }
    if ($watch.Elapsed.TotalSeconds -ge $next) {
        Write-Sample
        $next += $Period
    }
    # A steady pace, which leaves the machine to others.
    Start-Sleep -Milliseconds 100
}
