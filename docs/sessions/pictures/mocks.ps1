# A PowerShell session that tests a script against a mock of the service that it calls

$shop = New-RpcMock ./examples/testing/shop.proto -Reply @{
    ListProducts = @{ id = 'p1'; name = 'Lamp'; stock = 2 }, @{ id = 'p2'; name = 'Chair' }
    OrderMore = @{ number = 'r1' }
}

./examples/testing/Invoke-Restock.ps1 -Endpoint $shop.Endpoint -Target 10

Get-RpcMockCall $shop

Assert-RpcMockCall $shop OrderMore -Times 1 -Where { $_.Request.count -eq 8 }

Assert-RpcMockCall $shop OrderMore -Times 3
