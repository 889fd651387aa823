. (Join-Path $PSScriptRoot common.ps1)

Describe 'New-RpcMock' {
    BeforeAll {
        $greeter = Import-RpcSchema (Join-Path $TestProtos greeter.proto)
        $words = Import-RpcSchema (Join-Path $TestProtos words.proto)

        function Get-Greeting($Mock, $Name = 'Ann') {
            (Invoke-RpcMethod SayHello @{ name = $Name } -Connection $Mock.Connection -ErrorAction Stop).text
        }
    }

    AfterEach { Clear-Test }

    Context 'the mock' {
        It 'is a listener of all services on an endpoint of this process' {
            $mock = New-RpcMock $greeter

            $mock | Should -BeOfType ProtoRpc.RpcListener
            $mock.Listener | Should -Be $mock
            "$($mock.Endpoint)" | Should -BeLike 'inproc://mock-*'
            $mock.Service | Should -Be demo.Greeter, demo.Parting
            $mock.Schema | Should -Be $greeter
            Get-RpcListener | Should -Be $mock
        }

        It 'is connected to by its endpoint, or from the pipeline' {
            $mock = New-RpcMock $greeter -Service demo.Greeter -Reply @{ SayHello = @{ text = 'hi' } }

            (Connect-RpcEndpoint $mock.Endpoint | Invoke-RpcMethod SayHello @{}).text | Should -Be hi
            ($mock | Connect-RpcEndpoint | Invoke-RpcMethod SayHello @{}).text | Should -Be hi
        }

        It 'can be called by another process where it has such an endpoint' {
            $mock = New-RpcMock $greeter -Service demo.Greeter -Endpoint "ncalrpc:[$(New-TestName)]" `
                -Reply @{ SayHello = @{ text = 'hi' } }

            $run = Invoke-Pwsh @"
                Import-Module '$ModuleManifest'
                `$rpc = Connect-RpcEndpoint '$($mock.Endpoint)' -Schema '$(Join-Path $TestProtos greeter.proto)' -Service demo.Greeter
                (`$rpc | Invoke-RpcMethod SayHello @{ name = 'far' }).text
"@

            $run.Output.Trim() | Should -Be hi -Because $run.Error
            (Get-RpcMockCall $mock).Request.name | Should -Be far
        }

        It 'can be called over HTTP and gRPC' {
            $mock = New-RpcMock $greeter -Service demo.Greeter -Reply @{ SayHello = @{ text = 'hi' } } `
                -Endpoint http://127.0.0.1:0/, grpc://127.0.0.1:0

            foreach ($endpoint in $mock.Endpoints) {
                (Connect-RpcEndpoint $endpoint -Schema $greeter -Service demo.Greeter |
                    Invoke-RpcMethod SayHello @{}).text | Should -Be hi
            }
            (Get-RpcMockCall $mock).Count | Should -Be 2
        }

        It 'ends with Stop-RpcListener, and its connection with it' {
            $mock = New-RpcMock $greeter
            $connection = $mock.Connection
            $null = $connection | Invoke-RpcMethod demo.Greeter/SayHello @{}

            Stop-RpcListener $mock

            $mock.State | Should -Be Stopped
            Wait-Until { $connection.State -eq 'Closed' } | Should -BeTrue
        }

        It 'ends with its runspace and with the module' {
            $run = Invoke-Pwsh @"
                Import-Module '$ModuleManifest'
                `$mock = New-RpcMock '$(Join-Path $TestProtos greeter.proto)'
                Remove-Module ProtoRpc
                `$mock.State
"@

            $run.Output.Trim() | Should -Be Stopped -Because $run.Error
        }

        It 'is not started with -WhatIf' {
            New-RpcMock $greeter -WhatIf | Should -BeNullOrEmpty
            Get-RpcListener | Should -BeNullOrEmpty
        }
    }

    Context 'replies' {
        It 'answers with a template that is valid where nothing was set' {
            $mock = New-RpcMock $greeter -Service demo.Greeter

            $reply = $mock.Connection | Invoke-RpcMethod SayHello @{}

            $reply.text | Should -BeExactly ''
            $reply.number | Should -Be 0
        }

        It 'answers one reply after the other, and the last one stays' {
            $mock = New-RpcMock $greeter -Service demo.Greeter -Reply @{
                SayHello = @{ text = 'one' }, [pscustomobject]@{ text = 'two' }
            }

            1..3 | ForEach-Object { Get-Greeting $mock } | Should -Be one, two, two
        }

        It 'fails with the status, details and trailers that it was told' {
            $down = [ProtoRpc.RpcException]::new('Unavailable', 'down')
            $down.Details = @(@{ '@type' = 'google.rpc.RetryInfo'; retry_delay = '3s' })
            $trailers = [Collections.Generic.Dictionary[string, string]]::new()
            $trailers['load'] = 'high'
            $down.Trailers = $trailers
            $mock = New-RpcMock $greeter -Service demo.Greeter -Reply @{ SayHello = $down }

            { Get-Greeting $mock } | Should -Throw -ErrorId 'RpcStatus.Unavailable,*' -ExpectedMessage 'down*'

            $failure = $Error[0].Exception
            $failure.Details[0].retry_delay | Should -Be ([timespan]'00:00:03')
            $failure.Trailers['load'] | Should -Be high
        }

        It 'runs a script block with what the test has' {
            function Get-Prefix { 'dear ' }
            $suffix = '!'
            $mock = New-RpcMock $greeter -Service demo.Greeter -Reply @{
                SayHello = { param($Request) @{ text = (Get-Prefix) + $Request.name + $using:suffix } }
            }

            Get-Greeting $mock Bob | Should -Be 'dear Bob!'
        }

        It 'mixes replies, failures and script blocks in one list' {
            $mock = New-RpcMock $greeter -Service demo.Greeter -Reply @{
                SayHello = { @{ text = 'first' } }, [ProtoRpc.RpcException]::new('Aborted', 'no'), @{ text = 'last' }
            }

            Get-Greeting $mock | Should -Be first
            { Get-Greeting $mock } | Should -Throw -ErrorId 'RpcStatus.Aborted,*'
            Get-Greeting $mock | Should -Be last
        }

        It 'answers streams of all kinds' {
            $mock = New-RpcMock $words -Reply @{
                Split = @{ text = 'a' }, @{ text = 'b' }
                Join = @{ text = 'joined' }
                Chat = , @{ text = 'hello' }
            }
            $rpc = $mock.Connection

            (Invoke-RpcMethod Split @{ text = 'a b' } -Connection $rpc).text | Should -Be a, b
            (@{ text = 'x' }, @{ text = 'y' } | Invoke-RpcMethod Join -Connection $rpc).text | Should -Be joined
            (@{ text = 'p' }, @{ text = 'q' } | Invoke-RpcMethod Chat -Connection $rpc).text | Should -Be hello
            (Get-RpcMockCall $mock Join).Request.text | Should -Be x, y
            (Get-RpcMockCall $mock Chat).Request.text | Should -Be p, q
            (Get-RpcMockCall $mock Split).Reply.text | Should -Be a, b
        }

        It 'takes lists of streams, each of which may be empty or break off' {
            $mock = New-RpcMock $words -Reply @{
                Split = @(@{ text = 'a' }, [ProtoRpc.RpcException]::new('DataLoss', 'cut')), @(), { @{ text = 's' } }
            }
            $rpc = $mock.Connection

            $first = Invoke-RpcMethod Split -Connection $rpc -ErrorAction SilentlyContinue -ErrorVariable cut
            $first.text | Should -Be a
            $cut[0].Exception.Code | Should -Be DataLoss
            Invoke-RpcMethod Split -Connection $rpc | Should -BeNullOrEmpty
            (Invoke-RpcMethod Split -Connection $rpc).text | Should -Be s
        }

        It 'waits for -Latency, and no longer than its caller' {
            $mock = New-RpcMock $greeter -Service demo.Greeter -Latency 0.15
            (Measure-Command { Get-Greeting $mock }).TotalMilliseconds | Should -BeGreaterThan 140

            $mock.Latency = [timespan]::FromHours(1)
            $spent = Measure-Command {
                { Invoke-RpcMethod SayHello -Connection $mock.Connection -Deadline 0.1 -ErrorAction Stop } |
                    Should -Throw -ErrorId 'RpcStatus.DeadlineExceeded,*'
            }

            $spent.TotalSeconds | Should -BeLessThan 30
        }

        It 'refuses <Name>' -TestCases @(
            @{ Name = 'a method that there is not'; Reply = @{ SayHallo = @{} }; Id = 'MethodNotFound' }
            @{ Name = 'a field that there is not'; Reply = @{ SayHello = @{ txt = 'x' } }; Id = 'UnknownField' }
            @{ Name = 'text'; Reply = @{ SayHello = 'hi' }; Id = 'InvalidHandler' }
            @{ Name = 'null'; Reply = @{ SayHello = $null }; Id = 'InvalidHandler' }
            @{ Name = 'an empty list'; Reply = @{ SayHello = @() }; Id = 'InvalidHandler' }
            @{ Name = 'a list in a list'; Reply = @{ SayHello = , @(@{}, @{}) }; Id = 'InvalidHandler' }
            @{ Name = 'a name twice'; Reply = @{ SayHello = @{}; 'demo.Greeter/SayHello' = @{} }; Id = 'InvalidHandler' }
        ) {
            { New-RpcMock $greeter -Service demo.Greeter -Reply $Reply } | Should -Throw -ErrorId "$Id,*"
            Get-RpcListener | Should -BeNullOrEmpty
        }
    }

    Context 'Set-RpcMock' {
        It 'replaces the replies that it names, and forgets calls with -Reset' {
            $mock = New-RpcMock $greeter -Service demo.Greeter -Reply @{
                SayHello = @{ text = 'old' }
                Fail = @{ text = 'kept' }
            }
            Get-Greeting $mock | Should -Be old

            $mock | Set-RpcMock -Reply @{ SayHello = { @{ text = "new $($RpcMethod.Name)" } } } -Reset

            Get-Greeting $mock | Should -Be 'new SayHello'
            (Invoke-RpcMethod Fail -Connection $mock.Connection).text | Should -Be kept
            Get-RpcMockCall $mock SayHello | Should -HaveCount 1
        }

        It 'ends the workers of scripts that no method uses any more' {
            $before = @(Get-Runspace).Count
            $mock = New-RpcMock $greeter -Service demo.Greeter -Reply @{ SayHello = { @{ text = 'first' } } }
            foreach ($number in 1..5) {
                $mock | Set-RpcMock -Reply @{ SayHello = { @{ text = "script $using:number" } } }
            }
            Get-Greeting $mock | Should -Be 'script 5'
            $mock | Set-RpcMock -Reply @{ SayHello = @{ text = 'no script' } }

            $end = [datetime]::UtcNow.AddSeconds(30)
            while (@(Get-Runspace).Count -gt $before -and [datetime]::UtcNow -lt $end) { $null = [Threading.Thread]::Yield() }
            @(Get-Runspace).Count | Should -BeLessOrEqual $before
            Get-Greeting $mock | Should -Be 'no script'
        }

        It 'frees the workers of earlier scripts, whose calls still end' {
            $gate = [Threading.ManualResetEventSlim]::new()
            $mock = New-RpcMock $greeter -Service demo.Greeter -Reply @{
                SayHello = { $null = ($using:gate).Wait([timespan]'00:01'); @{ text = 'running' } }
            }
            $running = Invoke-RpcMethod SayHello -Connection $mock.Connection -AsJob
            Wait-Until { $mock.InFlight -eq 1 } | Should -BeTrue
            # In a scope of its own, so that no variable holds them.
            $earlier = & {
                foreach ($number in 1..10) {
                    $mock | Set-RpcMock -Reply @{ SayHello = { @{ text = "script $using:number" } } }
                    Get-Greeting $mock | Should -Be "script $number"
                    $pools = [ProtoRpc.RpcMockListener].GetField('_workers', 'Instance, NonPublic').GetValue($mock)
                    [WeakReference]::new(@($pools.Values)[0])
                }
            }
            $mock | Set-RpcMock -Reply @{ SayHello = @{ text = 'no script' } }

            # The shell itself may hold the last one.
            Wait-Until { [GC]::Collect(); @($earlier.Where{ $_.IsAlive }).Count -le 1 } | Should -BeTrue
            Get-Greeting $mock | Should -Be 'no script'
            # The last one may still be closing.
            Wait-Until { $mock.Workers -eq 1 } | Should -BeTrue
            $gate.Set()
            ($running | Complete-Job).text | Should -Be running
        }

        It 'counts the workers of new replies, and stops them with the mock' {
            $mock = New-RpcMock $greeter -Service demo.Greeter
            $mock.Workers | Should -Be 0
            $before = @(Get-Runspace).Count
            $mock | Set-RpcMock -Reply @{ SayHello = { @{ text = 'script' } } }
            $mock.Workers | Should -Be 1

            Stop-RpcListener $mock

            $mock.Workers | Should -Be 0
            Wait-Until { @(Get-Runspace).Count -le $before } | Should -BeTrue
            $mock | Set-RpcMock -Reply @{ SayHello = { @{ text = 'too late' } } }
            Wait-Until { @(Get-Runspace).Count -le $before } | Should -BeTrue
        }

        It 'changes nothing when a reply does not fit' {
            $mock = New-RpcMock $greeter -Service demo.Greeter -Reply @{ SayHello = @{ text = 'old' } }

            { $mock | Set-RpcMock -Reply @{ SayHello = @{ text = 'new' }; Fail = 'x' } -ErrorAction Stop } |
                Should -Throw -ErrorId 'InvalidHandler,*'

            Get-Greeting $mock | Should -Be old
        }

        It 'ends a test when <Name>, without -ErrorAction' -ForEach @(
            @{ Name = 'a reply does not fit'; With = @{ Reply = @{ SayHello = @{ txt = 'new' } } } }
            @{ Name = 'a method does not exist'; With = @{ Reply = @{ SayHallo = @{ text = 'new' } } } }
            @{ Name = 'a method is there twice'; With = @{ Reply = @{ SayHello = @{}; 'demo.Greeter/SayHello' = @{} } } }
            @{ Name = 'a file is missing'; With = @{ Replay = 'none.jsonl' } }
        ) {
            $mock = New-RpcMock $greeter -Service demo.Greeter
            $ErrorActionPreference = 'Continue'
            $reached = $false

            { $mock | Set-RpcMock @With; $reached = $true } | Should -Throw -ErrorId '*,ProtoRpc.SetRpcMockCommand'

            $reached | Should -BeFalse
        }

        It 'changes nothing when <Name>' -ForEach @(
            @{ Name = 'the initialization fails'; Id = '*'; With = @{
                    Reply = @{ SayHello = { @{ text = 'new' } } }
                    ListenerOption = @{ InitializationScript = { throw 'no' } }
                } }
            @{ Name = 'a reply does not fit and a file could be played back'; Id = 'UnknownField,*'; With = @{
                    Reply = @{ Fail = @{ txt = 'new' } }
                    Replay = 'calls.jsonl'
                } }
        ) {
            $mock = New-RpcMock $greeter -Service demo.Greeter -Reply @{ Fail = @{ text = 'old' } }
            $before = Get-Greeting $mock
            $runspaces = @(Get-Runspace).Count
            Push-Location $TestDrive
            try {
                '{"method":"demo.Greeter/SayHello","request":{},"reply":{"text":"played"},"status":"OK"}' > calls.jsonl

                { $mock | Set-RpcMock @With -Reset -Latency 60 -ErrorAction Stop } | Should -Throw -ErrorId $Id
            }
            finally {
                Pop-Location
            }

            Get-Greeting $mock | Should -Be $before
            (Invoke-RpcMethod Fail -Connection $mock.Connection).text | Should -Be old
            Get-RpcMockCall $mock SayHello | Should -HaveCount 2
            Wait-Until { @(Get-Runspace).Count -le $runspaces } | Should -BeTrue
        }

        It 'sets back the replies that it started with by -Reset' {
            $mock = New-RpcMock $greeter -Service demo.Greeter -Latency 0.001 -Reply @{
                SayHello = { @{ text = "first $($RpcMethod.Name)" } }
                Fail = @{ text = 'first' }
            }
            $mock | Set-RpcMock -Latency 0.002 -Reply @{
                SayHello = { @{ text = 'second' } }
                Fail = { @{ text = 'second' } }
            }
            Get-Greeting $mock | Should -Be second
            (Invoke-RpcMethod Fail -Connection $mock.Connection).text | Should -Be second

            $mock | Set-RpcMock -Reset

            1..3 | ForEach-Object { Get-Greeting $mock | Should -Be 'first SayHello' }
            (Invoke-RpcMethod Fail -Connection $mock.Connection).text | Should -Be first
            $mock.Latency | Should -Be ([timespan]::FromSeconds(0.001))
            Get-RpcMockCall $mock | Should -HaveCount 4

            $mock | Set-RpcMock -Reset -Reply @{ Fail = @{ text = 'third' } }
            Get-Greeting $mock | Should -Be 'first SayHello'
            (Invoke-RpcMethod Fail -Connection $mock.Connection).text | Should -Be third
        }

        It 'begins lists again with Reset' {
            $mock = New-RpcMock $greeter -Service demo.Greeter -Reply @{ SayHello = @{ text = 'a' }, @{ text = 'b' } }
            Get-Greeting $mock, (Get-Greeting $mock) | Out-Null

            $mock.Reset()

            Get-Greeting $mock | Should -Be a
        }
    }

    Context 'connections that contact nobody' {
        It 'is passed to -Connection and is not the open connection of the session' {
            $mock = New-RpcMock $greeter

            $mock.Connection | Should -BeOfType ProtoRpc.RpcConnection
            Get-RpcConnection | Should -BeNullOrEmpty
            $mock.Accepted | Should -Be 0
        }

        It 'is what a mock of Connect-RpcEndpoint gives' {
            $mock = New-RpcMock $greeter -Service demo.Greeter -Reply @{ SayHello = @{ text = 'mocked' } }
            Mock Connect-RpcEndpoint { $mock.Connection }

            $rpc = Connect-RpcEndpoint grpc://nobody.example:1
            ($rpc | Invoke-RpcMethod SayHello @{}).text | Should -Be mocked

            Should -Invoke Connect-RpcEndpoint -Times 1 -Exactly
        }

        It 'lets a mock of Invoke-RpcMethod take it' {
            $mock = New-RpcMock $greeter
            Mock Invoke-RpcMethod { @{ text = 'never sent' } }

            (Invoke-RpcMethod SayHello -Connection $mock.Connection).text | Should -Be 'never sent'

            Get-RpcMockCall $mock | Should -BeNullOrEmpty
        }
    }
}
