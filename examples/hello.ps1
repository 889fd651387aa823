<#
.SYNOPSIS
Runs a service on the three native transports, calls it on each, and shows each caller with its message.
.EXAMPLE
./examples/hello.ps1
#>
[CmdletBinding()]
param()

$ErrorActionPreference = 'Stop'
$root = Split-Path $PSScriptRoot
Import-Module (Join-Path $root ProtoRpc.psd1)

$schema = Import-RpcSchema (Join-Path $root protos sample.proto)
$name = "hello-$PID"
$listener = Start-RpcListener -Schema $schema -Service Sample.MyService -InformationAction Continue -Endpoint @(
    "ncalrpc:[$name]"
    "ncacn_np:[\pipe\$name]"
    'ncacn_ip_tcp:127.0.0.1[0]'     # 0: the system picks a free port
) -Handler @{
    Send = {
        param($Request)
        $who = $RpcContext.User.Name ? $RpcContext.User.Name : 'anonymous'
        Write-Information "$who says: $($Request.message)"
    }
}

try {
    $messages = 'Hello via LRPC!', 'Hello via NP!', 'Hello via TCP!'
    for ($i = 0; $i -lt $messages.Count; $i++) {
        $rpc = Connect-RpcEndpoint $listener.Endpoint[$i] -Schema $schema
        $rpc | Invoke-RpcMethod Send @{ message = $messages[$i] } | Out-Null
        $rpc | Disconnect-RpcEndpoint
    }
}
finally {
    $listener | Stop-RpcListener
}
