. (Join-Path $PSScriptRoot common.ps1)

Describe 'Disconnect-RpcEndpoint' {
    BeforeAll { $listener = Start-TestListener { } }

    AfterEach { Get-RpcConnection | Disconnect-RpcEndpoint }

    AfterAll { Clear-Test }

    It 'closes the connections of the pipeline' {
        $rpc = Connect-Test $listener

        $rpc | Disconnect-RpcEndpoint

        $rpc.State | Should -Be 'Closed'
        Get-RpcConnection | Should -BeNullOrEmpty
        Wait-Until { $listener.Connections -eq 0 } | Should -BeTrue
    }

    It 'closes a connection by its id' {
        $rpc = Connect-Test $listener
        $other = Connect-Test $listener

        Disconnect-RpcEndpoint $rpc.Id

        (Get-RpcConnection).Id | Should -Be $other.Id
    }

    It 'says that there is no connection with an id, and closes the others' {
        $rpc = Connect-Test $listener

        Disconnect-RpcEndpoint -Id 12345, $rpc.Id -ErrorAction SilentlyContinue -ErrorVariable failed

        $failed[0].FullyQualifiedErrorId | Should -BeLike 'ConnectionNotFound,*'
        $rpc.State | Should -Be 'Closed'
    }

    It 'closes a closed connection without complaint' {
        $rpc = Connect-Test $listener
        $rpc | Disconnect-RpcEndpoint

        { $rpc | Disconnect-RpcEndpoint -ErrorAction Stop } | Should -Not -Throw
    }

    It 'leaves a connection that says it is closed' {
        $rpc = Connect-Test $listener
        $rpc | Disconnect-RpcEndpoint

        { $rpc | Invoke-RpcMethod SayHello -ErrorAction Stop } |
            Should -Throw -ErrorId 'ConnectionClosed,*' -ExpectedMessage '*Connect-RpcEndpoint*'
    }

    It 'frees a closed connection, also if none is listed afterwards' {
        # In a scope of its own, so that no variable holds them.
        $closed = & {
            foreach ($i in 1..10) {
                $rpc = Connect-Test $listener
                if ($i % 2) { $rpc | Disconnect-RpcEndpoint } else { $rpc.Dispose() }
                [WeakReference]::new($rpc)
            }
        }

        # The shell itself may hold the last object of a pipeline.
        Wait-Until { [GC]::Collect(); @($closed.Where{ $_.IsAlive }).Count -le 1 } | Should -BeTrue
    }
}
