<#
.SYNOPSIS
Runs the search service in a container or as a systemd service, until SIGTERM. Running calls have time to end.
.DESCRIPTION
Listens without TLS, behind a proxy with TLS, or in a closed network.
.EXAMPLE
./examples/serve.ps1 -Endpoint grpc://127.0.0.1:50051
#>
[CmdletBinding()]
param(
    # gRPC for clients and proxies that speak it, HTTP for all others.
    [string[]] $Endpoint = ('grpc://0.0.0.0:50051', 'http://0.0.0.0:8080/'),

    # How long running calls may take to end.
    [double] $DrainTimeout = 20
)

$ErrorActionPreference = 'Stop'
$root = Split-Path $PSScriptRoot
Import-Module (Join-Path $root ProtoRpc.psd1)

$listener = Start-RpcListener -Schema (Join-Path $root protos search.proto) -Endpoint $Endpoint `
    -AllowUnencrypted -Handler @{
    Search = {
        param($Request)
        Write-Information "searching for $($Request.query)"
        @{ result = @(@{ url = "http://example.com/$($Request.query)"; title = $Request.query }) }
    }
}

try {
    $listener.Endpoint | ForEach-Object { "Listening on $_" }
    # -NotifyService has an effect where a service manager waits for it.
    $listener | Wait-RpcListener -NotifyService -InformationAction Continue
}
finally {
    # Also after Ctrl+C.
    $listener | Stop-RpcListener -DrainTimeout $DrainTimeout
}
