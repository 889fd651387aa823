. (Join-Path $PSScriptRoot common.ps1)

Describe 'ping handlers' {
    BeforeAll {
        $proto = Join-Path $TestProtos context.proto

        function Start-Ping([scriptblock] $Ping, [hashtable] $With = @{}) {
            Start-RpcListener -Schema $proto -Handler @{ Do = { @{} } } -Ping $Ping @With -Endpoint @(
                "ncalrpc:[$(New-TestName)]", "ncacn_np:[\pipe\$(New-TestName)]", 'ncacn_ip_tcp:127.0.0.1[0]'
                'http://127.0.0.1:0/', 'grpc://127.0.0.1:0')
        }
    }

    AfterEach { Clear-Test }

    It 'answer what Test-RpcEndpoint asks, on every transport' {
        $listener = Start-Ping {
            param($Request)
            @{ '[demo.context.answer]' = "$($Request.'[demo.context.question]')!"; '[demo.context.notes]' = 'a', 'b' }
        }

        $results = $listener.Endpoint |
            Test-RpcEndpoint -Schema $proto -Message @{ '[demo.context.question]' = 'well' }

        $results.Reply.'[demo.context.answer]' | Should -Be @('well!', 'well!', 'well!', 'well!', 'well!')
        $results[2].Reply.'[demo.context.notes]' | Should -Be 'a', 'b'
        $results.Product | Should -Be @('ProtoRpc', 'ProtoRpc', 'ProtoRpc', 'ProtoRpc', 'ProtoRpc')
        $results | ForEach-Object { $_.Services | Should -Be 'demo.context.Context' }
    }

    It 'answer a ping through a connection, and one that asks nothing' {
        $listener = Start-Ping { param($Request) @{ '[demo.context.answer]' = "[$($Request.'[demo.context.question]')]" } }
        $rpc = Connect-RpcEndpoint $listener.Endpoint[2] -Schema $proto

        ($rpc | Test-RpcEndpoint -Message @{ '[demo.context.question]' = 'x' }).Reply.'[demo.context.answer]' |
            Should -Be '[x]'
        ($rpc | Test-RpcEndpoint).Reply.'[demo.context.answer]' | Should -Be '[]'
        (Invoke-RpcMethod Do -Connection $rpc) | Should -Not -BeNullOrEmpty
    }

    It 'may say nothing' {
        $listener = Start-Ping { }

        $result = Test-RpcEndpoint $listener.Endpoint[2] -Schema $proto

        $result.Reply.'[demo.context.answer]' | Should -BeNullOrEmpty
        $result.Product | Should -Be 'ProtoRpc'
    }

    It 'fail the ping that asks them, with what they throw' {
        $listener = Start-Ping { throw [ProtoRpc.RpcException]::new('FailedPrecondition', 'no database') }

        $listener.Endpoint | Test-RpcEndpoint -Schema $proto -Message @{} -ErrorAction SilentlyContinue -ErrorVariable errors

        $errors.Count | Should -Be 5
        $errors | ForEach-Object { "$($_.Exception.Code) $($_.Exception.Message)" } |
            Should -Be (@('FailedPrecondition no database') * 5)
    }

    It 'do not tell remote callers what was not written for them' {
        $listener = Start-Ping { throw [InvalidOperationException]::new('secret: pw=1') } @{ ListenerOption = @{ ErrorDetail = 'None' } }

        $listener.Endpoint | Test-RpcEndpoint -Schema $proto -Message @{} -ErrorAction SilentlyContinue -ErrorVariable errors

        $errors.Count | Should -Be 5
        "$errors" | Should -Not -BeLike '*secret*'
    }

    It 'are refused what is no message of a ping' {
        $listener = Start-Ping { @{ unknown = 1 } }

        { Test-RpcEndpoint $listener.Endpoint[2] -Schema $proto -Message @{ question = 'x' } -ErrorAction Stop } |
            Should -Throw -ErrorId 'UnknownField,*' -ExpectedMessage "*RpcPingRequest*'question'*"
        { Test-RpcEndpoint $listener.Endpoint[2] -Schema $proto -Message @{ question = 'x' } -Quiet -ErrorAction Stop } |
            Should -Throw -ErrorId 'UnknownField,*'
        { Test-RpcEndpoint $listener.Endpoint[0] -Schema $proto -ErrorAction Stop } |
            Should -Throw '*did not return a message google.protobuf.rpc_messages.RpcPingResponse*'
    }
}
