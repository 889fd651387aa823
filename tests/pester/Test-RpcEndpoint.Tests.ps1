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
        $result | Out-String -Width 200 | Should -Match 'Endpoint +ms +Health'
    }

    It 'pings a connection, by parameter or pipeline' {
        (Test-RpcEndpoint -Connection $rpc).Product | Should -Be 'ProtoRpc'
        ($rpc | Test-RpcEndpoint).Product | Should -Be 'ProtoRpc'
        (Test-RpcEndpoint).Product | Should -Be 'ProtoRpc'
    }

    It 'has no parameters of connecting for a connection: <_>' -ForEach 'Test-RpcEndpoint', 'Wait-RpcEndpoint' {
        $names = @('ConnectionOption')
        $command = Get-Command $_
        $help = @((Get-Help $_).syntax.syntaxItem)

        foreach ($set in $command.ParameterSets) {
            $wanted = $set.Name -eq 'Connection' ? @() : $names
            $set.Parameters.Name.Where({ $_ -in $names }) | Sort-Object |
                Should -Be ($wanted | Sort-Object) -Because $set.Name
        }

        $shown = $help.Where({ $_.parameter.name -contains 'Connection' })
        $shown | Should -HaveCount 1
        $shown[0].parameter.name.Where({ $_ -in $names }) | Should -BeNullOrEmpty
        $help.Where({ $_.parameter.name -contains 'ConnectionOption' }) | Should -HaveCount 2
    }

    It 'does not take parameters of connecting beside a connection' {
        $rpc = Connect-RpcEndpoint $listener.Endpoint[0] -Schema $listener.Schema

        { Test-RpcEndpoint -Connection $rpc -ConnectionOption @{ Tls = $true } -ErrorAction Stop } |
            Should -Throw -ErrorId 'AmbiguousParameterSet,*'
        { Wait-RpcEndpoint -Connection $rpc -ConnectionOption @{ Header = @{ a = 'b' } } -ErrorAction Stop } |
            Should -Throw -ErrorId 'AmbiguousParameterSet,*'
        { $rpc | Test-RpcEndpoint -ConnectionOption @{ Header = @{ a = 'b' } } -ErrorAction Stop } |
            Should -Throw -ExpectedMessage '*Give them to Connect-RpcEndpoint*'
        (Wait-RpcEndpoint -Connection $rpc).Product | Should -Be 'ProtoRpc'
        ($rpc | Test-RpcEndpoint).Product | Should -Be 'ProtoRpc'
    }

    It 'pings several endpoints at the same time, and returns them in order' {
        $silent = 1..4 | ForEach-Object { [System.Net.Sockets.TcpListener]::new([ipaddress]::Loopback, 0) }
        $silent.ForEach{ $_.Start() }
        try {
            $all = @($silent.ForEach{ "tcp://127.0.0.1:$($_.LocalEndpoint.Port)" }) + "$($listener.Endpoint[0].Uri)"
            $watch = [Diagnostics.Stopwatch]::StartNew()

            $rows = @($all | Test-RpcEndpoint -Deadline 4 -ErrorAction SilentlyContinue -ErrorVariable failed)
            $more = @(Test-RpcEndpoint $all -Deadline 4 -Quiet)

            $watch.Elapsed.TotalSeconds | Should -BeLessThan 24 -Because 'one after the other takes 32 s'
            $rows.Endpoint.Uri | Should -Be $all
            $failed | Should -HaveCount 4
            $more | Should -Be $false, $false, $false, $false, $true
        } finally {
            $silent.ForEach{ $_.Stop() }
        }
    }

    It 'ends early with its pipeline' {
        $silent = [System.Net.Sockets.TcpListener]::new([ipaddress]::Loopback, 0)
        $silent.Start()
        $client = $null
        try {
            # Answers when the ping of the other one has begun.
            $first = Start-TestListener { } -With @{
                Ping = { for ($n = 0; $n -lt 4000 -and -not ($using:silent).Pending(); $n++) { [Threading.Thread]::Sleep(5) } }
            }
            $all = "$($first.Endpoint[0])", "tcp://127.0.0.1:$($silent.LocalEndpoint.Port)"

            ($all | Test-RpcEndpoint -Deadline 300 | Select-Object -First 1).Product | Should -Be ProtoRpc

            $client = $silent.AcceptTcpClient()
            $stream = $client.GetStream()
            $stream.ReadTimeout = 60000
            $bytes = [byte[]]::new(4096)
            { while ($stream.Read($bytes, 0, $bytes.Length) -gt 0) { } } |
                Should -Not -Throw -Because 'the ping that is left closes its connection'
        } finally {
            ${client}?.Dispose()
            $silent.Stop()
        }
    }

    It 'pings the endpoints of the pipeline' {
        $both = Start-TestListener { } -Endpoint "ncalrpc:[$(New-TestName)]", 'tcp://127.0.0.1:0'

        ($both.Endpoint | Test-RpcEndpoint).Endpoint | Should -Be $both.Endpoint
        ("$($both.Endpoint[0])" | Test-RpcEndpoint -Schema $both.Schema -Service demo.Greeter).Product |
            Should -Be 'ProtoRpc'
    }

    It 'tells only whether it answers with -Quiet' {
        Test-RpcEndpoint $listener.Endpoint[0] -Schema $listener.Schema -Service demo.Greeter -Quiet | Should -BeTrue
        Test-RpcEndpoint 'ncalrpc:[nobody-is-here]' -Schema $listener.Schema -Service demo.Greeter -Quiet |
            Should -BeFalse
    }

    It 'says why an endpoint does not answer' {
        { Test-RpcEndpoint 'ncalrpc:[nobody-is-here]' -Schema $listener.Schema `
            -Service demo.Greeter -ErrorAction Stop } |
            Should -Throw -ErrorId 'RpcStatus.Unavailable,*'
    }

    It 'gives a row for an endpoint that does not answer, too' {
        $dead = "ncalrpc:[$(New-TestName)]"
        $rows = "$($listener.Endpoint[0])", $dead | Test-RpcEndpoint -ErrorAction SilentlyContinue -ErrorVariable failed

        $rows | Should -HaveCount 2
        $rows[0].Error | Should -BeNullOrEmpty
        $rows[1].Endpoint | Should -Be $dead
        $rows[1].Error.Code | Should -Be 'Unavailable'
        $rows[1].Services | Should -BeNullOrEmpty
        $failed | Should -HaveCount 1
        $shown = $rows | Out-String -Width 120
        $shown | Should -Match 'ProtoRpc'
        $shown | Should -Match 'Unavailable'
        ($shown -split '\n').Where({ $_ -match 'Unavailable' }) | Should -Not -Match '0\.\d{3}'
    }

    It 'waits for a server that says nothing no longer than -Deadline: <_>' -ForEach 'tcp', 'http', 'grpc' {
        $silent = [Net.Sockets.TcpListener]::new([ipaddress]::Loopback, 0)
        $silent.Start()
        try {
            $endpoint = "${_}://127.0.0.1:$($silent.LocalEndpoint.Port)"
            $watch = [Diagnostics.Stopwatch]::StartNew()

            { Test-RpcEndpoint $endpoint -Deadline 1 -ErrorAction Stop } |
                Should -Throw -ExpectedMessage ($_ -eq 'grpc' ? '*sent nothing for *' : '*did not * within*')

            $watch.Elapsed.TotalSeconds | Should -BeLessThan 6
        }
        finally {
            $silent.Stop()
        }
    }

    It 'pings the endpoints of a listener' {
        ($listener | Test-RpcEndpoint).Endpoint | Should -Be $listener.Endpoint
        (Test-RpcEndpoint -Listener $listener).Product | Should -Be 'ProtoRpc'
    }

    Context 'with authentication' {
        BeforeAll {
            function New-Credential([string] $Password) {
                [pscredential]::new('bob', (ConvertTo-SecureString $Password -AsPlainText))
            }

            $secured = Start-TestListener { } -Endpoint tcp://127.0.0.1:0 -With @{
                Authentication = 'NTLM'
                ListenerOption = @{ NtlmAccount = New-Credential 'Pa55word' }
            }
            $to = @{ Endpoint = $secured.Endpoint[0]; Schema = $secured.Schema; Service = 'demo.Greeter' }
        }

        It 'pings as a user' {
            (Test-RpcEndpoint @to -ConnectionOption @{ Credential = (New-Credential 'Pa55word') }).Product | Should -Be 'ProtoRpc'
            $ping = $secured | Test-RpcEndpoint -ConnectionOption @{ Credential = (New-Credential 'Pa55word'); ProtectionLevel = 'Integrity' }
            $ping.Product | Should -Be 'ProtoRpc'
        }

        It 'finds out that the password is wrong, or that there is none' {
            { Test-RpcEndpoint @to -ConnectionOption @{ Credential = (New-Credential 'guessed') } -ErrorAction Stop } |
                Should -Throw -ErrorId 'AuthenticationFailed,*'
            { Test-RpcEndpoint @to -ErrorAction Stop } | Should -Throw -ErrorId 'AuthenticationRequired,*'
            Test-RpcEndpoint @to -ConnectionOption @{ Credential = (New-Credential 'guessed') } -Quiet | Should -BeFalse
        }

        It 'says that a user is proved to a service' {
            { Test-RpcEndpoint $secured.Endpoint[0] -ConnectionOption @{ Credential = (New-Credential 'Pa55word') } -ErrorAction Stop } |
                Should -Throw -ErrorId 'NoSchema,*'
        }
    }

    It 'finds an interface without a schema, or that it is not there' {
        (Test-RpcEndpoint $listener.Endpoint[0] -ConnectionOption @{ InterfaceId = $listener.InterfaceId[0] }).Endpoint |
            Should -Be $listener.Endpoint[0]
        { Test-RpcEndpoint $listener.Endpoint[0] -ConnectionOption @{ InterfaceId = New-Guid } -ErrorAction Stop } |
            Should -Throw -ErrorId 'RpcStatus.Unimplemented,*'
        { Test-RpcEndpoint -Listener $listener -ConnectionOption @{ InterfaceId = New-Guid } -ErrorAction Stop } |
            Should -Throw -ErrorId 'RpcStatus.Unimplemented,*'
        { Test-RpcEndpoint -Connection $rpc -ConnectionOption @{ InterfaceId = New-Guid } } |
            Should -Throw -ErrorId 'AmbiguousParameterSet,*'
    }

    It 'says what a parameter is for, with -Quiet too' {
        { Test-RpcEndpoint $listener.Endpoint[0] -ConnectionOption @{ Header = @{ a = 'b' } } -Quiet -ErrorAction Stop } |
            Should -Throw -ErrorId 'ParameterNotSupported,*' -ExpectedMessage 'Header of*with -Schema*http://*'
        { Test-RpcEndpoint $listener.Endpoint[0] -ConnectionOption @{ SkipCertificateCheck = $true } -ErrorAction Stop } |
            Should -Throw -ErrorId 'ParameterNotSupported,*'
    }

    It 'answers while all workers are busy' {
        $busy = Start-TestListener { while ($true) { } } -With @{ ListenerOption = @{ WorkerCount = 1 } }
        $endpoint = "$($busy.Endpoint)"
        $job = 0 | ForEach-Object -AsJob -Parallel {
            Import-Module $using:ModuleManifest
            $null = Connect-RpcEndpoint $using:endpoint `
                -Schema (Join-Path $using:TestProtos greeter.proto) -Service demo.Greeter
            Invoke-RpcMethod SayHello -Deadline 60 -ErrorAction Ignore
        }
        Wait-Until { $busy.InFlight -eq 1 } | Should -BeTrue

        Test-RpcEndpoint $endpoint -Schema $busy.Schema -Service demo.Greeter -Deadline 10 -Quiet | Should -BeTrue

        $busy | Stop-RpcListener -DrainTimeout 0
        $job | Remove-Job -Force
    }

    Context 'services and schemas' {
        BeforeAll {
            $all = Start-TestListener { } -Endpoint tcp://127.0.0.1:0, "ncacn_np:[\pipe\$(New-TestName)]",
                http://127.0.0.1:0/, grpc://127.0.0.1:0

            # The schema of the tests with another type of the reply's text.
            $other = Join-Path $TestDrive greeter.proto
            (Get-Content (Join-Path $TestProtos greeter.proto) -Raw).Replace('string text = 1', 'int32 text = 1') |
                Set-Content $other
        }

        It 'shows product, version and services on each transport: <_>' -ForEach 0, 1, 2, 3 {
            $result = Test-RpcEndpoint $all.Endpoint[$_] -Schema $all.Schema -Service demo.Greeter

            $result.Product | Should -Be 'ProtoRpc'
            $result.Version | Should -Match '^\d+\.\d+\.\d+$'
            $result.Services | Should -Be 'demo.Greeter'
            (Test-RpcEndpoint $all.Endpoint[$_]).Product | Should -Be 'ProtoRpc'
        }

        It 'finds out that a service is not served, with a schema and without: <_>' -ForEach 0, 1, 2, 3 {
            $endpoint = $all.Endpoint[$_]

            Test-RpcEndpoint $endpoint -Service demo.Greeter -Quiet | Should -BeTrue
            Test-RpcEndpoint $endpoint -Service Nope.Service -Quiet | Should -BeFalse
            Test-RpcEndpoint $endpoint -Service demo.Parting -Schema $all.Schema -Quiet | Should -BeFalse
            { Test-RpcEndpoint $endpoint -Service Nope.Service -ErrorAction Stop } |
                Should -Throw -ErrorId 'ServiceNotServed,*' -ExpectedMessage "*does not serve*'Nope.Service'*"
        }

        It 'compares -Schema with what the server says: <_>' -ForEach 2, 3 {
            $to = @{ Endpoint = $all.Endpoint[$_]; Service = 'demo.Greeter' }

            (Test-RpcEndpoint @to -Schema $all.Schema).SchemaDifferences | Should -BeNullOrEmpty
            $result = Test-RpcEndpoint @to -Schema $other -WarningVariable warnings -WarningAction SilentlyContinue
            $result.SchemaDifferences | Should -Match 'demo.HelloReply.text \(number 1\) is int32 here, string'
            "$warnings" | Should -Match 'demo.HelloReply.text'
            Test-RpcEndpoint @to -Schema $other -Quiet -WarningAction SilentlyContinue | Should -BeFalse
        }

        It 'warns of a reply whose fields came as other types: <_>' -ForEach 0, 1, 3 {
            $answering = Start-TestListener @{ SayHello = { @{ text = 'hi' } } } -Endpoint "$($all.Endpoint[$_].Uri -replace ':\d+$', ':0' -replace 'pipe://.*', "pipe://./$(New-TestName)")"
            $wrong = Connect-RpcEndpoint $answering.Endpoint[0] -Schema $other -Service demo.Greeter
            $right = Connect-RpcEndpoint $answering.Endpoint[0] -Schema $answering.Schema -Service demo.Greeter

            $quiet = @{ WarningVariable = 'warnings'; WarningAction = 'SilentlyContinue' }
            $null = 1..3 | ForEach-Object { @{ name = "$_" } } | Invoke-RpcMethod SayHello -Connection $wrong @quiet
            $warnings.Count | Should -Be 1
            "$warnings" | Should -Match 'demo.HelloReply.text was not sent as int32'
            $null = Invoke-RpcMethod SayHello @{ name = 'x' } -Connection $wrong, $wrong @quiet
            $warnings.Count | Should -Be 1
            $null = Invoke-RpcMethod SayHello @{ name = 'x' } -Connection $right @quiet
            $warnings.Count | Should -Be 0
            $job = Invoke-RpcMethod SayHello @{ name = 'x' } -Connection $wrong -AsJob
            $null = $job | Wait-Job -Timeout 30
            $job.Warning.Count | Should -Be 1
            $job | Remove-Job
            $wrong, $right | Disconnect-RpcEndpoint
        }
    }
}
