# A PowerShell session that measures a service on three transports

$listener = Start-RpcListener -Schema ./protos/search.proto -Handler @{
    Search = @{ result = @{ url = 'https://example.com/tea' } }
} -Endpoint 'ncalrpc:[Measured]', 'grpc://127.0.0.1:0', 'http://127.0.0.1:0'

$load = @{ Schema = './protos/search.proto'; Duration = '1s' }

Measure-RpcEndpoint Search @{ query = 'tea' } -Endpoint $listener.Endpoint @load
