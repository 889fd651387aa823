. (Join-Path $PSScriptRoot common.ps1)

Describe 'Handlers that cannot be stopped' {
    BeforeEach {
        $release = [Threading.ManualResetEvent]::new($false)

        function Start-StuckListener([hashtable] $With) {
            $handler = {
                param($Request)
                if ($Request.name -eq 'stuck') { $null = ($using:release).WaitOne() }
                @{ text = 'served' }
            }
            Start-TestListener $handler -With $With
        }

        function Invoke-Stuck([int] $Times) {
            for ($i = 0; $i -lt $Times; $i++) {
                Invoke-RpcMethod SayHello @{ name = 'stuck' } -Deadline 3 -Connection $rpc `
                    -ErrorAction SilentlyContinue -ErrorVariable stuck
                $stuck[0].FullyQualifiedErrorId
            }
        }
    }

    AfterEach {
        $null = $release.Set()
        Clear-Test
    }

    It 'leave the listener answering: their workers are replaced, counted and told of' {
        $listener = Start-StuckListener @{ ListenerOption = @{ WorkerCount = 2 } }
        $rpc = Connect-Test $listener

        Invoke-Stuck 2 | Should -BeLike 'RpcStatus.DeadlineExceeded,*'
        Wait-Until { $listener.StuckWorkers -eq 2 } | Should -BeTrue

        (Invoke-RpcMethod SayHello @{ name = 'x' } -Connection $rpc).text | Should -Be 'served'
        Wait-Until { $listener.Records -ge 2 } | Should -BeTrue
        $warnings = $listener | Receive-RpcListener -ErrorAction Ignore 3>&1
        $warnings | Should -HaveCount 2
        "$($warnings[1])" | Should -BeLike '*demo.Greeter/SayHello*2 of at most 32*CancellationToken*'
    }

    It 'keep calls that wait for a worker from waiting for ever' {
        $listener = Start-StuckListener @{ ListenerOption = @{ WorkerCount = 1 } }
        $rpc = Connect-Test $listener
        $null = Invoke-Stuck 1

        (Invoke-RpcMethod SayHello @{ name = 'x' } -Connection $rpc -Deadline 20).text | Should -Be 'served'
    }

    It 'fail further calls at once when there are too many, until they return' {
        $listener = Start-StuckListener @{
            Limits = @{ MaxStuckWorkers = 1 }; ListenerOption = @{ WorkerCount = 1; ErrorDetail = 'None' }
        }
        $rpc = Connect-Test $listener
        $null = Invoke-Stuck 1
        Wait-Until { $listener.StuckWorkers -eq 1 } | Should -BeTrue
        $null = Invoke-Stuck 1
        Wait-Until { $listener.StuckWorkers -eq 2 } | Should -BeTrue

        $watch = [Diagnostics.Stopwatch]::StartNew()
        { Invoke-RpcMethod SayHello -Connection $rpc -Deadline 20 -ErrorAction Stop } |
            Should -Throw -ErrorId 'RpcStatus.ResourceExhausted,*' -ExpectedMessage '*no worker left*'
        $watch.Elapsed.TotalSeconds | Should -BeLessThan 10
        $listener.Workers | Should -Be 0
        Wait-Until { $listener.Records -ge 2 } | Should -BeTrue
        "$(($listener | Receive-RpcListener -ErrorAction Ignore 3>&1)[1])" | Should -BeLike '*MaxStuckWorkers*0 of 1 workers are left*'

        $null = $release.Set()
        Wait-Until { $listener.StuckWorkers -eq 0 } | Should -BeTrue
        (Invoke-RpcMethod SayHello -Connection $rpc).text | Should -Be 'served'
    }

    It 'do not keep the process from ending, <Name>' -ForEach @(
        @{ Name = 'written off'; Wait = 'while ($listener.StuckWorkers -eq 0) { [Threading.Thread]::Sleep(50) }' }
        @{ Name = 'just stopped'; Wait = '' }
    ) {
        $result = Invoke-Pwsh @"
            Import-Module '$ModuleManifest'
            `$with = @{ Schema = '$TestProtos/greeter.proto'; Service = 'demo.Greeter' }
            `$listener = Start-RpcListener 'ncalrpc:[$(New-TestName)]' { [Threading.Thread]::Sleep(-1) } @with
            `$null = Connect-RpcEndpoint `$listener.Endpoint[0] -Schema `$listener.Schema -Service demo.Greeter
            Invoke-RpcMethod SayHello -Deadline 3 -ErrorAction SilentlyContinue
            $Wait
            'the end'
"@

        $result.Ended | Should -BeTrue
        $result.Output.Trim() | Should -Be 'the end'
    }

    It 'do not keep a listener from stopping' {
        $listener = Start-StuckListener @{ ListenerOption = @{ WorkerCount = 1 } }
        $rpc = Connect-Test $listener
        $null = Invoke-Stuck 1
        $watch = [Diagnostics.Stopwatch]::StartNew()

        $listener | Stop-RpcListener -DrainTimeout 0

        $watch.Elapsed.TotalSeconds | Should -BeLessThan 10
    }
}

Describe 'A shell that closes the runspaces of handlers' {
    AfterEach { Clear-Test }

    It 'does not wait for a worker that waits for a call, and the next call has another worker' {
        $before = (Get-Runspace).Id
        $listener = Start-TestListener { @{ text = 'served' } }
        $rpc = Connect-Test $listener
        (Invoke-RpcMethod SayHello @{ name = 'x' } -Connection $rpc).text | Should -Be 'served'
        $workers = @(Get-Runspace | Where-Object Id -NotIn $before)
        $workers | Should -Not -BeNullOrEmpty

        $workers.CloseAsync()

        Wait-Until { -not ($workers.RunspaceStateInfo.State -ne 'Closed') } | Should -BeTrue
        (Invoke-RpcMethod SayHello @{ name = 'x' } -Connection $rpc -Deadline 20).text | Should -Be 'served'
    }

    It 'stops a handler that runs, and its call fails' {
        $before = (Get-Runspace).Id
        $running = [Threading.ManualResetEventSlim]::new()
        $listener = Start-TestListener {
            ($using:running).Set()
            while ($true) { Start-Sleep -Milliseconds 10 }
        }
        $rpc = Connect-Test $listener
        $job = Invoke-RpcMethod SayHello @{ name = 'x' } -Connection $rpc -Deadline 60 -AsJob
        $running.Wait(20000) | Should -BeTrue
        $workers = @(Get-Runspace | Where-Object Id -NotIn $before)

        $workers.CloseAsync()

        Wait-Until { -not ($workers.RunspaceStateInfo.State -ne 'Closed') } | Should -BeTrue
        { $job | Receive-Job -Wait -ErrorAction Stop } | Should -Throw
        $job | Remove-Job
    }

    It 'fails calls that wait for the only worker, and serves the next one' {
        $before = (Get-Runspace).Id
        $running = [Threading.ManualResetEventSlim]::new()
        $listener = Start-TestListener -With @{ ListenerOption = @{ WorkerCount = 1 } } -Handler {
            param($Request)
            if ($Request.name -eq 'first') {
                ($using:running).Set()
                while ($true) { Start-Sleep -Milliseconds 10 }
            }
            @{ text = 'served' }
        }
        $rpc = Connect-Test $listener
        $job = @{ name = 'first' }, @{ name = 'second' } |
            Invoke-RpcMethod SayHello -Connection $rpc -Deadline 60 -AsJob -PassThruResult
        $running.Wait(20000) | Should -BeTrue

        @(Get-Runspace | Where-Object Id -NotIn $before).CloseAsync()

        $null = $job | Wait-Job -Timeout 30
        $job.State | Should -Not -Be 'Running'
        $job | Remove-Job -Force
        (Invoke-RpcMethod SayHello @{ name = 'x' } -Connection $rpc -Deadline 20).text | Should -Be 'served'
    }
}
