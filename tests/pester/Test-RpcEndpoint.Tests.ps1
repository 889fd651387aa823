. (Join-Path $PSScriptRoot common.ps1)

Describe 'Test-RpcEndpoint' {
    BeforeAll {
        $listener = Start-TestListener { }
        $rpc = Connect-Test $listener
    }

    AfterAll { Clear-Test }

    It 'shows the latency and what the server says of itself' {
        $result = Test-RpcEndpoint $listener.Endpoint[0] -Schema $listener.Schema -Service demo.Greeter

        $result.Latency.TotalMilliseconds | Should -BeGreaterThan 0
        $result.Product | Should -Be 'ProtoRpc'
        $result.Services | Should -Contain 'demo.Greeter'
        $result.Uptime.TotalSeconds | Should -BeGreaterThan 0
        $result | Out-String -Width 200 | Should -Match 'Latency\(ms\)'
    }

    It 'pings a connection, by parameter or pipeline' {
        (Test-RpcEndpoint -Connection $rpc).Product | Should -Be 'ProtoRpc'
        ($rpc | Test-RpcEndpoint).Product | Should -Be 'ProtoRpc'
        (Test-RpcEndpoint).Product | Should -Be 'ProtoRpc'
    }

    It 'pings the endpoints of the pipeline' {
        $both = Start-TestListener { } -Endpoint "ncalrpc:[$(New-TestName)]", 'tcp://127.0.0.1:0'

        ($both.Endpoint | Test-RpcEndpoint).Endpoint | Should -Be $both.Endpoint
        ("$($both.Endpoint[0])" | Test-RpcEndpoint -Schema $both.Schema -Service demo.Greeter).Product | Should -Be 'ProtoRpc'
    }

    It 'tells only whether it answers with -Quiet' {
        Test-RpcEndpoint $listener.Endpoint[0] -Schema $listener.Schema -Service demo.Greeter -Quiet | Should -BeTrue
        Test-RpcEndpoint 'ncalrpc:[nobody-is-here]' -Schema $listener.Schema -Service demo.Greeter -Quiet | Should -BeFalse
    }

    It 'says why an endpoint does not answer' {
        { Test-RpcEndpoint 'ncalrpc:[nobody-is-here]' -Schema $listener.Schema -Service demo.Greeter -ErrorAction Stop } |
            Should -Throw -ErrorId 'RpcStatus.Unavailable,*'
    }

    It 'answers while all workers are busy' {
        $busy = Start-TestListener { while ($true) { } } -With @{ ThrottleLimit = 1 }
        $endpoint = "$($busy.Endpoint)"
        $job = Start-ThreadJob {
            Import-Module $using:ModuleManifest
            $null = Connect-RpcEndpoint $using:endpoint -Schema (Join-Path $using:TestProtos greeter.proto) -Service demo.Greeter
            Invoke-RpcMethod SayHello -Deadline 60 -ErrorAction Ignore
        }
        Wait-Until { $busy.InFlight -eq 1 } | Should -BeTrue

        Test-RpcEndpoint $endpoint -Schema $busy.Schema -Service demo.Greeter -Deadline 10 -Quiet | Should -BeTrue

        $busy | Stop-RpcListener -DrainTimeout 0
        $job | Remove-Job -Force
    }
}
