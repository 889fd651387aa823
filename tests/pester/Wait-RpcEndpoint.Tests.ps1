. (Join-Path $PSScriptRoot common.ps1)

Describe 'Wait-RpcEndpoint' {
    BeforeAll {
        # A listener that another runspace starts a little later.
        function Start-Late([string] $Endpoint) {
            $late = [powershell]::Create()
            $null = $late.AddScript({
                param($Module, $Proto, $Endpoint)
                Import-Module $Module
                Start-RpcListener $Endpoint { } -Schema $Proto -Service demo.Greeter
            }).AddArgument($ModuleManifest).AddArgument((Join-Path $TestProtos greeter.proto)).AddArgument($Endpoint)
            @{ Shell = $late; Starting = $late.BeginInvoke() }
        }

        function Stop-Late($Late) {
            $null = $Late.Shell.EndInvoke($Late.Starting)
            $Late.Shell.Runspace.Close()
            $Late.Shell.Dispose()
        }

        function New-DeadEndpoint([string] $Endpoint = 'tcp://127.0.0.1:0') {
            $gone = Start-TestListener { } -Endpoint $Endpoint
            Stop-RpcListener $gone
            "$($gone.Endpoint[0])"
        }

        $proto = Join-Path $TestProtos greeter.proto
        $listener = Start-TestListener { } -Endpoint tcp://127.0.0.1:0, http://127.0.0.1:0/, grpc://127.0.0.1:0
    }

    AfterAll { Clear-Test }

    It 'waits until a server answers: <_>' -ForEach 'tcp://127.0.0.1:0', 'http://127.0.0.1:0/', 'grpc://127.0.0.1:0' {
        $endpoint = New-DeadEndpoint $_
        $late = Start-Late $endpoint
        try {
            $result = Wait-RpcEndpoint $endpoint -Schema $proto -Service demo.Greeter -Timeout 30 -ErrorAction Stop
            $result.Product | Should -Be 'ProtoRpc'
        }
        finally {
            Stop-Late $late
        }
    }

    It 'waits for all endpoints, of parameter, pipeline, listener and connection' {
        (Wait-RpcEndpoint $listener.Endpoint -Timeout 20).Count | Should -Be 3
        ($listener.Endpoint | Wait-RpcEndpoint -Timeout 20).Count | Should -Be 3
        ($listener | Wait-RpcEndpoint -Timeout 20).Count | Should -Be 3
        $rpc = Connect-Test $listener
        ($rpc | Wait-RpcEndpoint -Timeout 20).Endpoint | Should -Be $listener.Endpoint[0]
    }

    It 'waits for an interface' {
        (Wait-RpcEndpoint $listener.Endpoint[0] -Timeout 20 -ConnectionOption @{ InterfaceId = $listener.InterfaceId[0] }).Endpoint |
            Should -Be $listener.Endpoint[0]
        { Wait-RpcEndpoint $listener.Endpoint[0] -Timeout 0.2 -ConnectionOption @{ InterfaceId = New-Guid } -ErrorAction Stop } |
            Should -Throw -ErrorId 'EndpointNotReady,*'
    }

    It 'says which endpoints were not ready in time, and why, and gives those that were' {
        $dead = New-DeadEndpoint
        $watch = [Diagnostics.Stopwatch]::StartNew()

        $ready = Wait-RpcEndpoint $dead, $listener.Endpoint[1] -Timeout 1.5 `
            -ErrorAction SilentlyContinue -ErrorVariable failures

        $ready.Endpoint | Should -Be $listener.Endpoint[1]
        $failures.Count | Should -Be 1
        $failures[0].FullyQualifiedErrorId | Should -BeLike 'EndpointNotReady,*'
        $failures[0].TargetObject | Should -Be $dead
        "$($failures[0])" | Should -Match 'within 1.5 s.*nothing listens there'
        $watch.Elapsed.TotalSeconds | Should -BeGreaterThan 1.4
        $watch.Elapsed.TotalSeconds | Should -BeLessThan 15
    }

    It 'finds a server that is ready beside one that accepts and does not answer' {
        $silent = [Net.Sockets.TcpListener]::new([ipaddress]::Loopback, 0)
        $silent.Start()
        $mute = "tcp://$($silent.LocalEndpoint)"
        try {
            $ready = Wait-RpcEndpoint $mute, $listener.Endpoint[0] -Timeout 3 `
                -ErrorAction SilentlyContinue -ErrorVariable failures
        }
        finally {
            $silent.Stop()
        }

        $ready.Endpoint | Should -Be $listener.Endpoint[0]
        $failures.TargetObject | Should -Be $mute
    }

    It 'waits for a service, not for a server alone, and says which is missing: <_>' -ForEach 0, 1, 2 {
        { Wait-RpcEndpoint $listener.Endpoint[$_] -Service demo.Parting -Schema $proto -Timeout 2 -ErrorAction Stop } |
            Should -Throw -ErrorId 'EndpointNotReady,*' -ExpectedMessage '*demo.Parting*'
    }

    It 'says why an endpoint was not ready, not that the last ping had no time: <_>' -ForEach @(
        'tcp://127.0.0.1:0', 'http://127.0.0.1:0/', 'grpc://127.0.0.1:0') {
        { Wait-RpcEndpoint (New-DeadEndpoint $_) -Timeout 2 -ErrorAction Stop } |
            Should -Throw -ErrorId 'EndpointNotReady,*' -ExpectedMessage '*nothing listens there*'
    }

    It 'does not wait for what waiting does not change' {
        $guarded = Start-TestListener { } -Endpoint http://127.0.0.1:0/ -With @{ BearerCheck = { $false } }
        $watch = [Diagnostics.Stopwatch]::StartNew()

        { Wait-RpcEndpoint $guarded.Endpoint[0] -Timeout 60 -ErrorAction Stop } |
            Should -Throw -ErrorId 'RpcStatus.Unauthenticated,*'
        { Wait-RpcEndpoint 'nonsense' -Timeout 60 -ErrorAction Stop } | Should -Throw -ErrorId 'InvalidEndpoint,*'
        { Wait-RpcEndpoint tcp://127.0.0.1:1 -ConnectionOption @{ Header = @{ a = 'b' } } -Timeout 60 -ErrorAction Stop } |
            Should -Throw -ErrorId 'ParameterNotSupported,*'
        $watch.Elapsed.TotalSeconds | Should -BeLessThan 30
    }

    It 'shows progress after a second' {
        $shell = [powershell]::Create()
        $null = $shell.AddScript({
            param($Module, $Endpoint)
            Import-Module $Module
            Wait-RpcEndpoint $Endpoint -Timeout 2.5 -ErrorAction Ignore
        }).AddArgument($ModuleManifest).AddArgument((New-DeadEndpoint)).Invoke()

        $records = @($shell.Streams.Progress | Where-Object Activity -EQ 'Waiting for endpoints')
        $records[0].StatusDescription | Should -Match 'nothing listens there'
        $records[-1].RecordType | Should -Be 'Completed'
        $shell.Runspace.Close()
        $shell.Dispose()
    }

    It 'is stopped at once' {
        $shell = [powershell]::Create()
        $null = $shell.AddScript({
            param($Module, $Endpoint)
            Import-Module $Module
            Wait-RpcEndpoint $Endpoint -Timeout 600
        }).AddArgument($ModuleManifest).AddArgument((New-DeadEndpoint))
        $waiting = $shell.BeginInvoke()
        Wait-Until { $shell.Streams.Progress.Count -gt 0 } | Should -BeTrue

        $watch = [Diagnostics.Stopwatch]::StartNew()
        $shell.Stop()

        $watch.Elapsed.TotalSeconds | Should -BeLessThan 10
        $waiting.IsCompleted | Should -BeTrue
        $shell.Runspace.Close()
        $shell.Dispose()
    }
}
