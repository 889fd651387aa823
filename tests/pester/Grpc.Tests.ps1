. (Join-Path $PSScriptRoot common.ps1)

BeforeDiscovery {
    $hasGrpc = (Get-Command /usr/bin/python3, protoc -ErrorAction Ignore).Count -eq 2
    if ($hasGrpc) {
        $null = & /usr/bin/python3 -c 'import grpc, google.protobuf' 2>$null
        $hasGrpc = $LASTEXITCODE -eq 0
    }
}

Describe 'gRPC endpoints' -Skip:(-not $hasGrpc) {
    BeforeAll {
        $folder = Join-Path $RepositoryRoot tests interop grpc
        $imports = (Join-Path $RepositoryRoot protos), (Join-Path $RepositoryRoot bin protoc include)

        # Python's server of the interoperability test service.
        function Start-GrpcServer {
            $start = [Diagnostics.ProcessStartInfo]::new('/usr/bin/python3')
            $start.RedirectStandardInput = $start.RedirectStandardOutput = $true
            @(Join-Path $folder interop_server.py) + @($imports | ForEach-Object { '--import-path', $_ }) + $args |
                ForEach-Object { $start.ArgumentList.Add($_) }
            $process = [Diagnostics.Process]::Start($start)
            $port = $process.StandardOutput.ReadLine() -replace '\D'
            $process | Add-Member Endpoint "grpc://127.0.0.1:$port" -PassThru
        }

        $server = Start-GrpcServer --reflection v1 v1alpha
        $rpc = Connect-RpcEndpoint $server.Endpoint -Service grpc.testing.TestService
    }

    AfterAll {
        Clear-Test
        $server | ForEach-Object { $_.Kill(); $_.Dispose() }
    }

    It 'tell their schema themselves' {
        ($rpc | Get-RpcService).FullName | Should -Contain 'grpc.testing.TestService'
        ($rpc | Get-RpcMethod FullDuplexCall).IsServerStreaming | Should -BeTrue
        ($rpc | Get-RpcMessageType grpc.testing.Payload).FullName | Should -Be 'grpc.testing.Payload'
        (New-RpcMessage SimpleRequest -Connection $rpc).Keys | Should -Contain 'response_size'
        Export-RpcSchema (Join-Path $TestDrive all.pb) $rpc.Schema
        (Import-RpcSchema (Join-Path $TestDrive all.pb) | Get-RpcService TestService).Name | Should -Be 'TestService'
    }

    It 'give Import-RpcSchema their schema' {
        (Import-RpcSchema -Endpoint $server.Endpoint).Services.FullName | Should -Contain 'grpc.health.v1.Health'
    }

    It 'answer with objects' {
        (Invoke-RpcMethod UnaryCall @{ response_size = 3 } -Connection $rpc).payload.body.Length | Should -Be 3
    }

    It 'make a call for each object that comes to a unary method' {
        $replies = 1..3 | ForEach-Object { @{ response_size = $_ } } | Invoke-RpcMethod UnaryCall -Connection $rpc

        $replies.ForEach{ $_.payload.body.Length } | Should -Be 1, 2, 3
    }

    It 'take a stream from the pipeline' {
        $reply = 1..5 | ForEach-Object { @{ payload = @{ body = [byte[]]::new($_) } } } |
            Invoke-RpcMethod StreamingInputCall -Connection $rpc

        $reply.aggregated_payload_size | Should -Be 15
    }

    It 'take a stream from a list, and an empty one from nothing' {
        $messages = @{ payload = @{ body = [byte[]](1, 2) } }, @{ payload = @{ body = [byte[]](3) } }

        (Invoke-RpcMethod StreamingInputCall $messages -Connection $rpc).aggregated_payload_size | Should -Be 3
        (Invoke-RpcMethod StreamingInputCall -Connection $rpc).aggregated_payload_size | Should -Be 0
        (@() | Invoke-RpcMethod StreamingInputCall -Connection $rpc).aggregated_payload_size | Should -Be 0
    }

    It 'write replies as they arrive' {
        # The second would come after a minute.
        $request = @{ response_parameters = @{ size = 1 }, @{ size = 2; interval_us = 60000000 } }
        $watch = [Diagnostics.Stopwatch]::StartNew()

        $first = Invoke-RpcMethod StreamingOutputCall $request -Connection $rpc | Select-Object -First 1

        $first.payload.body.Length | Should -Be 1
        $watch.Elapsed.TotalSeconds | Should -BeLessThan 30
    }

    It 'interleave requests and replies' {
        $seen = [Collections.Generic.List[string]]::new()
        $script:sent = 0
        & {
            # Until a reply has come while the stream still goes on.
            while ($seen.Count -eq 0 -and $script:sent -lt 100000) {
                $script:sent++
                @{ response_parameters = , @{ size = 1 } }
            }
        } | Invoke-RpcMethod FullDuplexCall -Connection $rpc | ForEach-Object { $seen.Add("after $script:sent") }

        $script:sent | Should -BeLessThan 100000
        $seen.Count | Should -Be $script:sent
    }

    It 'end the call when a message of the stream cannot be sent' {
        $replies = @{ payload = @{ body = [byte[]](1) } }, @{ nonsense = 1 }, @{ payload = @{ body = [byte[]](2) } } |
            Invoke-RpcMethod StreamingInputCall -Connection $rpc -ErrorAction SilentlyContinue -ErrorVariable problem

        $replies | Should -BeNullOrEmpty
        $problem.Count | Should -Be 1
        $problem[0].FullyQualifiedErrorId | Should -BeLike 'UnknownField,*'
    }

    It 'take headers, and give headers and trailers' {
        $null = Invoke-RpcMethod UnaryCall -Connection $rpc -ReplyInfoVariable info -Header @{
            'x-grpc-test-echo-initial' = 'here'
            'x-grpc-test-echo-trailing-bin' = [byte[]](1, 2, 255)
        }

        $info.Headers['x-grpc-test-echo-initial'] | Should -Be 'here'
        $info.Trailers['X-Grpc-Test-Echo-Trailing-Bin'] | Should -Be 1, 2, 255
    }

    It 'fail with code, message and details' {
        $request = @{ response_status = @{ code = 8; message = 'with details' } }

        Invoke-RpcMethod UnaryCall $request -Connection $rpc -ErrorAction SilentlyContinue `
            -ErrorVariable problem -ReplyInfoVariable info

        $problem[0].FullyQualifiedErrorId | Should -BeLike 'RpcStatus.ResourceExhausted,*'
        $problem[0].Exception.Message | Should -Be 'with details'
        $problem[0].Exception.Details[0].reason | Should -Be 'STOCKOUT'
        $problem[0].Exception.Details[1].field_violations[0].field | Should -Be 'name'
        $problem[0].Exception.Details[2].'@type' | Should -BeLike '*unknown.Type'
        $info.Trailers['retries'] | Should -Be '3'
    }

    It 'keep to the deadline' {
        $slow = @{ response_parameters = , @{ size = 1; interval_us = 60000000 } }
        { Invoke-RpcMethod StreamingOutputCall $slow -Connection $rpc -Deadline 0.2 -ErrorAction Stop } |
            Should -Throw -ErrorId 'RpcStatus.DeadlineExceeded,*'
    }

    It 'refuse a reply over -MaxReceiveBytes' {
        $small = Connect-RpcEndpoint $server.Endpoint -Schema $rpc.Schema -Service TestService -ConnectionOption @{ Limits = @{ MaxMessageBytes = 100 } }
        try {
            { Invoke-RpcMethod UnaryCall @{ response_size = 200 } -Connection $small -ErrorAction Stop } |
                Should -Throw -ErrorId 'MessageTooLarge,*'
        }
        finally {
            $small | Disconnect-RpcEndpoint
        }
    }

    It 'take compressed requests' {
        $gzip = Connect-RpcEndpoint $server.Endpoint -Schema $rpc.Schema -Service TestService -ConnectionOption @{ Compression = 'Gzip' }
        try {
            $reply = Invoke-RpcMethod StreamingInputCall @{ payload = @{ body = [byte[]]::new(9000) } } `
                -Connection $gzip
            $reply.aggregated_payload_size | Should -Be 9000
        }
        finally {
            $gzip | Disconnect-RpcEndpoint
        }
    }

    It 'are told apart from endpoints that want TLS' {
        $secure = $server.Endpoint -replace '^grpc', 'grpcs'

        { Connect-RpcEndpoint $secure -ErrorAction Stop } |
            Should -Throw -ErrorId 'WrongProtocol,*' -ExpectedMessage "*without TLS*$($server.Endpoint)*"
    }

    It 'tell their health' {
        (Test-RpcEndpoint $server.Endpoint).Health | Should -Be 'Serving'
        Test-RpcEndpoint $server.Endpoint -Quiet | Should -BeTrue
        (Test-RpcEndpoint $server.Endpoint).IsProtoRpc | Should -BeFalse
        Test-RpcEndpoint $server.Endpoint | Out-String | Should -BeLike '*not ProtoRpc*'
    }

    It 'are found missing at once' {
        { Connect-RpcEndpoint grpc://127.0.0.1:1 -ErrorAction Stop } | Should -Throw -ErrorId 'RpcStatus.Unavailable,*'
    }

    It 'see the call cancelled when the pipeline is stopped' {
        $shell = [powershell]::Create().AddScript({
            param($Manifest, $Endpoint)
            Import-Module $Manifest
            $rpc = Connect-RpcEndpoint $Endpoint -Service grpc.testing.TestService
            $slow = @{ response_parameters = @{ size = 1 }, @{ size = 1; interval_us = 60000000 } }
            Invoke-RpcMethod StreamingOutputCall $slow -Connection $rpc
        }).AddParameters(@($ModuleManifest, $server.Endpoint))
        $output = [System.Management.Automation.PSDataCollection[psobject]]::new()
        $null = $shell.BeginInvoke([System.Management.Automation.PSDataCollection[psobject]]::new(), $output)
        Wait-Until { $output.Count -eq 1 } | Should -BeTrue
        $watch = [Diagnostics.Stopwatch]::StartNew()

        $shell.Stop()

        $watch.Elapsed.TotalSeconds | Should -BeLessThan 10
        $shell.Dispose()
    }
}
