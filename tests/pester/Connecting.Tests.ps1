. (Join-Path $PSScriptRoot common.ps1)

Describe 'Connecting' {
    BeforeAll {
        function New-Secret([string] $Text) { ConvertTo-SecureString $Text -AsPlainText }

        function New-User([string] $Password) { [pscredential]::new('ann', (New-Secret $Password)) }

        # An endpoint that a listener had, where nobody listens now.
        function New-DeadEndpoint([string] $Endpoint = 'tcp://127.0.0.1:0') {
            $gone = Start-TestListener { } -Endpoint $Endpoint
            Stop-RpcListener $gone
            "$($gone.Endpoint[0])"
        }

        $who = { param($Request) @{ text = "hi $($Request.name), $($RpcContext.User.Name)" } }
        $schema = Import-RpcSchema (Join-Path $TestProtos greeter.proto)
        $with = @{ Schema = $schema; Service = 'demo.Greeter' }
    }

    AfterEach { Clear-Test }

    Context 'with -Lazy' {
        It 'waits no longer than -Deadline for the schema of a server that says nothing' {
            $silent = [Net.Sockets.TcpListener]::new([ipaddress]::Loopback, 0)
            $silent.Start()
            try {
                $rpc = Connect-RpcEndpoint "grpc://127.0.0.1:$($silent.LocalEndpoint.Port)" -Lazy
                $watch = [Diagnostics.Stopwatch]::StartNew()

                { $rpc | Invoke-RpcMethod SayHello -Deadline 1 -ErrorAction Stop } |
                    Should -Throw -ErrorId 'RpcStatus.DeadlineExceeded,*' -ExpectedMessage '*did not answer within 1 s*'

                $watch.Elapsed.TotalSeconds | Should -BeLessThan 10
            }
            finally {
                $silent.Stop()
            }
        }

        It 'makes no contact before the first call: <_>' -ForEach 'tcp://127.0.0.1:0', 'http://127.0.0.1:0/', 'grpc://127.0.0.1:0' {
            $rpc = Connect-RpcEndpoint (New-DeadEndpoint $_) -Lazy @with -ErrorAction Stop

            $rpc.State | Should -Be 'Open'
            { $rpc | Invoke-RpcMethod SayHello -ErrorAction Stop } | Should -Throw -ErrorId 'RpcStatus.Unavailable,*'
        }

        It 'asks a gRPC server for its schema with the first call' {
            $listener = Start-TestListener @{ SayHello = $who } -Endpoint grpc://127.0.0.1:0
            $rpc = Connect-RpcEndpoint $listener.Endpoint[0] -Lazy

            $rpc.Schema | Should -BeNullOrEmpty
            ($rpc | Invoke-RpcMethod demo.Greeter/SayHello @{ name = 'Ann' }).text | Should -BeLike 'hi Ann*'
        }

        It 'shows the services of a gRPC server that was not called yet' {
            $listener = Start-TestListener @{ SayHello = $who } -Endpoint grpc://127.0.0.1:0
            $rpc = Connect-RpcEndpoint $listener.Endpoint[0] -Lazy

            ($rpc | Get-RpcService).FullName | Should -Contain 'demo.Greeter'
        }

        It 'does not go with -Reflection' {
            { Connect-RpcEndpoint grpc://127.0.0.1:1 -Lazy -Reflection @with } |
                Should -Throw -ErrorId 'ParameterNotSupported,*'
        }

        It 'balances between servers of which one is dead' {
            $alive = Start-TestListener @{ SayHello = $who } -Endpoint tcp://127.0.0.1:0
            $rpc = Connect-RpcEndpoint (New-DeadEndpoint), "$($alive.Endpoint[0])" -Lazy -LoadBalancing RoundRobin @with

            1..4 | ForEach-Object { ($rpc | Invoke-RpcMethod SayHello @{ name = 'x' }).text } | Should -Be (@('hi x, ') * 4)
        }

        It 'makes one list of errors of a fan-out to twenty endpoints of which three are dead: <_>' -ForEach 'tcp', 'grpc' {
            $kind = "${_}://127.0.0.1:0"
            $alive = 1..17 | ForEach-Object { Start-TestListener @{ SayHello = $who } -Endpoint $kind }
            $dead = 1..3 | ForEach-Object { New-DeadEndpoint $kind }
            $schemaOf = $_ -eq 'tcp' ? $with : @{}

            $rpc = Connect-RpcEndpoint ($dead + $alive.Endpoint) -Lazy @schemaOf -ErrorAction Stop
            $replies = Invoke-RpcMethod demo.Greeter/SayHello @{ name = 'Ann' } -Connection $rpc `
                -ErrorAction SilentlyContinue -ErrorVariable failures

            $replies.Count | Should -Be 17
            $failures.Count | Should -Be 3
            "$($failures.TargetObject.Endpoint | Sort-Object)" | Should -Be "$($dead | Sort-Object)"
        }

        It 'works on the raw layer' {
            $id = New-Guid
            $name = "ncalrpc:[$(New-TestName)]"
            $rpc = Connect-RpcEndpoint $name -InterfaceId $id -Lazy -RetryCount 3
            $raw = Start-RpcListener $name -InterfaceId $id -Handler { param([byte[]] $Request) , $Request }

            (Invoke-RpcMethod -Message 1, 2 -Connection $rpc) -join ' ' | Should -Be '1 2'
            Stop-RpcListener $raw
            { Invoke-RpcMethod -Message 1 -Connection $rpc -ConnectionOption @{ WaitForReady = $true } -Deadline 0.4 -ErrorAction Stop } |
                Should -Throw -ErrorId 'RpcStatus.DeadlineExceeded,*' -ExpectedMessage '*did not run*'
        }
    }

    Context 'to a server that is not there yet' {
        It 'waits with -WaitForReady: <_>' -ForEach 'tcp://127.0.0.1:0', 'http://127.0.0.1:0/', 'grpc://127.0.0.1:0' {
            $endpoint = New-DeadEndpoint $_
            $rpc = Connect-RpcEndpoint $endpoint -Lazy @with

            $job = Invoke-RpcMethod SayHello @{ name = 'Ann' } -Connection $rpc -ConnectionOption @{ WaitForReady = $true } -Deadline 30 -AsJob
            $listener = Start-TestListener @{ SayHello = $who } -Endpoint $endpoint
            ($job | Wait-Job -Timeout 30 | Receive-Job).text | Should -BeLike 'hi Ann*'
            Wait-Until { $listener.Calls -eq 1 } | Should -BeTrue
            $job | Remove-Job -Force
        }

        It 'says of a call that waited in vain that it did not run: <_>' -ForEach 'tcp://127.0.0.1:0', 'http://127.0.0.1:0/', 'grpc://127.0.0.1:0' {
            $listener = Start-TestListener @{ SayHello = $who } -Endpoint $_
            $rpc = Connect-RpcEndpoint $listener.Endpoint[0] @with
            Stop-RpcListener $listener
            $null = $rpc | Invoke-RpcMethod SayHello -ErrorAction Ignore

            { $rpc | Invoke-RpcMethod SayHello -ConnectionOption @{ WaitForReady = $true } -Deadline 0.5 -ErrorAction Stop } |
                Should -Throw -ErrorId 'RpcStatus.DeadlineExceeded,*' -ExpectedMessage '*the call did not run*'
        }

        It 'connects again with -RetryCount: <_>' -ForEach 'tcp://127.0.0.1:0', 'http://127.0.0.1:0/', 'grpc://127.0.0.1:0' {
            $endpoint = New-DeadEndpoint $_
            $late = [powershell]::Create()
            $null = $late.AddScript({
                param($Module, $Proto, $Endpoint)
                Import-Module $Module
                Start-RpcListener $Endpoint @{ SayHello = { @{ text = 'late' } } } -Schema $Proto -Service demo.Greeter
            }).AddArgument($ModuleManifest).AddArgument((Join-Path $TestProtos greeter.proto)).AddArgument($endpoint)
            try {
                $starting = $late.BeginInvoke()
                $rpc = Connect-RpcEndpoint $endpoint @with -RetryCount 50 -ErrorAction Stop

                ($rpc | Invoke-RpcMethod SayHello).text | Should -Be 'late'
            }
            finally {
                $null = $late.EndInvoke($starting)
                $late.Runspace.Close()
                $late.Dispose()
            }
        }
    }

    Context 'to several endpoints of several kinds' {
        It 'ignores what one of them does not take, and says so' {
            $listener = Start-TestListener @{ SayHello = $who } -Endpoint tcp://127.0.0.1:0, http://127.0.0.1:0/, grpc://127.0.0.1:0

            $given = @{
                Token = New-Secret 'right'; Header = @{ 'x-a' = 'b' }; SkipCertificateCheck = $true
                ConnectionOption = @{ ExceptionType = 'None'; Compression = 'Gzip' }
            }
            $all = @($listener.Endpoint.Uri) + 'https://rpc.test:1/'
            $rpc, $notes = Connect-RpcEndpoint $all @with @given -Lazy -Verbose -ErrorAction Stop 4>&1 |
                Group-Object { $_ -is [Management.Automation.VerboseRecord] } | ForEach-Object { , $_.Group }

            $rpc.Count | Should -Be 4
            $notes.Message -match '^-Token does not apply to .*ncacn_ip_tcp' | Should -HaveCount 1
            $notes.Message -match '^-SkipCertificateCheck does not apply' | Should -HaveCount 3
            $replies = Invoke-RpcMethod SayHello @{ name = 'Ann' } -Connection $rpc[0..2]
            $replies.Count | Should -Be 3
        }

        It 'refuses what none of them takes, or the only one' {
            { Connect-RpcEndpoint tcp://127.0.0.1:1, ncalrpc:[x] @with -Lazy -Token (New-Secret t) -ErrorAction Stop } |
                Should -Throw -ErrorId 'ParameterNotSupported,*'
            { Connect-RpcEndpoint grpc://127.0.0.1:1 @with -Lazy -CACertificate x.pem -ErrorAction Stop } |
                Should -Throw -ErrorId 'ParameterNotSupported,*'
            { Connect-RpcEndpoint grpc://rpc.test:1 @with -Lazy -Credential (New-User pw) -ErrorAction Stop } |
                Should -Throw -ErrorId 'UnencryptedEndpoint,*'
        }

        It 'never leaves TLS out where others could read along' {
            { Connect-RpcEndpoint tcp://rpc.test:1, http://rpc.test:1/ @with -Lazy -ConnectionOption @{ Tls = $true } -ErrorAction Stop } |
                Should -Throw -ErrorId 'TlsNotSupported,*'
            (Connect-RpcEndpoint tcp://rpc.test:1, https://rpc.test:1/, ncalrpc:[x] @with -Lazy -ConnectionOption @{ Tls = $true } -ErrorAction Stop).Count |
                Should -Be 3
        }

        It 'sends a password to nobody who was to get a proof' {
            $listener = Start-TestListener @{ SayHello = $who } -Endpoint tcp://127.0.0.1:0, grpc://127.0.0.1:0

            $rpc = Connect-RpcEndpoint $listener.Endpoint @with -Lazy -ConnectionOption @{ Mechanism = 'Ntlm' } -Credential (New-User pw)

            $rpc[1] | Invoke-RpcMethod SayHello @{ name = 'x' } | ForEach-Object text | Should -Be 'hi x, '
        }
    }

    Context 'with secrets' {
        BeforeEach {
            $listener = Start-TestListener @{ SayHello = $who } -Endpoint http://127.0.0.1:0/, grpc://127.0.0.1:0 -With @{
                BasicCheck = { param($Credential) $Credential.GetNetworkCredential().Password -eq 'pw' }
                BearerCheck = { param($Token) if ($Token -eq 'right') { 'robot' } }
            }
        }

        It 'sends a token: <_>' -ForEach 0, 1 {
            $rpc = Connect-RpcEndpoint $listener.Endpoint[$_] @with -ConnectionOption @{ Authentication = 'Bearer' } -Token (New-Secret right)

            ($rpc | Invoke-RpcMethod SayHello @{ name = 'x' }).text | Should -Be 'hi x, robot'
            (Test-RpcEndpoint $listener.Endpoint[$_] -ConnectionOption @{ Token = (New-Secret right) }).Product | Should -Be 'ProtoRpc'
            Test-RpcEndpoint $listener.Endpoint[$_] -ConnectionOption @{ Token = (New-Secret wrong) } -Quiet | Should -BeFalse
        }

        It 'sends a password to a gRPC server' {
            $rpc = Connect-RpcEndpoint $listener.Endpoint[1] @with -Credential (New-User pw)
            $wrong = Connect-RpcEndpoint $listener.Endpoint[1] @with -Credential (New-User guessed)

            ($rpc | Invoke-RpcMethod SayHello @{ name = 'x' }).text | Should -Be 'hi x, ann'
            { $wrong | Invoke-RpcMethod SayHello -ErrorAction Stop } | Should -Throw -ErrorId 'RpcStatus.Unauthenticated,*'
        }

        It 'takes secrets out of -Header, of the connection and of a call: <_>' -ForEach 0, 1 {
            $text = @{ Authorization = New-Secret 'Bearer right' }
            $user = @{ authorization = New-User pw }
            $open = Connect-RpcEndpoint $listener.Endpoint[$_] @with
            $named = Connect-RpcEndpoint $listener.Endpoint[$_] @with -Header $text

            ($named | Invoke-RpcMethod SayHello @{ name = 'x' }).text | Should -Be 'hi x, robot'
            ($open | Invoke-RpcMethod SayHello @{ name = 'x' } -Header $user).text | Should -Be 'hi x, ann'
        }

        It 'refuses a secret under a name that is not kept secret' {
            { Connect-RpcEndpoint $listener.Endpoint[0] @with -Header @{ 'X-Colour' = New-Secret red } -ErrorAction Stop } |
                Should -Throw -ErrorId 'InvalidHeader,*' -ExpectedMessage '*X-Colour*SecureString*'
            { Connect-RpcEndpoint $listener.Endpoint[0] @with -Header @{ 'X-Token' = New-User pw } -ErrorAction Stop } |
                Should -Throw -ErrorId 'InvalidHeader,*'
        }

        It 'refuses objects with members as values: <_>' -ForEach @(
            @{ token = 'x' }, [pscustomobject]@{ token = 'x' }, @('a', @{ token = 'x' })
        ) {
            { Connect-RpcEndpoint $listener.Endpoint[0] @with -Header @{ 'X-Colour' = $_ } -ErrorAction Stop } |
                Should -Throw -ErrorId 'InvalidHeader,*' -ExpectedMessage '*X-Colour*members*'
        }

        It 'sends no secret in clear over a network' {
            foreach ($secret in @{ Token = New-Secret t }, @{ Header = @{ 'X-Api-Key' = New-Secret t } },
                @{ Header = @{ 'X-Api-Key' = 'a', (New-Secret t) } }) {
                { Connect-RpcEndpoint http://rpc.test:1/ @with @secret -Lazy -ErrorAction Stop } |
                    Should -Throw -ErrorId 'UnencryptedEndpoint,*'
            }
            $rpc = Connect-RpcEndpoint http://rpc.test:1/ @with -Lazy
            { $rpc | Invoke-RpcMethod SayHello -Header @{ Authorization = New-Secret t } -ErrorAction Stop } |
                Should -Throw -ErrorId 'UnencryptedEndpoint,*'
        }

        It 'imports the schema of a protected server' {
            $web = "$($listener.Endpoint[0].Uri)greeter.proto"
            foreach ($proof in @{ Token = New-Secret right }, @{ Credential = New-User pw },
                @{ Header = @{ Authorization = New-Secret 'Bearer right' } }) {
                $proof = @{ ConnectionOption = $proof }
                (Import-RpcSchema $web @proof).Services.FullName | Should -Contain 'demo.Greeter'
                (Import-RpcSchema -Endpoint $listener.Endpoint[1] @proof).Services.FullName | Should -Contain 'demo.Greeter'
                (Import-RpcSchema -Endpoint $web @proof).Services.FullName | Should -Contain 'demo.Greeter'
            }
            { Import-RpcSchema $web -ErrorAction Stop } | Should -Throw -ErrorId 'RpcStatus.Unauthenticated,*'
            { Import-RpcSchema $web -ConnectionOption @{ Token = (New-Secret wrong) } -ErrorAction Stop } |
                Should -Throw -ErrorId 'RpcStatus.Unauthenticated,*'
        }

        It 'says that a file needs no secret' {
            { Import-RpcSchema (Join-Path $TestProtos greeter.proto) -ConnectionOption @{ Token = (New-Secret t) } -ErrorAction Stop } |
                Should -Throw -ErrorId 'ParameterNotSupported,*' -ExpectedMessage '-ConnectionOption*greeter.proto*'
        }
    }

    It 'takes -ConnectionOption in every cmdlet that contacts a server' {
        foreach ($command in 'Connect-RpcEndpoint', 'Invoke-RpcMethod', 'Measure-RpcEndpoint', 'Test-RpcEndpoint',
            'Wait-RpcEndpoint', 'Import-RpcSchema', 'Import-RpcService', 'Register-RpcEndpoint') {
            (Get-Command $command).Parameters.ConnectionOption.ParameterType | Should -Be ([ProtoRpc.RpcConnectionOption])
        }
    }
}
