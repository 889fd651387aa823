. (Join-Path $PSScriptRoot common.ps1)

Describe 'Get-RpcConnection' {
    BeforeAll {
        $listener = Start-TestListener { } -Endpoint "ncalrpc:[$(New-TestName)]", 'tcp://127.0.0.1:0'
        $rpc = Connect-RpcEndpoint $listener.Endpoint -Schema $listener.Schema -Service demo.Greeter
    }

    AfterAll { Clear-Test }

    It 'gives all open connections, or those with an id' {
        (Get-RpcConnection).Id | Should -Be $rpc.Id
        (Get-RpcConnection $rpc[1].Id).Endpoint.Transport | Should -Be 'Tcp'
    }

    It 'says that there is no connection with an id' {
        { Get-RpcConnection 12345 -ErrorAction Stop } |
            Should -Throw -ErrorId 'ConnectionNotFound,*' -ExpectedMessage '*id 12345*'
    }

    It 'finds connections by a part of their endpoint' {
        (Get-RpcConnection -Endpoint 'ncalrpc:*').Id | Should -Be $rpc[0].Id
        (Get-RpcConnection -Endpoint "$($rpc[1].Endpoint)").Id | Should -Be $rpc[1].Id
        Get-RpcConnection -Endpoint 'ncacn_np:*' | Should -BeNullOrEmpty
    }

    It 'counts calls' {
        $before = $rpc[0].Calls
        $null = $rpc[0] | Invoke-RpcMethod SayHello

        (Get-RpcConnection $rpc[0].Id).Calls | Should -Be ($before + 1)
    }

    It 'shows all endpoints of a balanced connection, and finds it by each' {
        $others = 1..2 | ForEach-Object { Start-TestListener { } -Endpoint tcp://127.0.0.1:0 }
        $balanced = Connect-RpcEndpoint $others.Endpoint -Schema $listener.Schema -Service demo.Greeter -LoadBalancing RoundRobin

        $balanced.Endpoints | Should -Be $others.Endpoint
        foreach ($endpoint in $others.Endpoint) {
            (Get-RpcConnection -Endpoint "$endpoint").Id | Should -Be $balanced.Id
            $balanced | Out-String -Width 80 | Should -Match ([regex]::Escape("$endpoint"))
        }
        $balanced | Disconnect-RpcEndpoint
    }

    It 'prints as a table' {
        Get-RpcConnection | Out-String -Width 200 | Should -Match 'Id\s+State\s+Endpoint\s+Service\s+Calls'
    }
}
