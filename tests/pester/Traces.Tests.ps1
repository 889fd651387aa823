. (Join-Path $PSScriptRoot common.ps1)

Describe 'Traces' {
    BeforeAll {
        $handler = @{
            SayHello = {
                param($Request)
                if ($Request.name -eq 'nobody') { throw 'nobody is there' }
                @{ text = "hi $($Request.name)" }
            }
        }
        $listener = Start-TestListener -Handler $handler -Endpoint @(
            'ncacn_ip_tcp:127.0.0.1[0]', 'http://127.0.0.1:0/', 'grpc://127.0.0.1:0',
            "inproc://$(New-TestName)")
    }

    AfterAll {
        $listener | Stop-RpcListener
    }

    It 'tells endpoint, method, status, time, sizes and retries of a call on endpoint <_> with -Verbose' -ForEach 0, 1, 2, 3 {
        $rpc = Connect-Test $listener $_
        try {
            $lines = $rpc | Invoke-RpcMethod SayHello @{ name = 'Ann' } -Verbose 4>&1 |
                Where-Object { $_ -is [Management.Automation.VerboseRecord] }
            $failed = $rpc | Invoke-RpcMethod SayHello @{ name = 'nobody' } -Verbose -ErrorAction Ignore 4>&1
        }
        finally {
            $rpc | Disconnect-RpcEndpoint
        }
        $endpoint = [regex]::Escape($listener.Endpoint[$_].ToString())
        "$($lines[-1])" | Should -Match (
            "^demo.Greeter/SayHello on ${endpoint}: OK in [\d.]+ ms, [1-9]\d* bytes sent, " +
            '[1-9]\d* bytes received, 0 retries$')
        "$($failed[-1])" | Should -Match "^demo.Greeter/SayHello on ${endpoint}: Unknown in "
    }

    It 'tells the command that repeats a call with -Verbose' {
        # A raw connection has no client of messages.
        $raw = Connect-RpcEndpoint $listener.Endpoint[0] -InterfaceId (New-Guid) -Lazy
        $rpc = Connect-Test $listener
        $schema = Join-Path $TestProtos greeter.proto
        try {
            $lines = $rpc | Invoke-RpcMethod SayHello @{ name = "Ann's" } -Verbose 4>&1
            $with = @{ Endpoint = "$($listener.Endpoint[0])"; Schema = $schema; Service = 'demo.Greeter' }
            $other = Invoke-RpcMethod SayHello '{"name":"Ann"}' @with -Verbose 4>&1
            $line = "$($lines -match '^Repeat: ')"
            $again = & ([scriptblock]::Create($line -replace '^Repeat: '))
        }
        finally {
            $raw, $rpc | Disconnect-RpcEndpoint
            Disconnect-RpcEndpoint -Pooled
        }

        $line | Should -Be "Repeat: Invoke-RpcMethod demo.Greeter/SayHello '{`"name`":`"Ann''s`"}' -Connection (Get-RpcConnection $($rpc.Id))"
        $again.text | Should -Be ($lines | Where-Object text).text
        "$($other -match '^Repeat: ')" | Should -Be (
            "Repeat: Invoke-RpcMethod demo.Greeter/SayHello '{`"name`":`"Ann`"}' " +
            "-Endpoint '$($listener.Endpoint[0])' -Schema '$schema'")
    }

    Context 'attempts that are made again' {
        BeforeAll {
            $proto = Join-Path $TestProtos greeter.proto
            # Nobody listens there any more.
            function New-Dead([string] $Endpoint = 'tcp://127.0.0.1:0') {
                $gone = Start-TestListener { } -Endpoint $Endpoint
                Stop-RpcListener $gone
                "$($gone.Endpoint[0])"
            }
            $attempt = 'attempt {0} failed with status Unavailable, the next begins in [\d.]+ ms: .+'
        }

        It 'tells each of a call with -Verbose: <_>' -ForEach 'tcp://127.0.0.1:0', 'http://127.0.0.1:0/', 'grpc://127.0.0.1:0' {
            $dead = New-Dead $_
            $rpc = Connect-RpcEndpoint $dead -Schema $proto -Service demo.Greeter -Lazy -RetryCount 2
            $lines = @($rpc | Invoke-RpcMethod SayHello -Verbose -ErrorAction Ignore 4>&1) -notmatch '^(Calling|Repeat)'
            $quiet = @($rpc | Invoke-RpcMethod SayHello -ErrorAction Ignore 4>&1)
            $rpc | Disconnect-RpcEndpoint

            $lines | Should -HaveCount 3
            $lines[0] | Should -BeOfType ([Management.Automation.VerboseRecord])
            "$($lines[0])" | Should -Match ("^demo.Greeter/SayHello on .+: $attempt" -f 1)
            "$($lines[1])" | Should -Match ("^demo.Greeter/SayHello on .+: $attempt" -f 2)
            "$($lines[2])" | Should -Match ', 2 retries$'
            $quiet | Should -BeNullOrEmpty
        }

        It 'tells each of connecting, and of calls of several endpoints' {
            $dead = New-Dead
            $lines = @(Connect-RpcEndpoint $dead -Schema $proto -Service demo.Greeter -RetryCount 1 -Verbose `
                    -ErrorAction Ignore 4>&1)
            "$lines" | Should -Match ("Connecting to .+: $attempt" -f 1)

            $several = $dead, (New-Dead)
            $calls = @(Invoke-RpcMethod SayHello -Endpoint $several -Schema $proto -Service demo.Greeter -RetryCount 1 `
                    -PassThruResult -Verbose 4>&1)
            foreach ($endpoint in $several) {
                "$calls" | Should -BeLike "*$(([ProtoRpc.RpcEndpoint]$endpoint).Port)*attempt 1 failed*"
            }
        }

        It 'tells it when it happens' {
            $dead = New-Dead 'grpc://127.0.0.1:0'
            $shell = [powershell]::Create()
            $null = $shell.AddScript({
                param($Module, $Proto, $Endpoint)
                Import-Module $Module
                $rpc = Connect-RpcEndpoint $Endpoint -Schema $Proto -Service demo.Greeter -Lazy
                $rpc | Invoke-RpcMethod SayHello -ConnectionOption @{ WaitForReady = $true } -Deadline 60 -Verbose
            }).AddArgument($ModuleManifest).AddArgument($proto).AddArgument($dead)
            try {
                $running = $shell.BeginInvoke()

                # Long before the call ends.
                Wait-Until { "$($shell.Streams.Verbose)" -match 'attempt 2 failed with status Unavailable' } |
                    Should -BeTrue
                $running.IsCompleted | Should -BeFalse
            }
            finally {
                $shell.Stop()
                $shell.Dispose()
            }
        }
    }

    It 'tells the same of a call of the raw layer' {
        $id = [guid]::NewGuid()
        $raw = Start-RpcListener -InterfaceId $id -Endpoint 'ncacn_ip_tcp:127.0.0.1[0]' -Handler {
            param([byte[]] $Bytes)
            if ($Bytes[0] -eq 0) { throw 'no tape' }
            $Bytes + $Bytes
        }
        try {
            $rpc = Connect-RpcEndpoint $raw.Endpoint -InterfaceId $id
            $lines = Invoke-RpcMethod -Connection $rpc -Message 1, 2, 3 -Verbose 4>&1
            $failed = Invoke-RpcMethod -Connection $rpc -Message 0 -Verbose -ErrorAction Ignore 4>&1
            $rpc | Disconnect-RpcEndpoint
        }
        finally {
            $raw | Stop-RpcListener
        }
        $endpoint = [regex]::Escape("$($raw.Endpoint)")
        "$($lines -match 'retries')" | Should -Match (
            "$id on ${endpoint}: OK in [\d.]+ ms, 3 bytes sent, 6 bytes received, 0 retries$")
        "$(@($failed) -match 'retries')" | Should -Match "$id on ${endpoint}: \w+ in [\d.]+ ms, 1 bytes sent"
    }

    It 'tells how long a ping took, of endpoints that answer and of dead ones' {
        $lines = Test-RpcEndpoint $listener.Endpoint[0] -Verbose 4>&1
        $dead = Test-RpcEndpoint "inproc://$(New-TestName)" -Quiet -Verbose 4>&1
        "$(@($lines) -match 'Ping')" | Should -Match (
            "^Ping of $([regex]::Escape($listener.Endpoint[0].ToString())): OK in [\d.]+ ms, the ping itself [\d.]+ ms")
        "$(@($dead) -match 'Ping')" | Should -Match '^Ping of inproc://\S+: Unavailable in [\d.]+ ms$'
    }

    It 'tells the trace of the shell with -Verbose' {
        $rpc = Connect-Test $listener
        $activity = [Diagnostics.Activity]::new('shell').Start()
        try {
            $lines = $rpc | Invoke-RpcMethod SayHello @{ name = 'Ann' } -Verbose 4>&1
        }
        finally {
            $activity.Stop()
            $rpc | Disconnect-RpcEndpoint
        }
        "$($lines -match 'retries')" | Should -BeLike "*trace $($activity.TraceId)"
    }

    It 'tells what is sent and received with -Debug, on endpoint <Index>' -ForEach @(
        @{ Index = 0; Sent = '-> *Request call *, * bytes, flags Single*'; Received = '<- *Response call *, *' }
        @{ Index = 1; Sent = '-> *POST /demo.Greeter/SayHello HTTP/1.1*'; Received = '<- *HTTP/1.1 200*' }
        @{ Index = 2; Sent = '-> *message of * bytes'; Received = '<- *trailers; grpc-status: 0' }
        @{ Index = 3; Sent = '-> *message of * bytes'; Received = '<- *message of * bytes' }
    ) {
        $rpc = Connect-RpcEndpoint $listener.Endpoint[$Index] -Schema $listener.Schema -Service demo.Greeter
        try {
            $quiet = $rpc | Invoke-RpcMethod SayHello @{ name = 'Ann' } 5>&1
            $lines = $rpc | Invoke-RpcMethod SayHello @{ name = 's3cretName' } -Debug 5>&1 |
                Where-Object { $_ -is [Management.Automation.DebugRecord] } | ForEach-Object Message
        }
        finally {
            $rpc | Disconnect-RpcEndpoint
        }
        @($quiet).Count | Should -Be 1
        @($lines -like "*$Sent").Count | Should -BeGreaterThan 0
        @($lines -like "*$Received").Count | Should -BeGreaterThan 0
        "$lines" | Should -Not -Match 's3cretName'
    }

    It 'never shows tokens, cookies and keys' {
        $rpc = Connect-RpcEndpoint $listener.Endpoint[1] -Schema $listener.Schema -Service demo.Greeter -Header @{
            'x-api-key' = 's3cretKey'; cookie = 'id=s3cretCookie'; 'x-tenant' = 'blue'
        }
        try {
            $lines = $rpc | Invoke-RpcMethod SayHello @{ name = 'Ann' } -Debug 5>&1 |
                Where-Object { $_ -is [Management.Automation.DebugRecord] }
        }
        finally {
            $rpc | Disconnect-RpcEndpoint
        }
        "$lines" | Should -BeLike '*x-tenant: blue*'
        "$lines" | Should -Not -Match 's3cret'
    }

    It 'tells both for the commands of a service' {
        $rpc = Connect-Test $listener
        $module = Import-RpcService -Connection $rpc -Prefix Traced -PassThru -Force
        try {
            $command = Get-Command -Module $module -Name *Traced*Hello*
            $lines = & $command -Name Ann -Connection $rpc -Verbose 4>&1
            $debug = & $command -Name Ann -Connection $rpc -Debug 5>&1
        }
        finally {
            Remove-Module $module
            $rpc | Disconnect-RpcEndpoint
        }
        "$lines" | Should -Match 'demo.Greeter/SayHello on .*: OK in'
        "$debug" | Should -Match 'Request call \d+'
    }

    It 'follows $DebugPreference, and the connection of a call without one' {
        $DebugPreference = 'Continue'
        $lines = Invoke-RpcMethod SayHello @{ name = 'Ann' } -Endpoint $listener.Endpoint[2] 5>&1
        $DebugPreference = 'SilentlyContinue'
        $quiet = Invoke-RpcMethod SayHello @{ name = 'Ann' } -Endpoint $listener.Endpoint[2] 5>&1
        "$lines" | Should -BeLike '*POST /demo.Greeter/SayHello*'
        @($quiet).Count | Should -Be 1
    }

    It 'does not ask whether to go on after each line' {
        $result = Invoke-Pwsh @"
Import-Module '$ModuleManifest'
`$rpc = Connect-RpcEndpoint '$($listener.Endpoint[0])' -Schema '$TestProtos/greeter.proto' -Service demo.Greeter -Debug
`$null = `$rpc | Invoke-RpcMethod SayHello @{ name = 'x' } -Debug
'done'
"@
        $result.Output | Should -Match 'done'
        $result.Output | Should -Match 'BindAck'
        "$($result.Output)$($result.Error)" | Should -Not -Match 'Continue with this operation'
    }

    It 'keeps the trace of a listener that is started with -Debug among its records' {
        $traced = Start-TestListener -Handler $handler -Endpoint 'ncacn_ip_tcp:127.0.0.1[0]' -With @{
            Debug = $true; Confirm = $false
        } 5>&1 6>&1
        $rpc = Connect-Test $traced
        $null = $rpc | Invoke-RpcMethod SayHello @{ name = 'Ann' }
        $rpc | Disconnect-RpcEndpoint
        $traced | Stop-RpcListener
        $traced.LastRecord | Should -Match '(<-|->) ncacn_ip_tcp'
    }

    It 'makes the calls of a handler part of the trace of its caller' {
        Add-Type -ReferencedAssemblies System.Diagnostics.DiagnosticSource, System.Runtime -TypeDefinition @'
using System.Diagnostics;
public static class TestActivities
{
    public static ActivityListener Listen()
    {
        ActivityListener listener = new ActivityListener
        {
            ShouldListenTo = source => source.Name == "ProtoRpc",
            Sample = (ref ActivityCreationOptions<ActivityContext> _) => ActivitySamplingResult.AllData,
        };
        ActivitySource.AddActivityListener(listener);
        return listener;
    }
}
'@
        $back = Start-TestListener -Endpoint "inproc://$(New-TestName)" -Handler @{
            SayHello = { @{ text = "$([Diagnostics.Activity]::Current.TraceId)" } }
        }
        $backEndpoint = "$($back.Endpoint)"
        $front = Start-TestListener -Endpoint 'grpc://127.0.0.1:0', "inproc://$(New-TestName)" -Handler @{
            SayHello = { Invoke-RpcMethod SayHello @{} -Endpoint $using:backEndpoint }
        }
        $listening = [TestActivities]::Listen()
        try {
            foreach ($endpoint in $front.Endpoint) {
                $activity = [Diagnostics.Activity]::new('shell').Start()
                $trace = (Invoke-RpcMethod SayHello @{} -Endpoint $endpoint).text
                $activity.Stop()
                $trace | Should -Be "$($activity.TraceId)"
                (Invoke-RpcMethod SayHello @{} -Endpoint $endpoint).text | Should -Not -BeIn '', $trace
            }
        }
        finally {
            $listening.Dispose()
            $front, $back | Stop-RpcListener
        }
    }
}
