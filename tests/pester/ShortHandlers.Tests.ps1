. (Join-Path $PSScriptRoot common.ps1)

# After some short runs, a handler runs on the thread of the connection, in the session of a worker.
Describe 'Handlers that are short' {
    BeforeAll {
        $handler = {
            param($Request)
            switch ($Request.name) {
                thread { return @{ text = [Threading.Thread]::CurrentThread.Name } }
                streams {
                    Write-Warning 'warned'
                    Write-Error 'failed'
                    Write-Information 'informed'
                }
                throw { throw 'thrown' }
                exit { exit }
                function { return @{ number = (1..3 | ForEach-Object { Get-Double $_ } | Measure-Object -Sum).Sum } }
                nested {
                    $shell = [powershell]::Create('CurrentRunspace')
                    return @{ number = $shell.AddScript('40 + 2').Invoke()[0] }
                }
                context { return @{ text = "$($RpcMethod.Name) $($RpcContext.RequestHeaders['x-note']) $(1 + $Global:kept++)" } }
                sleep { Start-Sleep 60 }
                loop { while ($true) { } }
                stuck { $null = ($using:release).WaitOne() }
            }
            @{ text = 'served' }
        }

        function Get-Double($Number) { 2 * $Number }

        function Start-ShortListener([hashtable] $With = @{}) {
            Start-TestListener $handler -With (@{ ListenerOption = @{ WorkerCount = 1 } } + $With)
        }

        # Until the listener has seen that its runs are short, which a busy machine may make long.
        function Initialize-Short {
            Wait-Until {
                foreach ($i in 1..100) { $null = Invoke-RpcMethod SayHello -Connection $rpc }
                (Invoke-RpcMethod SayHello @{ name = 'thread' } -Connection $rpc).text -eq 'ProtoRpc connection'
            } | Should -BeTrue
        }

        function Get-Failure([string] $Name) {
            $null = Invoke-RpcMethod SayHello @{ name = $Name } -Connection $rpc -Deadline 2 `
                -ErrorAction SilentlyContinue -ErrorVariable failed
            $failed
        }
    }

    BeforeEach {
        $release = [Threading.ManualResetEvent]::new($false)
        $listener = Start-ShortListener
        $rpc = Connect-Test $listener
        Initialize-Short
    }

    AfterEach {
        $null = $release.Set()
        Clear-Test
    }

    It 'run where the call came in, as in their worker' {
        (Invoke-RpcMethod SayHello @{ name = 'function' } -Connection $rpc).number | Should -Be 12
        (Invoke-RpcMethod SayHello @{ name = 'nested' } -Connection $rpc).number | Should -Be 42
        foreach ($i in 1..3) {
            $reply = Invoke-RpcMethod SayHello @{ name = 'context' } -Header @{ 'x-note' = 'n' } -Connection $rpc
            $reply.text | Should -Be "SayHello n $i"
        }
    }

    It 'write to their streams' {
        $null = Get-Failure streams

        $records = $listener | Receive-RpcListener -ErrorAction Continue *>&1
        $records[0, 2].ForEach{ "$_" } | Should -Be warned, informed
        "$($records[1])" | Should -BeLike '* demo.Greeter/SayHello wrote an error for *: failed*ShortHandlers.Tests.ps1: line *'
    }

    It 'fail as in their worker' {
        (Get-Failure throw).Exception.Message | Should -Be 'thrown'
        (Get-Failure exit).Exception.Message | Should -BeLike "*ended with 'exit'*"
        (Invoke-RpcMethod SayHello -Connection $rpc).text | Should -Be 'served'
    }

    It 'are stopped at their deadline: <_>' -ForEach 'sleep', 'loop' {
        (Get-Failure $_).FullyQualifiedErrorId | Should -BeLike 'RpcStatus.DeadlineExceeded,*'

        (Invoke-RpcMethod SayHello -Connection $rpc).text | Should -Be 'served'
        $listener.StuckWorkers | Should -Be 0
    }

    It 'no longer run there when one took long' {
        $null = Get-Failure sleep

        (Invoke-RpcMethod SayHello @{ name = 'thread' } -Connection $rpc).text | Should -Be 'ProtoRpc handler'
    }

    It 'do not hold a worker that cannot be stopped' {
        (Get-Failure stuck).FullyQualifiedErrorId | Should -BeLike 'RpcStatus.DeadlineExceeded,*'

        (Invoke-RpcMethod SayHello -Connection $rpc -Deadline 20).text | Should -Be 'served'
        Wait-Until { $listener.StuckWorkers -eq 1 } | Should -BeTrue
        $null = $release.Set()
        Wait-Until { $listener.StuckWorkers -eq 0 } | Should -BeTrue
    }

    It 'end with their listener: <_>' -ForEach 'sleep', 'loop' {
        $watch = [Diagnostics.Stopwatch]::StartNew()
        $job = Invoke-RpcMethod SayHello @{ name = $_ } -Connection $rpc -AsJob
        Wait-Until { $listener.InFlight -gt 0 } | Should -BeTrue

        $listener | Stop-RpcListener -DrainTimeout 0

        $null = $job | Wait-Job -Timeout 20
        $job.State | Should -Be Failed
        $watch.Elapsed.TotalSeconds | Should -BeLessThan 20
        $job | Remove-Job -Force
    }

    It 'answer many callers at the same time' {
        $replies = 1..8 | ForEach-Object -ThrottleLimit 8 -Parallel {
            Import-Module $using:ModuleManifest
            $rpc = Connect-RpcEndpoint ($using:listener).Endpoint[0] -Schema ($using:listener).Schema `
                -Service demo.Greeter
            foreach ($i in 1..200) { (Invoke-RpcMethod SayHello @{ name = 'function' } -Connection $rpc).number }
            Disconnect-RpcEndpoint $rpc
        }

        $replies | Should -HaveCount 1600
        ($replies | Select-Object -Unique) | Should -Be 12
        $listener.Workers | Should -Be 1
    }

    It 'do not keep the process from ending' {
        $result = Invoke-Pwsh @"
            Import-Module '$ModuleManifest'
            `$with = @{ Schema = '$TestProtos/greeter.proto'; Service = 'demo.Greeter' }
            `$handler = { param(`$Request) if (`$Request.name) { [Threading.Thread]::Sleep(-1) } }
            `$listener = Start-RpcListener 'ncalrpc:[$(New-TestName)]' `$handler @with
            `$null = Connect-RpcEndpoint `$listener.Endpoint[0] -Schema `$listener.Schema -Service demo.Greeter
            foreach (`$i in 1..200) { `$null = Invoke-RpcMethod SayHello }
            Invoke-RpcMethod SayHello @{ name = 'x' } -Deadline 3 -ErrorAction SilentlyContinue
            'the end'
"@

        $result.Ended | Should -BeTrue
        $result.Output.Trim() | Should -Be 'the end'
    }
}
