<#
A module that serves. Its functions and the handlers of its listeners share one dictionary:

Import-Module ./examples/state/SearchService.psm1
$listener = Start-SearchService grpc://127.0.0.1:50051
Get-SearchCount
#>
$ErrorActionPreference = 'Stop'
$root = Split-Path (Split-Path $PSScriptRoot)
if (-not (Get-Module ProtoRpc)) {
    # For the session, as RequiredModules of a manifest does it: it stays when this module is removed.
    Import-Module (Join-Path $root ProtoRpc.psd1) -Global
}

# One dictionary for the process: a worker that imported this module would create its own.
$counts = [System.Collections.Concurrent.ConcurrentDictionary[string, int]]::new()

# A private function, which the workers copy. Its values are arguments, because workers do not copy $script: variables.
function Add-Search($Counts, $Query) {
    $Counts.AddOrUpdate($Query, 1, { param($Key, $Before) $Before + 1 })
}

function Start-SearchService {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string[]] $Endpoint)

    Start-RpcListener $Endpoint -Schema (Join-Path $root protos search.proto) -Handler @{
        Search = {
            param($Request)
            $count = Add-Search $using:counts $Request.query
            @{ result = @(@{ url = 'https://example.com'; title = "search $count" }) }
        }
    }
}

function Get-SearchCount {
    $counts.GetEnumerator() | Sort-Object Key | ForEach-Object {
        [pscustomobject]@{ Query = $_.Key; Count = $_.Value }
    }
}

Export-ModuleMember -Function Start-SearchService, Get-SearchCount
