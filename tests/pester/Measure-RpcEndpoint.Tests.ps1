. (Join-Path $PSScriptRoot common.ps1)

BeforeDiscovery {
    $endpoints = @(
        'ncacn_ip_tcp:127.0.0.1[0]', 'local://NAME', 'pipe://./NAME', 'grpc://127.0.0.1:0', 'http://127.0.0.1:0/'
        'inproc://NAME'
    ).ForEach{ @{ Address = $_ } }
}

Describe 'Measure-RpcEndpoint' {
    BeforeAll {
        $words = Join-Path $TestProtos words.proto
        $schema = Import-RpcSchema $words
        $got = [Collections.Concurrent.ConcurrentQueue[string]]::new()
        $handlers = @{
            Say = {
                param($Request)
                ($using:got).Enqueue("$($Request.text)|$($RpcContext.RequestHeaders['tenant'])")
                if ($Request.text -eq 'fail') { throw [ProtoRpc.RpcException]::new('Aborted', 'out of paper') }
                @{ text = $Request.text }
            }
            Split = { param($Request) $Request.text -split ' ' | ForEach-Object { @{ text = $_ } } }
            Join = { $all = foreach ($each in $Request) { $each.text }; @{ text = $all -join ' ' } }
            Chat = { foreach ($each in $Request) { @{ text = $each.text } } }
        }

        function Start-Words([string[]] $Endpoint, $Handler = $handlers) {
            Start-RpcListener $Endpoint.Replace('NAME', (New-TestName)) $Handler -Schema $schema
        }

        $listener = Start-Words 'local://NAME'
        $rpc = Connect-RpcEndpoint $listener.Endpoint[0] -Schema $schema
    }

    BeforeEach { $got.Clear() }

    AfterAll { Clear-Test }

    Context 'what is measured' {
        It 'is calls and latencies on <Address>' -ForEach $endpoints {
            $other = Start-Words $Address
            $result = Measure-RpcEndpoint Say @{ text = 'hello' } -Endpoint $other.Endpoint -Schema $schema `
                -Count 60 -Concurrency 3
            $other | Stop-RpcListener

            $result.Calls | Should -Be 60
            $result.Failed | Should -Be 0
            $got.Count | Should -Be 60
            $result.BytesSent | Should -Be 420
            $result.BytesReceived | Should -Be 420
            $result.Method | Should -Be 'words.Words/Say'
            $result.Min | Should -BeGreaterThan 0
            $result.P50 | Should -BeGreaterOrEqual $result.Min
            $result.P999 | Should -BeGreaterOrEqual $result.P99
            $result.Max | Should -BeGreaterOrEqual $result.P999
            $result.CallsPerSecond | Should -BeGreaterThan 0
            Get-RpcConnection | Should -HaveCount 1 -Because 'the connections of the measurement are closed'
        }

        It 'is every kind of method: <Method>' -ForEach @(
            @{ Method = 'Split'; Message = @{ text = 'a b c' }; Sent = 1; Received = 3 }
            @{ Method = 'Join'; Message = @{ text = 'a' }, @{ text = 'b' }; Sent = 2; Received = 1 }
            @{ Method = 'Chat'; Message = @{ text = 'a' }, @{ text = 'b' }; Sent = 2; Received = 2 }
        ) {
            $other = Start-Words 'grpc://127.0.0.1:0'
            $result = Measure-RpcEndpoint $Method $Message -Endpoint $other.Endpoint -Count 20 -Concurrency 2
            $other | Stop-RpcListener

            $result.Succeeded | Should -Be 20
            $result.MessagesSent | Should -Be (20 * $Sent)
            $result.MessagesReceived | Should -Be (20 * $Received)
        }

        It 'is the messages of a list in turn' {
            $rows = "text`na`nb`nc" | ConvertFrom-Csv

            $null = $rpc | Measure-RpcEndpoint Say $rows -Count 6 -Concurrency 1
            $of = $got.ToArray() -join ' '
            $got.Clear()
            $null = $rpc | Measure-RpcEndpoint Say @{ text = 'x' }, '{"text":"y"}' -Count 4 -Concurrency 1

            $of | Should -Be 'a| b| c| a| b| c|'
            $got.ToArray() -join ' ' | Should -Be 'x| y| x| y|'
        }

        It 'is the lists of a list in turn, for a stream of requests' {
            $other = Start-Words 'grpc://127.0.0.1:0'
            $result = Measure-RpcEndpoint Join @(@{ text = 'a' }, @{ text = 'b' }), @(, @{ text = 'c' }) `
                -Endpoint $other.Endpoint -Count 4 -Concurrency 1
            $other | Stop-RpcListener

            $result.MessagesSent | Should -Be 6
        }

        It 'ends after a time, without the calls of the warm-up' {
            $result = Measure-RpcEndpoint Say @{ text = 'x' } -Connection $rpc -Duration 0.3 -WarmUp 0.2

            $result.Elapsed.TotalSeconds | Should -BeGreaterOrEqual 0.3
            $result.Calls | Should -BeGreaterThan 0
            $result.Calls | Should -BeLessThan $got.Count
        }

        It 'shows a server that stalls once, where calls are due at a rate' {
            $calls = [ref] 0
            $stalling = Start-Words 'local://NAME' @{
                Say = {
                    $calls = $using:calls
                    $calls.Value++
                    if ($calls.Value -eq 20) { [Threading.Tasks.Task]::Delay(500).Wait() }
                    @{ text = '' }
                }
            }
            $result = Measure-RpcEndpoint Say -Endpoint $stalling.Endpoint -Schema $schema -Rate 200 -Count 150 -Concurrency 1
            $stalling | Stop-RpcListener

            $result.P999 | Should -BeGreaterThan 450
            $result.P50 | Should -BeGreaterThan 50 -Because 'calls that were due meanwhile have waited, too'
            $result.Late | Should -BeGreaterThan 50
            $result.Rate | Should -Be 200
        }

        It 'counts failures by status, and goes on' {
            $result = $rpc | Measure-RpcEndpoint Say { @{ text = $_ % 2 ? 'fine' : 'fail' } } -Count 20 -Concurrency 2

            $result.Succeeded | Should -Be 10
            $result.Errors.Count | Should -Be 1
            $result.Errors[0].Status | Should -Be 'Aborted'
            $result.Errors[0].Count | Should -Be 10
            $result.Errors[0].First.Message | Should -Be 'out of paper'
        }

        It 'ends early with a warning where all calls fail' {
            $result = $rpc | Measure-RpcEndpoint Say @{ text = 'fail' } -Duration 60 -WarningVariable warnings -WarningAction SilentlyContinue

            $result.Failed | Should -BeGreaterOrEqual 100
            $warnings | Should -BeLike '*first 100 calls all failed*out of paper'
        }
    }

    Context 'what is sent' {
        It 'is JSON text' {
            $null = $rpc | Measure-RpcEndpoint Say '{"text":"json"}' -Count 3

            $got | Should -Be (@('json|') * 3)
        }

        It 'is made by a script block, which gets the number of the call' {
            $prefix = 'call'
            $null = $rpc | Measure-RpcEndpoint Say { param($Number) @{ text = "$prefix $_ $Number" } } -Count 2500

            $got.Count | Should -Be 2500
            ($got | Sort-Object -Unique).Count | Should -Be 2500
            $got | Should -Contain 'call 2500 2500|'
        }

        It 'may be several messages of a script block, for a stream' {
            $other = Start-Words 'grpc://127.0.0.1:0'
            $result = Measure-RpcEndpoint Join { @{ text = 'a' }; @{ text = 'b' } } -Endpoint $other.Endpoint -Count 5
            $other | Stop-RpcListener

            $result.MessagesSent | Should -Be 10
        }

        It 'is random, and the same for the same seed' {
            $all = @(foreach ($random in @{ Seed = 7; MaxBytes = 50 }, @{ maxBytes = '50'; seed = '7' }, @{ Seed = 8 }, @{}) {
                $null = $rpc | Measure-RpcEndpoint Say -RandomMessage $random -Count 30 -Concurrency 1
                , @($got)
                $got.Clear()
            })

            $all[0] | Should -Be $all[1]
            ($all[0] | Sort-Object -Unique).Count | Should -BeGreaterThan 5
            "$($all[2])" | Should -Not -Be "$($all[3])"
        }

        It 'is not random without a hashtable of settings: <Value>' -ForEach @(
            @{ Value = $true; Text = "*'True' is not a hashtable*@{ Seed = 5; MaxBytes = 1000 }*" }
            @{ Value = @{ Sed = 1 }; Text = "*'Sed' is not a setting of -RandomMessage. Did you mean 'Seed'*" }
            @{ Value = @{ StreamLength = 2 }; Text = '*The settings are Seed, MaxBytes.*' }
            @{ Value = @{ MaxBytes = -1 }; Text = '*MaxBytes of -RandomMessage is -1. It must be 0 to 4,194,304 bytes.*' }
            @{ Value = @{ Seed = 'x' }; Text = '*Seed of -RandomMessage: *' }
        ) {
            { $rpc | Measure-RpcEndpoint Say -RandomMessage $Value -Count 1 } |
                Should -Throw -ErrorId 'ParameterArgumentTransformationError,*' -ExpectedMessage $Text
        }

        It 'has the headers' {
            $null = $rpc | Measure-RpcEndpoint Say @{ text = 'x' } -ConnectionOption @{ Header = @{ tenant = 'acme' } } -Count 2
            $null = Measure-RpcEndpoint Say @{ text = 'y' } -ConnectionOption @{ Header = @{ tenant = 'acme' } } -Count 2 `
                -Endpoint $listener.Endpoint -Schema $schema

            $got | Should -Be @('x|acme', 'x|acme', 'y|acme', 'y|acme')
        }
    }

    Context 'several endpoints' {
        It 'are called in turns, and shown as a table' {
            $other = Start-Words 'local://NAME', 'ncacn_ip_tcp:127.0.0.1[0]'
            $results = $other.Endpoint | ForEach-Object ToString |
                Measure-RpcEndpoint Say @{ text = 'x' } -Schema $schema -Count 20
            $other | Stop-RpcListener

            $results.Calls | Should -Be 20, 20
            $results.Name | Should -Be ($other.Endpoint | ForEach-Object ToString)
            $text = ($results | Out-String -Width 120) -replace '\e\[[\d;]*m'
            $text | Should -Match 'Endpoint +Calls/s +Failed +p50 ms'
            $text | Should -Match '(?m)^ncalrpc:'
        }

        It 'are measured where others cannot be reached' {
            $results = Measure-RpcEndpoint Say -Endpoint "local://$(New-TestName)", $listener.Endpoint[0] -Schema $schema `
                -Count 5 -ErrorAction SilentlyContinue -ErrorVariable failed

            $results.Calls | Should -Be 5
            $failed.Count | Should -Be 1
            $failed[0].FullyQualifiedErrorId | Should -BeLike 'RpcStatus.Unavailable,*'
        }
    }

    Context 'the view' {
        It 'of one result is a few lines, with the distribution where it is asked for' {
            $text = $rpc | Measure-RpcEndpoint Say -Count 20 -Histogram | Out-String -Width 80

            $text | Should -Match 'words.Words/Say'
            $text | Should -Match '(?m)^  Calls     20, 0 failed'
            $text | Should -Match 'p99.9 '
            $text | Should -Match '(?m) - .*###.* %'
        }

        It 'has no distribution otherwise' {
            ($rpc | Measure-RpcEndpoint Say -Count 20).Histogram | Should -BeNullOrEmpty
        }
    }

    Context 'errors' {
        It 'come before anything is sent: <Why>' -ForEach @(
            @{ With = @{ Message = @{ txt = 1 } }; Id = 'UnknownField'; Why = 'an unknown field' }
            @{ With = @{ Message = { @{ txt = 1 } } }; Id = 'UnknownField'; Why = 'an unknown field of a script block' }
            @{ With = @{ Message = { @{}; @{} } }; Id = 'InvalidLoadTest'; Why = 'two messages' }
            @{ With = @{ Message = @{}; RandomMessage = @{} }; Id = 'InvalidLoadTest'; Why = 'two sources' }
            @{ With = @{ Message = @(@{}, @{ txt = 1 }) }; Id = 'UnknownField'; Why = 'an unknown field of a list' }
            @{ With = @{ Message = @() }; Id = 'InvalidLoadTest'; Why = 'an empty list' }
            @{ With = @{ StreamLength = 1 }; Id = 'InvalidLoadTest'; Why = 'no stream' }
            @{ With = @{ Method = 'Nothing' }; Id = 'MethodNotFound'; Why = 'an unknown method' }
            @{ With = @{ Duration = [Threading.Timeout]::InfiniteTimeSpan }; Id = 'InvalidLoadTest'; Why = 'no end' }
            @{ With = @{ Duration = '2.00:00:00' }; Id = 'InvalidLoadTest'; Why = 'two days' }
        ) {
            $arguments = @{ Method = 'Say'; Connection = $rpc; Count = 3 } + @{}
            foreach ($key in $With.Keys) { $arguments[$key] = $With[$key] }

            { Measure-RpcEndpoint @arguments -ErrorAction Stop } | Should -Throw -ErrorId "$Id,*"
            $got.Count | Should -Be 0
        }

        It 'refuse more connections than callers' {
            { Measure-RpcEndpoint Say -Endpoint $listener.Endpoint -Schema $schema -ConnectionCount 11 -ErrorAction Stop } |
                Should -Throw -ErrorId 'InvalidLoadTest,*' -ExpectedMessage '*-Concurrency*'
        }

        It 'of a script block name the call' {
            { $rpc | Measure-RpcEndpoint Say { $_ -eq 3 ? @{ text = 'a'; txt = 1 } : @{} } -Count 5 -ErrorAction Stop } |
                Should -Throw -ErrorId 'UnknownField,*' -ExpectedMessage "*The script block of -Message wrote no request for call 3: *'txt'*"
        }

        It 'leave out the field of a command without output, as $null' {
            $null = $rpc | Measure-RpcEndpoint Say { @{ text = & { } } } -Count 2

            $got | Should -Be '|', '|'
        }

        It 'are the text of a cell of a CSV file' {
            $row = $rpc | Measure-RpcEndpoint Say @{ text = 'fail' } -Count 3 | ConvertTo-Csv | ConvertFrom-Csv

            $row.Errors | Should -Be '3 Aborted: out of paper'
        }

        It 'of a script block end the measurement' {
            { $rpc | Measure-RpcEndpoint Say { if ($_ -gt 1500) { throw 'no more' }; @{ text = "$_" } } -Duration 60 -WarmUp 0 } |
                Should -Throw 'no more'
        }

        It 'name a streaming method on a native endpoint at once' {
            $rpc | Measure-RpcEndpoint Split -Duration 60 -ErrorAction SilentlyContinue -ErrorVariable failed |
                Should -BeNullOrEmpty

            $failed[0].FullyQualifiedErrorId | Should -BeLike 'RpcStatus.Unimplemented,*'
        }

        It 'ask for a schema' {
            { Measure-RpcEndpoint Say -Endpoint $listener.Endpoint -ErrorAction Stop } | Should -Throw -ErrorId 'NoSchema,*'
        }
    }

    Context 'how endpoints are reached' {
        It 'is as a user' {
            $bob = [pscredential]::new('bob', (ConvertTo-SecureString 'Pa55word' -AsPlainText))
            $secured = Start-RpcListener tcp://127.0.0.1:0 $handlers -Schema $schema -Authentication NTLM -ListenerOption @{ NtlmAccount = $bob }
            $to = @{ Endpoint = $secured.Endpoint[0]; Schema = $schema; Count = 10 }

            (Measure-RpcEndpoint Say @to -ConnectionOption @{ Credential = $bob }).Succeeded | Should -Be 10
            Measure-RpcEndpoint Say @to -ErrorAction SilentlyContinue -ErrorVariable failed | Should -BeNullOrEmpty
            $failed[0].FullyQualifiedErrorId | Should -Match '^(AuthenticationRequired|RpcStatus.Unauthenticated),'
            $secured | Stop-RpcListener
        }

        It 'is with TLS' {
            $key = [Security.Cryptography.ECDsa]::Create([Security.Cryptography.ECCurve]::CreateFromFriendlyName('nistP256'))
            $request = [Security.Cryptography.X509Certificates.CertificateRequest]::new('CN=localhost', $key, 'SHA256')
            $certificate = $request.CreateSelfSigned([datetimeoffset]::Now.AddDays(-1), [datetimeoffset]::Now.AddDays(1))
            Set-Content TestDrive:/mine.pem ($certificate.ExportCertificatePem() + "`n" + $key.ExportPkcs8PrivateKeyPem())
            $secured = Start-RpcListener grpcs://127.0.0.1:0 $handlers -Schema $schema `
                -Certificate (Resolve-Path TestDrive:/mine.pem).ProviderPath
            $to = @{ Endpoint = $secured.Endpoint[0]; Count = 10 }

            (Measure-RpcEndpoint Say @to -ConnectionOption @{ SkipCertificateCheck = $true } -ConnectionCount 2 -Concurrency 4).Connections | Should -Be 2
            Measure-RpcEndpoint Say @to -ErrorAction SilentlyContinue -ErrorVariable failed | Should -BeNullOrEmpty
            $failed[0].FullyQualifiedErrorId | Should -BeLike 'CertificateNotTrusted,*'
            $secured | Stop-RpcListener
        }

        It 'is in the format <_> over HTTP' -ForEach 'Json', 'Xml' {
            $other = Start-Words 'http://127.0.0.1:0/'
            $result = Measure-RpcEndpoint Say @{ text = 'hello' } -Endpoint $other.Endpoint -Schema $schema -ConnectionOption @{ Format = $_ } -Count 20
            $other | Stop-RpcListener

            $result.Succeeded | Should -Be 20
            $result.BytesSent | Should -Be 140
            $result.BytesReceived | Should -BeGreaterThan 300 -Because 'bytes that come are those of the format'
        }

        It 'is by a registered name, with its schema' {
            $before = $env:PROTORPC_ENDPOINTS
            $env:PROTORPC_ENDPOINTS = Join-Path $TestDrive "$(New-TestName)" endpoints.json
            try {
                Register-RpcEndpoint words-1 $listener.Endpoint[0] $words
                $result = Get-RpcEndpoint words-* | Measure-RpcEndpoint Say -Count 5

                $result.Name | Should -Be 'words-1'
                $result.Endpoint | Should -Be "$($listener.Endpoint[0])"
            }
            finally {
                $env:PROTORPC_ENDPOINTS = $before
            }
        }

        It 'does not apply to an open connection' {
            { $rpc | Measure-RpcEndpoint Say -Count 5 -ConnectionOption @{ SkipCertificateCheck = $true } -ErrorAction Stop } | Should -Throw
        }
    }

    It 'goes on while a server is away' {
        $name = New-TestName
        $first = Start-Words "local://$name"
        $second = $null
        $shell = [powershell]::Create()
        try {
            $null = $shell.AddScript({
                param($Module, $Endpoint, $Proto)
                Import-Module $Module
                Measure-RpcEndpoint Say @{ text = 'x' } -Endpoint $Endpoint -Schema $Proto -Duration 3 -WarmUp 0 -Concurrency 2
            }).AddArgument($ModuleManifest).AddArgument("local://$name").AddArgument($words)
            $running = $shell.BeginInvoke()
            Wait-Until { $got.Count -gt 10 } | Should -BeTrue
            $first | Stop-RpcListener -DrainTimeout 0
            $got.Clear()
            $second = Start-Words "local://$name"
            Wait-Until { $got.Count -gt 10 } | Should -BeTrue -Because 'callers connect again'

            $result = $shell.EndInvoke($running)[0]
            $result.Elapsed.TotalSeconds | Should -BeGreaterOrEqual 3
            $result.Succeeded | Should -BeGreaterThan 20
        }
        finally {
            $shell.Runspace.Close()
            $shell.Dispose()
            if ($second) { $second | Stop-RpcListener }
        }
    }

    It 'ends soon when it is stopped' {
        $shell = [powershell]::Create()
        try {
            $null = $shell.AddScript({
                param($Module, $Endpoint, $Proto)
                Import-Module $Module
                Measure-RpcEndpoint Say @{ text = 'running' } -Endpoint $Endpoint -Schema $Proto -Duration 3600
            }).AddArgument($ModuleManifest).AddArgument("$($listener.Endpoint[0])").AddArgument($words)
            $null = $shell.BeginInvoke()
            Wait-Until { $got.Count -gt 10 } | Should -BeTrue

            $watch = [Diagnostics.Stopwatch]::StartNew()
            $shell.Stop()
            $watch.Elapsed.TotalSeconds | Should -BeLessThan 5

            $got.Clear()
            $shell.InvocationStateInfo.State | Should -Be 'Stopped'
            $got.Count | Should -BeLessThan 11 -Because 'no caller is left'
        }
        finally {
            $shell.Runspace.Close()
            $shell.Dispose()
        }
    }

    It 'shows its progress after a second, and takes it away' {
        $shell = [powershell]::Create()
        try {
            $null = $shell.AddScript({
                param($Module, $Endpoint, $Proto)
                Import-Module $Module
                Measure-RpcEndpoint Say @{ text = 'x' } -Endpoint $Endpoint -Schema $Proto -Duration 4 -WarmUp 0
            }).AddArgument($ModuleManifest).AddArgument("$($listener.Endpoint[0])").AddArgument($words).Invoke()

            $records = @($shell.Streams.Progress | Where-Object Activity -EQ 'Measuring Say')
            $records[0].StatusDescription | Should -Match '^ncalrpc:.* calls, 0 failed$'
            $records[0].PercentComplete | Should -BeIn (20..100)
            $records[-1].RecordType | Should -Be 'Completed'
            $records.Count | Should -BeLessThan 20
        }
        finally {
            $shell.Runspace.Close()
            $shell.Dispose()
        }
    }
}
