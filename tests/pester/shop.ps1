# The service of a shop, whose methods are of all kinds.
$Global:ShopProto = Join-Path $TestProtos shop.proto
$Global:ShopHandlers = @{
    GetOrder = { param($Request)
        if ($Request.id -lt 0) {
            throw [ProtoRpc.RpcException]::new('NotFound', "no order $($Request.id)")
        }
        @{ id = $Request.id; customer = 'Ann'; card = $RpcContext.RequestHeaders['x-note'] }
    }
    CreateOrder = { param($Request) $Request }
    Search = { param($Request) foreach ($i in 1..1000) { @{ id = $Request.id + $i } } }
    AddOrders = { param($Request)
        $count = $sum = 0
        foreach ($order in $Request) { $count++; $sum += $order.id }
        @{ count = $count; sum = $sum }
    }
    ConnectOrders = { param($Request) foreach ($id in $Request) { @{ id = 2 * $id.id } } }
    SayHello = { param($Request) @{ sum = $Request.id } }
}
