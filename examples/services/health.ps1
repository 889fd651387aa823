<#
.SYNOPSIS
Exits with 0 if a listener answers, and otherwise with 1: a health check for containers and scripts.
.EXAMPLE
./examples/services/health.ps1 grpc://127.0.0.1:50051
#>
[CmdletBinding()]
param(
    [string] $Endpoint = 'grpc://127.0.0.1:50051',

    # How long to wait for the reply, in seconds.
    [double] $Deadline = 3
)

$ErrorActionPreference = 'Stop'
Import-Module (Join-Path (Split-Path (Split-Path $PSScriptRoot)) ProtoRpc.psd1)
exit ((Test-RpcEndpoint $Endpoint -Deadline $Deadline -Quiet) ? 0 : 1)
