<#
.SYNOPSIS
Orders more of each product that is nearly sold out.
.DESCRIPTION
Writes an object for each order: the product, how many pieces, and the receipt's number or the error.
An order that fails does not stop the others.
.EXAMPLE
./Invoke-Restock.ps1 -Endpoint grpc://shop:50051
#>
[CmdletBinding()]
param(
    # The shop's endpoint.
    [Parameter(Mandatory)]
    [string] $Endpoint,

    # Products with fewer pieces than this are ordered.
    [int] $Minimum = 5,

    # The number of pieces after the order.
    [int] $Target = 20
)

$rpc = Connect-RpcEndpoint $Endpoint -Schema (Join-Path $PSScriptRoot shop.proto) -ErrorAction Stop
try {
    foreach ($product in Invoke-RpcMethod ListProducts @{ below = $Minimum } -Connection $rpc) {
        $order = @{ product_id = $product.id; count = $Target - $product.stock }
        $receipt = Invoke-RpcMethod OrderMore $order -Connection $rpc `
            -ErrorAction SilentlyContinue -ErrorVariable failure
        [pscustomobject]@{
            Product = $product.name
            Count = $order.count
            Receipt = $receipt.number
            Error = $failure ? "$($failure[0].Exception.Code)" : $null
        }
    }
}
finally {
    $rpc | Disconnect-RpcEndpoint
}
