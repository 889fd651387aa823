. (Join-Path $PSScriptRoot common.ps1)

Describe '$RpcContext.StopListener()' {
    AfterEach { Clear-Test }

    It 'stops the listener after the reply on <Endpoint>' -ForEach @(
        @{ Endpoint = 'ncalrpc:[{0}]' }, @{ Endpoint = 'ncacn_np:[\pipe\{0}]' }, @{ Endpoint = 'tcp://127.0.0.1:0' }
        @{ Endpoint = 'http://127.0.0.1:0/' }, @{ Endpoint = 'grpc://127.0.0.1:0' }, @{ Endpoint = 'inproc://{0}' }
    ) {
        $listener = Start-TestListener -Endpoint ($Endpoint -f (New-TestName)) {
            $RpcContext.StopListener()
            @{ text = 'the last' }
        }
        $rpc = Connect-Test $listener

        (Invoke-RpcMethod SayHello -Connection $rpc).text | Should -Be 'the last'
        ($listener | Wait-RpcListener -Timeout 20).State | Should -Be 'Stopped'

        Wait-Until { -not (Get-RpcListener) } | Should -BeTrue
        { Invoke-RpcMethod SayHello -Endpoint $listener.Endpoint[0] -Schema $listener.Schema -Service demo.Greeter -ErrorAction Stop } |
            Should -Throw
    }

    It 'sends all replies of a stream first' {
        $listener = Start-TestListener -Endpoint grpc://127.0.0.1:0 @{
            Watch = { $RpcContext.StopListener(); 1..3 | ForEach-Object { @{ text = "$_" } } }
        }

        (Connect-Test $listener | Invoke-RpcMethod Watch).text | Should -Be '1', '2', '3'
        ($listener | Wait-RpcListener -Timeout 20).State | Should -Be 'Stopped'
    }

    It 'works from a filter, after a failure, and after Set-RpcListener' {
        $listener = Start-TestListener { throw 'failed' } -With @{ Filter = { $RpcContext.StopListener(); $Next.Invoke() } }
        Connect-Test $listener | Invoke-RpcMethod SayHello -ErrorAction SilentlyContinue -ErrorVariable told
        "$told" | Should -BeLike '*failed*'
        ($listener | Wait-RpcListener -Timeout 20 -ErrorAction SilentlyContinue).State | Should -Be 'Stopped'

        $listener = Start-TestListener { @{ text = 'first' } }
        $listener | Set-RpcListener -Handler { $RpcContext.StopListener(); @{ text = 'second' } }
        (Connect-Test $listener | Invoke-RpcMethod SayHello).text | Should -Be 'second'
        ($listener | Wait-RpcListener -Timeout 20).State | Should -Be 'Stopped'
    }

    It 'stops a mock, and a raw listener' {
        $mock = New-RpcMock (Join-Path $TestProtos greeter.proto) -Reply @{ SayHello = { $RpcContext.StopListener(); @{ text = 'mocked' } } }
        (Invoke-RpcMethod SayHello -Connection $mock.Connection).text | Should -Be 'mocked'
        ($mock | Wait-RpcListener -Timeout 20).State | Should -Be 'Stopped'

        $raw = Start-RpcListener "ncalrpc:[$(New-TestName)]" -InterfaceId ([guid]::NewGuid()) `
            -Handler { $RpcContext.StopListener(); , [byte[]] (7, 8) }
        $rpc = $raw | Connect-RpcEndpoint
        Invoke-RpcMethod -Message 1 -Connection $rpc | ForEach-Object { $_ } | Should -Be 7, 8
        ($raw | Wait-RpcListener -Timeout 20).State | Should -Be 'Stopped'
    }

    It 'keeps what handlers wrote until it is received' {
        $listener = Start-TestListener { Write-Information 'done'; $RpcContext.StopListener() }
        $null = Connect-Test $listener | Invoke-RpcMethod SayHello
        Wait-Until { $listener.State -eq 'Stopped' } | Should -BeTrue

        (Get-RpcListener).Id | Should -Be $listener.Id
        Receive-RpcListener -Id $listener.Id 6>&1 | Should -Be 'done'
        Wait-Until { -not (Get-RpcListener) } | Should -BeTrue
    }

    It 'ends a script that serves once' {
        $result = Invoke-Pwsh @"
            Import-Module '$ModuleManifest'
            `$schema = Import-RpcSchema '$TestProtos/greeter.proto'
            `$listener = Start-RpcListener tcp://127.0.0.1:0 -Schema `$schema -Service demo.Greeter -Handler {
                `$RpcContext.StopListener()
                Write-Information 'served'
                Start-Sleep -Milliseconds 300
                @{ text = 'once' }
            }
            `$job = Invoke-RpcMethod SayHello -Endpoint `$listener.Endpoint[0] -Schema `$schema -AsJob
            `$stopped = `$listener | Wait-RpcListener
            "`$(`$stopped.State) after `$(`$stopped.Calls) call"
            (`$job | Receive-Job -Wait).text
"@

        $result.Ended | Should -BeTrue
        $result.Output -split '\r?\n' | Where-Object { $_ } | Should -Be 'served', 'Stopped after 1 call', 'once' -Because $result.Error
    }
}
