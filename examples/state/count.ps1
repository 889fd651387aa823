<#
.SYNOPSIS
Counts the searches of all callers in one dictionary that the handlers and the script share.
.DESCRIPTION
Eight callers search at the same time, and several workers reply. No count is lost.
.EXAMPLE
./examples/state/count.ps1
#>
[CmdletBinding()]
param(
    # How often each caller searches.
    [int] $Times = 25
)

$ErrorActionPreference = 'Stop'
$root = Split-Path (Split-Path $PSScriptRoot)
Import-Module (Join-Path $root ProtoRpc.psd1)

$counts = [System.Collections.Concurrent.ConcurrentDictionary[string, int]]::new()
$listener = Start-RpcListener "inproc://count-$PID" -Schema (Join-Path $root protos search.proto) -Handler @{
    Search = {
        param($Request)
        # The dictionary itself, not a copy. AddOrUpdate reads and writes in one step.
        $counts = $using:counts
        $count = $counts.AddOrUpdate($Request.query, 1, { param($Query, $Before) $Before + 1 })
        @{ result = @(@{ url = 'https://example.com'; title = "search $count" }) }
    }
}

try {
    $endpoint = "$($listener.Endpoint)"
    $schema = $listener.Schema
    1..8 | ForEach-Object -ThrottleLimit 8 -Parallel {
        Import-Module (Join-Path $using:root ProtoRpc.psd1)
        $query = $_ % 2 ? 'tea' : 'coffee'
        1..$using:Times | ForEach-Object { @{ query = $query } } |
            Invoke-RpcMethod Search -Endpoint $using:endpoint -Schema $using:schema | Out-Null
    }
    $counts.GetEnumerator() | Sort-Object Key | ForEach-Object { "$($_.Key): $($_.Value)" }
}
finally {
    $listener | Stop-RpcListener
}
