# Run it with Invoke-Pester. The shop is a mock, so nothing needs to be installed or started.
BeforeAll {
    if (-not (Get-Module ProtoRpc)) {
        Import-Module (Join-Path $PSScriptRoot .. .. ProtoRpc.psd1)
    }

    $restock = Join-Path $PSScriptRoot Invoke-Restock.ps1
}

Describe 'Invoke-Restock' {
    Context 'with a shop that is a mock' {
        BeforeAll {
            # It ends with this Context.
            $shop = New-RpcMock (Join-Path $PSScriptRoot shop.proto)
        }

        BeforeEach {
            # Each test begins with the same replies and without calls.
            $shop | Set-RpcMock -Reset -Reply @{
                ListProducts = @(
                    @{ id = 'p1'; name = 'Lamp'; stock = 2 }
                    @{ id = 'p2'; name = 'Chair'; stock = 0 }
                )
                OrderMore = @{ number = 'r1' }, @{ number = 'r2' }
            }
        }

        It 'asks for the products below the minimum' {
            & $restock $shop.Endpoint -Minimum 7

            Assert-RpcMockCall $shop ListProducts -Times 1 -Exactly -Where { $_.Request.below -eq 7 }
        }

        It 'orders what is missing, one order for each product' {
            $orders = & $restock $shop.Endpoint -Target 10

            $orders.Product | Should -Be Lamp, Chair
            $orders.Receipt | Should -Be r1, r2
            Assert-RpcMockCall $shop OrderMore -Times 2 -Exactly
            Assert-RpcMockCall $shop OrderMore -Where {
                $_.Request.product_id -eq 'p1' -and $_.Request.count -eq 8
            }
        }

        It 'orders nothing when nothing is missing' {
            $shop | Set-RpcMock -Reply @{ ListProducts = @() }

            & $restock $shop.Endpoint | Should -BeNullOrEmpty

            Assert-RpcMockCall $shop OrderMore -Times 0
        }

        It 'goes on after an order that fails' {
            $shop | Set-RpcMock -Reply @{
                OrderMore = [ProtoRpc.RpcException]::new('ResourceExhausted', 'no lamps'), @{ number = 'r2' }
            }

            $orders = & $restock $shop.Endpoint

            $orders.Error | Should -Be ResourceExhausted, $null
            $orders.Receipt | Should -Be $null, r2
        }

        It 'reports each order by its own receipt' {
            $shop | Set-RpcMock -Reply @{
                OrderMore = { param($Request) @{ number = "receipt of $($Request.product_id)" } }
            }

            (& $restock $shop.Endpoint).Receipt | Should -Be 'receipt of p1', 'receipt of p2'
        }

        It 'fails as a whole when the list breaks off' {
            $shop | Set-RpcMock -Reply @{
                ListProducts = @{ id = 'p1'; name = 'Lamp' }, [ProtoRpc.RpcException]::new('Unavailable', 'bye')
            }

            { & $restock $shop.Endpoint -ErrorAction Stop } | Should -Throw -ExpectedMessage '*bye*'
        }
    }

    Context 'with mocks of the cmdlets' {
        BeforeAll {
            # The connection is only passed on, and connects to no server.
            $nobody = New-RpcMock (Join-Path $PSScriptRoot shop.proto)
            Mock Connect-RpcEndpoint { $nobody.Connection }
            Mock Disconnect-RpcEndpoint
            Mock Invoke-RpcMethod { @{ id = 'p9'; name = 'Sofa'; stock = 1 } } -ParameterFilter {
                $Method -eq 'ListProducts'
            }
            Mock Invoke-RpcMethod { @{ number = 'r9' } } -ParameterFilter { $Method -eq 'OrderMore' }
        }

        It 'connects to the endpoint that it was given and closes the connection' {
            (& $restock grpc://shop.example:50051).Receipt | Should -Be r9

            Should -Invoke Connect-RpcEndpoint -Times 1 -Exactly -ParameterFilter {
                "$Endpoint" -eq 'grpc://shop.example:50051'
            }
            Should -Invoke Disconnect-RpcEndpoint -Times 1 -Exactly
            Assert-RpcMockCall $nobody OrderMore -Times 0
        }
    }
}
