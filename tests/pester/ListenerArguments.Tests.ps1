. (Join-Path $PSScriptRoot common.ps1)

Describe 'The arguments of Start-RpcListener' {
    AfterEach { Clear-Test }

    It 'names the nearest method of a handler that no method has' {
        { Start-TestListener @{ SayHelo = { } } } |
            Should -Throw -ErrorId 'MethodNotFound,*' -ExpectedMessage "*'SayHelo'*SayHello*"
    }

    It 'refuses a handler that is not a script block' {
        { Start-TestListener @{ SayHello = 'text' } } | Should -Throw -ErrorId 'InvalidHandler,*'
        { Start-TestListener 'text' } | Should -Throw -ErrorId 'InvalidHandler,*' -ExpectedMessage '*hashtable*'
    }

    It 'reads the time <Time> of -Limits as <Seconds> s' -ForEach @(
        @{ Time = 5; Seconds = 5 }
        @{ Time = '30'; Seconds = 30 }
        @{ Time = '500ms'; Seconds = 0.5 }
        @{ Time = '00:01:30'; Seconds = 90 }
        @{ Time = [timespan]::FromSeconds(2); Seconds = 2 }
    ) {
        (New-RpcConnectionOption -Limits @{ connectTimeout = $Time; MaxMessageBytes = 16MB }).Limits |
            ForEach-Object { $_.ConnectTimeout.TotalSeconds, $_.MaxMessageBytes } | Should -Be $Seconds, 16MB
    }

    It 'refuses -Limits with <Limits.Keys> = <Limits.Values>' -ForEach @(
        @{ Limits = @{ HandlerTimeout = 'soon' }; Text = "*HandlerTimeout of Limits: 'soon' is not a time: *'50ms'*" }
        @{ Limits = @{ HandlerTimeout = -1 }; Text = "*HandlerTimeout of Limits: '-1' is not a time: *" }
        @{ Limits = @{ HandlerTimeout = [timespan] 5 }; Text = '*HandlerTimeout of Limits is 00:00:00.0000005; it must be at least 1 ms*' }
        @{ Limits = @{ MaxMessageBytes = 'many' }; Text = '*MaxMessageBytes of Limits: *many*' }
        @{ Limits = @{ HandlerTimout = 5 }; Text = "*'HandlerTimout' is not a limit. Did you mean 'HandlerTimeout'? about_ProtoRpc_Limits lists the names.*" }
    ) {
        $problem = { Start-TestListener { } -With @{ Limits = $Limits } } | Should -Throw -PassThru

        "$problem" | Should -BeLike $Text
        "$problem".Length | Should -BeLessThan 400
    }

    It 'names the place of a limit that is written among other settings' {
        { New-RpcConnectionOption -Limits @{}; Test-RpcEndpoint inproc://x -ConnectionOption @{ ConnectTimeout = 1 } } |
            Should -Throw "*'ConnectTimeout' is not a setting*It is a limit: write Limits = @{ ConnectTimeout = ... }.*"
        { Start-TestListener { } -With @{ ListenerOption = @{ MaxHeaders = 1 } } } |
            Should -Throw "*'MaxHeaders' is not a setting*It is a limit: use -Limits @{ MaxHeaders = ... }.*"
    }

    It 'refuses an endpoint that is none' {
        { Start-TestListener { } -Endpoint 'nowhere' } |
            Should -Throw -ErrorId 'InvalidEndpoint,*' -ExpectedMessage "*ncacn_ip_tcp:host*"
    }

    It 'asks for the service when the schema has several' {
        { Start-RpcListener "ncalrpc:[$(New-TestName)]" { } -Schema (Join-Path $TestProtos greeter.proto) } |
            Should -Throw '*demo.Greeter*demo.Parting*'
    }

    It 'says that a port is in use' {
        $socket = [System.Net.Sockets.TcpListener]::new([ipaddress]::Loopback, 0)
        $socket.Start()
        try {
            { Start-TestListener { } -Endpoint "tcp://127.0.0.1:$($socket.LocalEndpoint.Port)" } |
                Should -Throw -ErrorId 'EndpointInUse,*' -ExpectedMessage "*$($socket.LocalEndpoint.Port)*"
        }
        finally {
            $socket.Stop()
        }
    }

    $local = 'ncalrpc:[nobody]'
    $web = 'HTTP endpoints (http://, https://)'
    $secured = 'https:// and grpcs://'
    $takesOne = "tcp:// with Tls, $secured"
    $native = 'native endpoints'
    $password = [securestring]::new()

    It 'rejects -<Name>, which does not apply to its endpoints' -ForEach @(
        @{ Name = 'Certificate'; Value = 'server.pfx'; Endpoint = 'http://127.0.0.1:0/'; For = $takesOne }
        @{ Name = 'Certificate'; Value = 'server.pfx'; Endpoint = 'tcp://127.0.0.1:0', $local; For = $takesOne }
        @{ Name = 'CertificatePassword'; Value = $password; Endpoint = $local; For = "tcp://, $secured" }
        @{ Name = 'CertificateCheck'; Value = { }; Endpoint = 'grpc://127.0.0.1:0'; For = $secured }
        @{ Name = 'BasicCheck'; Value = { }; Endpoint = 'tcp://127.0.0.1:0'; For = "$web and gRPC endpoints" }
        @{ Name = 'BearerCheck'; Value = { }; Endpoint = 'tcp://127.0.0.1:0'; For = "$web and gRPC endpoints" }
        @{ Name = 'AllowedOrigin'; Value = '*'; Endpoint = 'grpc://127.0.0.1:0'; For = $web }
        @{ Name = 'AllowedHost'; Value = '*'; Endpoint = $local; For = "$web and gRPC endpoints" }
        @{ Name = 'ReplyCompression'; Value = 'Never'; Endpoint = 'grpc://127.0.0.1:0'; For = $web }
        @{ Name = 'AllowGet'; Value = $true; Endpoint = 'grpc://127.0.0.1:0'; For = $web }
        @{ Name = 'AllowUnencrypted'; Value = $true; Endpoint = $local; For = 'gRPC endpoints' }
        @{ Name = 'NoReflection'; Value = $true; Endpoint = $local; For = 'gRPC endpoints' }
        @{ Name = 'NoHealth'; Value = $true; Endpoint = $local; For = 'gRPC endpoints' }
        @{ Name = 'InterfaceId'; Value = [guid]::NewGuid(); Endpoint = 'http://127.0.0.1:0/'; For = $native }
        @{ Name = 'ProtectionLevel'; Value = 'Privacy'; Endpoint = 'http://127.0.0.1:0/'; For = $native }
    ) {
        $isOption = (Get-Command New-RpcListenerOption).Parameters.ContainsKey($Name)
        $with = $isOption ? @{ ListenerOption = @{ $Name = $Value } } : @{ $Name = $Value }
        $written = $isOption ? "$Name of -ListenerOption" : "-$Name"

        { Start-TestListener { } -Endpoint $Endpoint -With $with } |
            Should -Throw -ErrorId 'ParameterNotSupported,*' `
                -ExpectedMessage "$written does not apply to '*', only to *$For*"
    }

    It 'rejects -<Name> without <Needs>' -ForEach @(
        @{ Name = 'CertificatePassword'; Value = [securestring]::new(); Needs = '-Certificate' }
        @{ Name = 'Tls'; Value = $true; Needs = '-Certificate' }
    ) {
        $isOption = (Get-Command New-RpcListenerOption).Parameters.ContainsKey($Name)
        $with = $isOption ? @{ ListenerOption = @{ $Name = $Value } } : @{ $Name = $Value }
        $written = $isOption ? "$Name of -ListenerOption" : "-$Name"

        { Start-TestListener { } -Endpoint 'tcp://127.0.0.1:0' -With $with } |
            Should -Throw -ErrorId 'ParameterNotSupported,*' -ExpectedMessage "$written requires $Needs*"
    }

    It 'rejects a protection level without -Authentication' {
        { Start-TestListener { } -Endpoint 'tcp://127.0.0.1:0' -With @{ ListenerOption = @{ ProtectionLevel = 'Privacy' } } } |
            Should -Throw -ErrorId 'ParameterNotSupported,*' `
                -ExpectedMessage 'ProtectionLevel of -ListenerOption requires -Authentication*'
    }

    It 'rejects a setting of the other kind of listener' {
        { Start-TestListener { } -With @{ ListenerOption = @{ MaxCalls = 3 } } } |
            Should -Throw -ErrorId 'ParameterNotSupported,*' -ExpectedMessage 'MaxCalls of -ListenerOption applies only to a raw listener*'
        { Start-RpcListener 'tcp://127.0.0.1:0' -Handler { } -InterfaceId (New-Guid) -ListenerOption @{ ErrorDetail = 'None' } } |
            Should -Throw -ErrorId 'ParameterNotSupported,*' -ExpectedMessage 'ErrorDetail of -ListenerOption does not apply to a raw listener*'
    }

    It 'refuses -Tls where no endpoint asks for it' {
        { Start-TestListener { } -Endpoint 'https://127.0.0.1:0/' -With @{ Tls = $true; Certificate = 'x.pfx' } } |
            Should -Throw -ErrorId 'TlsNotSupported,*'
    }

    It 'takes what means something to one of its endpoints' {
        $listener = Start-TestListener { @{} } -Endpoint 'http://127.0.0.1:0/', "ncalrpc:[$(New-TestName)]" -With @{
            ListenerOption = @{ AllowedOrigin = '*' }; InterfaceId = [guid]::NewGuid()
        }

        $listener.Endpoint.Count | Should -Be 2
    }

    It 'says that a schema file is missing' {
        { Start-RpcListener "ncalrpc:[$(New-TestName)]" { } -Schema (Join-Path $TestDrive missing.proto) } |
            Should -Throw -ErrorId 'SchemaNotFound,*' -ExpectedMessage '*missing.proto*'
    }
}
