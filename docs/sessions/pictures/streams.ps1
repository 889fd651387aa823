# A PowerShell session with streams: replies in the pipeline, and a stream that stays open

$listener = Start-RpcListener grpc://127.0.0.1:0 -Schema ./examples/testing/shop.proto -Handler @{
    ListProducts = {
        @{ id = 'p1'; name = 'Lamp'; stock = 2 }
        @{ id = 'p2'; name = 'Chair'; stock = 14 }
    }
}

$shop = Connect-RpcEndpoint $listener.Endpoint[0]

Invoke-RpcMethod ListProducts | Format-Table id, name, stock

Invoke-RpcMethod ListProducts | Where-Object stock -LT 10 | ForEach-Object { "Order $($_.name)" }

$watch = Open-RpcStream grpc.health.v1.Health/Watch @{ service = 'shop.Shop' }

Receive-RpcStream $watch -Count 1

Close-RpcStream $watch
