. (Join-Path $PSScriptRoot common.ps1)

Describe 'Stop-RpcListener' {
    BeforeAll {
        # Makes a call that runs in the background, and waits until its handler runs.
        function Start-Call($Listener, [string] $Name) {
            $endpoint = "$($Listener.Endpoint)"
            $job = 0 | ForEach-Object -AsJob -Parallel {
                Import-Module $using:ModuleManifest
                $null = Connect-RpcEndpoint $using:endpoint `
                    -Schema (Join-Path $using:TestProtos greeter.proto) -Service demo.Greeter
                $reply = Invoke-RpcMethod SayHello @{ name = $using:Name } -Deadline 60 `
                    -ErrorAction SilentlyContinue -ErrorVariable errors
                $reply ? $reply.text : "$($errors[0].Exception.Code)"
            }
            Wait-Until { $Listener.InFlight -gt 0 } | Should -BeTrue
            $job
        }
    }

    AfterEach {
        Clear-Test
        Get-Job | Remove-Job -Force
    }

    It 'takes a time that timers do not take, on <_>' -ForEach @(
        'ncalrpc:[NAME]', 'inproc://NAME', 'grpc://127.0.0.1:0', 'http://127.0.0.1:0'
    ) {
        $listener = Start-TestListener { } -Endpoint $_.Replace('NAME', (New-TestName))

        $listener | Stop-RpcListener -DrainTimeout 60.00:00:00 -ErrorAction Stop

        $listener.State | Should -Be 'Stopped'
    }

    It 'stops the listeners of the pipeline and frees their endpoints' {
        $endpoint = "ncalrpc:[$(New-TestName)]"
        $listener = Start-TestListener { } -Endpoint $endpoint

        $listener | Stop-RpcListener

        $listener.State | Should -Be 'Stopped'
        Get-RpcListener | Should -BeNullOrEmpty
        { Connect-RpcEndpoint $endpoint -Schema $listener.Schema -Service demo.Greeter -ErrorAction Stop } |
            Should -Throw -ErrorId 'RpcStatus.Unavailable,*'
        { Start-TestListener { } -Endpoint $endpoint } | Should -Not -Throw
    }

    It 'takes ids from the pipeline, but no other objects with an Id' {
        $listener = Start-TestListener { }
        $other = Start-TestListener { }
        $rpc = Connect-Test $listener

        { $rpc | Stop-RpcListener -ErrorAction Stop } | Should -Throw -ErrorId 'InputObjectNotBound,*'
        { [pscustomobject]@{ Id = $listener.Id } | Stop-RpcListener -ErrorAction Stop } | Should -Throw -ErrorId 'InputObjectNotBound,*'
        $listener.State | Should -Be 'Listening'

        $listener.Id, $other.Id | Stop-RpcListener
        $listener.State, $other.State | Should -Be 'Stopped', 'Stopped'
        4711 | Stop-RpcListener -ErrorAction SilentlyContinue -ErrorVariable failed
        "$failed" | Should -BeLike '*4711*'
        $rpc.Id | Disconnect-RpcEndpoint
        $rpc.State | Should -Be 'Closed'
    }

    It 'lets running calls end' {
        $listener = Start-TestListener { Start-Sleep -Milliseconds 500; @{ text = 'ended' } }
        $job = Start-Call $listener

        $listener | Stop-RpcListener -DrainTimeout 30

        $job | Receive-Job -Wait | Should -Be 'ended'
    }

    It 'stops <_> handlers when the time to drain is over' -ForEach 'endless', 'sleeping' {
        $listener = Start-TestListener {
            param($Request)
            if ($Request.name -eq 'endless') { while ($true) { } } else { Start-Sleep 60 }
        }
        $job = Start-Call $listener $_
        $watch = [Diagnostics.Stopwatch]::StartNew()

        $listener | Stop-RpcListener -DrainTimeout 0.2

        $watch.Elapsed.TotalSeconds | Should -BeLessThan 10
        $job | Receive-Job -Wait | Should -BeIn 'Cancelled', 'Unavailable'
    }

    It 'does not wait for a handler that cannot be stopped' {
        $listener = Start-TestListener { [Threading.Thread]::Sleep(30000) }
        $null = Start-Call $listener
        $watch = [Diagnostics.Stopwatch]::StartNew()

        $listener | Stop-RpcListener -DrainTimeout 0

        $watch.Elapsed.TotalSeconds | Should -BeLessThan 15
    }

    It 'is found by id, and says when there is none' {
        $listener = Start-TestListener { }

        Stop-RpcListener $listener.Id

        $listener.State | Should -Be 'Stopped'
        { Stop-RpcListener -Id 12345 -ErrorAction Stop } |
            Should -Throw -ErrorId 'ListenerNotFound,*' -ExpectedMessage '*12345*'
    }

    It 'writes nothing, and stops nothing with -WhatIf' {
        $listener = Start-TestListener { }

        $listener | Stop-RpcListener -WhatIf
        $listener.State | Should -Be 'Listening'

        $listener | Stop-RpcListener | Should -BeNullOrEmpty
        $listener.State | Should -Be 'Stopped'
    }

    It 'leaves no threads behind' {
        function Measure-Thread { [Diagnostics.Process]::GetCurrentProcess().Threads.Count }
        $cycle = {
            $listener = Start-TestListener { } -Endpoint "ncalrpc:[$(New-TestName)]", 'tcp://127.0.0.1:0'
            $rpc = Connect-Test $listener
            $null = $rpc | Invoke-RpcMethod SayHello
            $rpc | Disconnect-RpcEndpoint
            $listener | Stop-RpcListener
        }
        1..3 | ForEach-Object { . $cycle }
        $before = Measure-Thread

        1..20 | ForEach-Object { . $cycle }

        Wait-Until { (Measure-Thread) -lt $before + 10 } | Should -BeTrue
    }
}
