# A PowerShell session that serves and calls a gRPC service

$listener = Start-RpcListener grpc://127.0.0.1:0 -Schema ./protos/search.proto -Handler @{
    Search = { param($Request) @{ result = @{ url = "https://example.com/$($Request.query)" } } }
}

$rpc = Connect-RpcEndpoint $listener.Endpoint[0]

$rpc | Get-RpcMethod Search

Invoke-RpcMethod Search @{ query = 'protobuf' }

Invoke-RpcMethod Search @{ qery = 'protobuf' }

$rpc
