# A PowerShell session in which calls fail: a wrong value, a handler that rejects the request, a deadline

$listener = Start-RpcListener inproc://search -Schema ./protos/search.proto -Handler @{
    Search = {
        param($Request)
        if ($Request.page_number -eq -1) {
            throw [ProtoRpc.RpcException]::new('OutOfRange', 'Pages begin with 0.')
        }
        Start-Sleep 5
    }
}

$rpc = Connect-RpcEndpoint inproc://search -Schema ./protos/search.proto

Invoke-RpcMethod Search @{ query = 'tea'; page_number = 'two' }

Invoke-RpcMethod Search @{ query = 'tea'; page_number = -1 }

try {
    Invoke-RpcMethod Search @{ query = 'tea' } -Deadline 200ms -ErrorAction Stop
}
catch [ProtoRpc.RpcException] {
    "$($_.Exception.Code): $($_.Exception.Message)"
    "May have run: $($_.Exception.MayHaveExecuted)"
}
