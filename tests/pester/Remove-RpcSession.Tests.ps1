. (Join-Path $PSScriptRoot common.ps1)

Describe 'Remove-RpcSession' {
    BeforeEach {
        $listener = Start-TestListener {
            $RpcContext.Session['n'] = 1 + $RpcContext.Session['n']
            @{ number = $RpcContext.Session['n'] }
        }
        $rpc = Connect-Test $listener
        $null = Invoke-RpcMethod SayHello -Connection $rpc
    }

    AfterEach { Clear-Test }

    It 'ends sessions of the pipeline, and the caller gets a new one' {
        (Invoke-RpcMethod SayHello -Connection $rpc).number | Should -Be 2

        Get-RpcSession | Remove-RpcSession

        Get-RpcSession | Should -BeNullOrEmpty
        (Invoke-RpcMethod SayHello -Connection $rpc).number | Should -Be 1
    }

    It 'ends one of several sessions' {
        $other = Connect-Test $listener
        $null = Invoke-RpcMethod SayHello -Connection $other
        $first, $second = Get-RpcSession

        Get-RpcSession -SessionId $first.Id | Remove-RpcSession

        (Get-RpcSession).Id | Should -Be $second.Id
    }

    It 'ends nothing with -WhatIf' {
        $null = Get-RpcSession | Remove-RpcSession -WhatIf

        Get-RpcSession | Should -HaveCount 1
    }

    It 'is not needed when the connection closes' {
        $rpc | Disconnect-RpcEndpoint

        Get-RpcSession | Should -BeNullOrEmpty
    }
}
