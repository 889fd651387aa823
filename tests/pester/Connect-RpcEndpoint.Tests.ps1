. (Join-Path $PSScriptRoot common.ps1)

Describe 'Connect-RpcEndpoint' {
    BeforeAll {
        $listener = Start-TestListener { @{ text = 'hi' } } -Endpoint "ncalrpc:[$(New-TestName)]", 'tcp://127.0.0.1:0'
    }

    AfterEach { Get-RpcConnection | Disconnect-RpcEndpoint }

    AfterAll { Clear-Test }

    It 'gives an open connection with an id' {
        $rpc = Connect-RpcEndpoint $listener.Endpoint[0] -Schema $listener.Schema -Service demo.Greeter

        $rpc.State | Should -Be 'Open'
        $rpc.Service | Should -Be 'demo.Greeter'
        $rpc.Id | Should -BeGreaterThan 0
        "$($rpc.Endpoint)" | Should -Be "$($listener.Endpoint[0])"
    }

    It 'connects to each of several endpoints' {
        $rpc = Connect-RpcEndpoint $listener.Endpoint -Schema $listener.Schema -Service demo.Greeter

        ($rpc | Invoke-RpcMethod SayHello).text | Should -Be 'hi', 'hi'
    }

    It 'reads -Schema once for all endpoints of the pipeline' {
        $there = "$($listener.Endpoint[0])"
        $rpc = $there, $there, $there | Connect-RpcEndpoint -Schema (Join-Path $TestProtos greeter.proto)

        $rpc | Should -HaveCount 3
        [object]::ReferenceEquals($rpc[0].Schema, $rpc[1].Schema) | Should -BeTrue
        [object]::ReferenceEquals($rpc[0].Schema, $rpc[2].Schema) | Should -BeTrue
    }

    It 'takes a listener from the pipeline' {
        $rpc = $listener | Connect-RpcEndpoint

        $rpc.Count | Should -Be 2
        ($rpc[0] | Invoke-RpcMethod demo.Greeter/SayHello).text | Should -Be 'hi'
    }

    It 'takes the schema as a path' {
        $rpc = Connect-RpcEndpoint $listener.Endpoint[1] (Join-Path $TestProtos greeter.proto) -Service Greeter

        ($rpc | Invoke-RpcMethod SayHello).text | Should -Be 'hi'
    }

    It 'says that nobody listens on <Endpoint>' -ForEach @(
        @{ Endpoint = 'tcp://127.0.0.1:1' }
        @{ Endpoint = 'ncalrpc:[nobody-is-here]' }
        @{ Endpoint = 'ncacn_np:[\pipe\nobody-is-here]' }
    ) {
        { Connect-RpcEndpoint $Endpoint -Schema $listener.Schema -Service demo.Greeter -ErrorAction Stop } |
            Should -Throw -ErrorId 'RpcStatus.Unavailable,*'
    }

    It 'goes on with the next endpoint after one that fails' {
        $rpc = Connect-RpcEndpoint 'ncalrpc:[nobody-is-here]', $listener.Endpoint[0] `
            -Schema $listener.Schema -Service demo.Greeter -ErrorAction SilentlyContinue -ErrorVariable errors

        $errors.Count | Should -Be 1
        "$($rpc.Endpoint)" | Should -Be "$($listener.Endpoint[0])"
    }

    It 'says what is wrong with a server that does not speak the protocol' {
        $socket = [System.Net.Sockets.TcpListener]::new([ipaddress]::Loopback, 0)
        $socket.Start()
        $accepted = $socket.AcceptTcpClientAsync()
        $job = 0 | ForEach-Object -AsJob -Parallel {
            $stream = ($using:accepted).Result.GetStream()
            $stream.Write([Text.Encoding]::ASCII.GetBytes("HTTP/1.1 400 Bad Request`r`n`r`n"))
        }
        try {
            { Connect-RpcEndpoint "tcp://127.0.0.1:$($socket.LocalEndpoint.Port)" -Schema $listener.Schema `
                -Service demo.Greeter -ErrorAction Stop } |
                Should -Throw -ErrorId 'ProtocolError,*'
        }
        finally {
            $socket.Stop()
            $job | Remove-Job -Force
        }
    }

    It 'sends pings to a gRPC server while a call waits' {
        # HTTP/2 as far as needed: settings, and the end of the connection when a ping comes.
        $socket = [System.Net.Sockets.TcpListener]::new([ipaddress]::Loopback, 0)
        $socket.Start()
        $peer = 0 | ForEach-Object -AsJob -Parallel {
            $stream = ($using:socket).AcceptTcpClient().GetStream()
            $stream.Write([byte[]](0, 0, 0, 4, 0, 0, 0, 0, 0))
            $stream.ReadExactly([byte[]]::new(24))
            $frame = [byte[]]::new(9)
            do {
                $stream.ReadExactly($frame)
                $stream.ReadExactly([byte[]]::new($frame[1] * 256 + $frame[2]))
            } until ($frame[3] -eq 6)
            $stream.Dispose()
            'ping'
        }
        try {
            $rpc = Connect-RpcEndpoint "grpc://127.0.0.1:$($socket.LocalEndpoint.Port)" `
                -Schema $listener.Schema -Service demo.Greeter -ConnectionOption @{ KeepAlive = 1 }

            { Invoke-RpcMethod SayHello -Connection $rpc -Deadline 20 -ErrorAction Stop } |
                Should -Throw -ErrorId 'ConnectionLost,*'
            $peer | Receive-Job -Wait | Should -Be 'ping'
        }
        finally {
            $socket.Stop()
            $peer | Remove-Job -Force
        }
    }

    It 'says what an endpoint looks like when one cannot be read' {
        { Connect-RpcEndpoint 'nowhere' -Schema $listener.Schema -ErrorAction Stop } |
            Should -Throw -ErrorId 'InvalidEndpoint,*' -ExpectedMessage "*'nowhere'*grpc://host:50051*"
    }

    It 'names the nearest service' {
        { Connect-RpcEndpoint $listener.Endpoint[0] -Schema $listener.Schema -Service demo.Greter -ErrorAction Stop } |
            Should -Throw -ErrorId 'ServiceNotFound,*' -ExpectedMessage '*demo.Greeter*'
    }

    Context 'parameters that mean nothing' {
        $webAndGrpc = 'HTTP endpoints (http://, https://), gRPC endpoints'
        $native = 'native endpoints'
        $withSchema = 'native endpoints with -Schema'

        # Nothing listens there: they are refused before anything is connected.
        It 'refuses -<Name> at <Endpoint>' -ForEach @(
            @{ Name = 'Compression'; Value = 'Gzip'; Endpoint = 'ncacn_np:[\pipe\nobody]'; For = $webAndGrpc }
            @{ Name = 'ReplyCompression'; Value = 'Always'; Endpoint = 'grpc://127.0.0.1:1'; For = 'HTTP endpoints' }
            @{ Name = 'KeepAlive'; Value = 60; Endpoint = 'tcp://127.0.0.1:1'; For = 'gRPC endpoints' }
            @{ Name = 'KeepAlive'; Value = 60; Endpoint = 'http://127.0.0.1:1'; For = 'gRPC endpoints' }
            @{ Name = 'Format'; Value = 'Json'; Endpoint = 'tcp://127.0.0.1:1'; For = 'HTTP endpoints' }
            @{ Name = 'Format'; Value = 'Json'; Endpoint = 'grpc://127.0.0.1:1'; For = 'HTTP endpoints' }
            @{ Name = 'SkipCertificateCheck'; Value = $true; Endpoint = 'tcp://127.0.0.1:1'; For = 'tcp:// with Tls' }
            @{ Name = 'SkipCertificateCheck'; Value = $true; Endpoint = 'http://127.0.0.1:1'; For = 'https://' }
            @{ Name = 'CACertificate'; Value = 'ca.pem'; Endpoint = 'ncalrpc:[nobody-is-here]'; For = 'https://' }
            @{ Name = 'ClientCertificate'; Value = 'me.pem'; Endpoint = 'grpc://127.0.0.1:1'; For = 'grpcs://' }
            @{ Name = 'ServerName'; Value = 'me'; Endpoint = 'ncacn_np:[\pipe\nobody]'; For = 'gRPC endpoints' }
            @{ Name = 'ProtectionLevel'; Value = 'Privacy'; Endpoint = 'https://127.0.0.1:1'; For = 'native endpoints' }
            @{ Name = 'InterfaceId'; Value = [guid]::NewGuid(); Endpoint = 'grpc://127.0.0.1:1'; For = $native }
            @{ Name = 'ExceptionType'; Value = 'None'; Endpoint = 'http://127.0.0.1:1'; For = $withSchema }
        ) {
            { Connect-RpcEndpoint $Endpoint -Schema $listener.Schema `
                -Service demo.Greeter -ConnectionOption @{ $Name = $Value } -ErrorAction Stop } |
                Should -Throw -ErrorId 'ParameterNotSupported,*' `
                    -ExpectedMessage "$Name of -ConnectionOption does not apply to '*', only to *$For*"
        }

        It 'names the parameter itself where it is one' {
            { Connect-RpcEndpoint http://127.0.0.1:1 -Schema $listener.Schema -SkipCertificateCheck -ErrorAction Stop } |
                Should -Throw -ErrorId 'ParameterNotSupported,*' -ExpectedMessage '-SkipCertificateCheck does not*'
        }

        It 'refuses -<Name> for an interface of the raw layer' -ForEach @(
            @{ Name = 'Header'; Value = @{ a = 'b' } }
            @{ Name = 'Service'; Value = 'demo.Greeter' }
            @{ Name = 'ExceptionType'; Value = 'None' }
        ) {
            { Connect-RpcEndpoint tcp://127.0.0.1:1 -InterfaceId (New-Guid) -ConnectionOption @{ $Name = $Value } `
                -ErrorAction Stop } |
                Should -Throw -ErrorId 'ParameterNotSupported,*' -ExpectedMessage "$Name of*with -Schema*"
        }

        It 'refuses -<Name> of anonymous callers, whose calls it would not protect' -ForEach @(
            @{ Name = 'ProtectionLevel'; Value = 'Privacy' }
            @{ Name = 'Mechanism'; Value = 'Ntlm' }
            @{ Name = 'ServicePrincipalName'; Value = 'host/x' }
        ) {
            { Connect-RpcEndpoint tcp://127.0.0.1:1 -Schema $listener.Schema `
                -Service demo.Greeter -ConnectionOption @{ $Name = $Value } -ErrorAction Stop } |
                Should -Throw -ErrorId 'ParameterNotSupported,*' -ExpectedMessage "$Name of*Credential*"
        }

        It 'refuses ServerUser where the system does not report who runs the server: <_>' -ForEach @(
            'tcp://127.0.0.1:1', 'grpc://127.0.0.1:1', 'https://127.0.0.1:1', 'inproc://x'
        ) {
            { Connect-RpcEndpoint $_ -Schema $listener.Schema -Service demo.Greeter -ConnectionOption @{ ServerUser = 'root' } -ErrorAction Stop } |
                Should -Throw -ErrorId 'ParameterNotSupported,*' -ExpectedMessage 'ServerUser of*grpc+unix*'
        }

        It 'refuses a -ServerUser that there is not' {
            { Connect-RpcEndpoint grpc+unix:///tmp/none -ConnectionOption @{ ServerUser = 'no such account' } -ErrorAction Stop } |
                Should -Throw -ErrorId 'InvalidSecurity,*' -ExpectedMessage "*ServerUser is 'no such account'*"
        }

        It 'calls a local listener of the own account, whoever is the -ServerUser' {
            $user = $IsWindows ? 'S-1-5-19' : '54321'

            $rpc = Connect-RpcEndpoint $listener.Endpoint[0] -Schema $listener.Schema -Service demo.Greeter `
                -ConnectionOption @{ ServerUser = $user } -ErrorAction Stop

            $rpc | Should -Not -BeNullOrEmpty
            $rpc | Disconnect-RpcEndpoint
        }

        It 'refuses a mechanism where the kernel says who calls' {
            { Connect-RpcEndpoint $listener.Endpoint[0] -Schema $listener.Schema -Service demo.Greeter `
                -ConnectionOption @{ Authentication = 'Self'; Mechanism = 'Kerberos' } -ErrorAction Stop } |
                Should -Throw -ErrorId 'InvalidSecurity,*' -ExpectedMessage '*operating system*'
        }

        It 'refuses Brotli at a gRPC endpoint' {
            { Connect-RpcEndpoint grpc://127.0.0.1:1 -ConnectionOption @{ Compression = 'Brotli' } -ErrorAction Stop } |
                Should -Throw -ErrorId 'CompressionNotSupported,*'
        }

        It 'refuses a credential that would not be sent over HTTP' {
            $bob = [pscredential]::new('bob', (ConvertTo-SecureString 'x' -AsPlainText))

            { Connect-RpcEndpoint http://127.0.0.1:1 -Schema $listener.Schema -ConnectionOption @{ Authentication = 'None' } `
                -Credential $bob -ErrorAction Stop } |
                Should -Throw -ErrorId 'InvalidCredential,*'
            { Connect-RpcEndpoint http://127.0.0.1:1 -Schema $listener.Schema -ConnectionOption @{ Authentication = 'User' } -ErrorAction Stop } |
                Should -Throw -ErrorId 'InvalidCredential,*'
        }

        It 'goes on with the endpoints that take it' {
            $errors = $null
            $rpc = Connect-RpcEndpoint grpc://127.0.0.1:1, $listener.Endpoint[1] -Schema $listener.Schema `
                -Service demo.Greeter -ConnectionOption @{ ExceptionType = 'None' } -ErrorAction SilentlyContinue -ErrorVariable errors

            $errors.Count | Should -Be 1
            "$($rpc.Endpoint)" | Should -Be "$($listener.Endpoint[1])"
        }
    }

    It 'ends at once when it is stopped' {
        # Accepts connections, and says nothing.
        $socket = [System.Net.Sockets.TcpListener]::new([ipaddress]::Loopback, 0)
        $socket.Start()
        $shell = [powershell]::Create().AddScript({
            param($Manifest, $Endpoint, $Schema)
            Import-Module $Manifest
            Connect-RpcEndpoint $Endpoint -Schema $Schema -Service demo.Greeter
        })
        $endpoint = "tcp://127.0.0.1:$($socket.LocalEndpoint.Port)"
        $null = $shell.AddParameters(@($ModuleManifest, $endpoint, (Join-Path $TestProtos greeter.proto)))
        $null = $shell.BeginInvoke()
        Wait-Until { $socket.Pending() } | Should -BeTrue
        $watch = [Diagnostics.Stopwatch]::StartNew()

        $shell.Stop()

        $watch.Elapsed.TotalSeconds | Should -BeLessThan 5
        $shell.Dispose()
        $socket.Stop()
    }

    It 'offers the endpoints of listeners' {
        (Complete 'Connect-RpcEndpoint ncal').CompletionText | Should -Contain "'$($listener.Endpoint[0])'"
    }

    Context 'load balancing' {
        BeforeAll {
            $servers = foreach ($number in 1..2) {
                Start-TestListener {
                    param($Request)
                    if ($Request.name) { throw [ProtoRpc.RpcException]::new('NotFound', "none on $using:number") }
                    @{ number = $using:number }
                }
            }
        }

        AfterAll { $servers | Stop-RpcListener }

        It 'makes one connection that calls each in turn' {
            $rpc = Connect-RpcEndpoint $servers.Endpoint -Schema $servers[0].Schema -Service demo.Greeter `
                -LoadBalancing RoundRobin

            @($rpc).Count | Should -Be 1
            $numbers = 1..6 | ForEach-Object { (Invoke-RpcMethod SayHello -Connection $rpc).number }
            ($numbers | Group-Object).ForEach{ $_.Count } | Should -Be 3, 3
            $rpc | Disconnect-RpcEndpoint
        }

        It 'names the server that answered' {
            $rpc = Connect-RpcEndpoint $servers.Endpoint -Schema $servers[0].Schema -Service demo.Greeter -LoadBalancing RoundRobin
            $seen = foreach ($i in 1..2) {
                $reply, $lines = (Invoke-RpcMethod SayHello -Connection $rpc -ReplyInfoVariable info -Verbose 4>&1).Where(
                    { $_ -isnot [Management.Automation.VerboseRecord] }, 'Split')
                $server = "$($servers[$reply.number - 1].Endpoint[0])"
                $reply.PSRpcEndpoint, $info.Endpoint | Should -Be $server, $server
                $lines[0] | Should -Be 'Calling demo.Greeter/SayHello on one of 2 servers'
                $lines[-1] | Should -Match ([regex]::Escape("demo.Greeter/SayHello on ${server}: OK in "))
                $row = Invoke-RpcMethod SayHello -Connection $rpc -PassThruResult
                $row.Endpoint | Should -Be "$($servers[$row.Reply.number - 1].Endpoint[0])"
                $null = Invoke-RpcMethod SayHello @{ name = 'x' } -Connection $rpc -ErrorAction SilentlyContinue -ErrorVariable failed
                $failing = [int]("$($failed[0])" -replace '^NotFound: none on (\d).*', '$1')
                "$($failed[0])" | Should -Match ([regex]::Escape("(SayHello at $($servers[$failing - 1].Endpoint[0]))"))
                $failing
            }
            $seen | Sort-Object | Should -Be 1, 2
            (Test-RpcEndpoint -Connection $rpc).Endpoint | Should -BeIn $servers.Endpoint
            $rpc | Disconnect-RpcEndpoint
        }

        It 'leaves a server out that is not there' {
            $rpc = Connect-RpcEndpoint "ncalrpc:[$(New-TestName)]", $servers[1].Endpoint[0] -Schema $servers[0].Schema `
                -Service demo.Greeter -LoadBalancing PickFirst

            (Invoke-RpcMethod SayHello -Connection $rpc).number | Should -Be 2
            $rpc | Disconnect-RpcEndpoint
        }

        It 'refuses the raw layer' {
            { Connect-RpcEndpoint $servers.Endpoint -InterfaceId (New-Guid) `
                -LoadBalancing RoundRobin -ErrorAction Stop } |
                Should -Throw -ErrorId 'LoadBalancingNotSupported,*'
        }
    }
}
