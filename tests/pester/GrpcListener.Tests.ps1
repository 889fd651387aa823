. (Join-Path $PSScriptRoot common.ps1)

Describe 'gRPC endpoints of a listener' {
    BeforeAll {
        $proto = Join-Path $TestProtos words.proto
        $Global:SeenCancelled = [Collections.Concurrent.ConcurrentQueue[string]]::new()
        $seen = $Global:SeenCancelled
        $handler = @{
            Say = {
                switch ($Request.text) {
                    'headers' {
                        $RpcContext.ReplyHeaders['x-first'] = $RpcContext.RequestHeaders['x-asked']
                        $RpcContext.ReplyTrailers['x-last-bin'] = [byte[]](1, 2, 255)
                    }
                    'fail' {
                        $failure = [ProtoRpc.RpcException]::new('NotFound', 'There is no such word: ä')
                        $detail = @{ '@type' = 'google.rpc.ErrorInfo'; reason = 'NO_WORD'; metadata = @{ word = 'x' } }
                        $failure.Details = @($detail)
                        throw $failure
                    }
                    'deadline' { return @{ text = "$($null -ne $RpcContext.Deadline)" } }
                    'gzip' { $RpcContext.ReplyCompression = 'Gzip' }
                }
                @{ text = "you said $($Request.text)" }
            }
            Split = {
                param($Request)
                foreach ($word in $Request.text.Split(' ')) {
                    if ($word -eq 'wait') {
                        try {
                            while ($true) { Start-Sleep -Milliseconds 20 }
                        }
                        finally {
                            $isCancelled = $RpcContext.CancellationToken.IsCancellationRequested
                            ($using:seen).Enqueue("cancelled: $isCancelled")
                        }
                    }
                    if ($word -eq 'fail') { throw 'in the middle' }
                    @{ text = $word }
                }
            }
            Join = {
                param($Request, $Context)
                @{ text = "$($Context.Method.Name): " + (($Request | ForEach-Object text) -join '+') }
            }
            Chat = {
                foreach ($one in $Request) {
                    if ($one.text -eq 'bye') { break }
                    @{ text = "$($one.text)!" }
                    @{ text = '?' }
                }
            }
        }
        $listener = Start-RpcListener -Schema $proto -Endpoint grpc://127.0.0.1:0, 'tcp://127.0.0.1:0' -Handler $handler
        $rpc = Connect-RpcEndpoint $listener.Endpoint[0] -Schema $proto
    }

    AfterAll {
        Clear-Test
        Remove-Variable SeenCancelled -Scope Global
    }

    It 'take a stream from the pipeline, with and without -Connection' {
        $words = 'a', 'b', 'c' | ForEach-Object { @{ text = $_ } }

        ($words | Invoke-RpcMethod Join -Connection $rpc).text | Should -Be 'Join: a+b+c'
        @($words | Invoke-RpcMethod Join).text | Should -Be 'Join: a+b+c'
        @{ text = 'a' }, @{ tex = 'b' } |
            Invoke-RpcMethod Join -ErrorAction SilentlyContinue -ErrorVariable errors
        "$($errors[0])" | Should -BeLike 'Row 2: *tex*'
    }

    It 'answer a message with a message' {
        (Invoke-RpcMethod Say @{ text = 'hi' } -Connection $rpc).text | Should -Be 'you said hi'
        (Invoke-RpcMethod Say @{ text = 'deadline' } -Connection $rpc -Deadline 5).text | Should -Be 'True'
    }

    It 'send what a handler outputs at once' {
        $watch = [Diagnostics.Stopwatch]::StartNew()

        $words = Invoke-RpcMethod Split @{ text = 'one two wait' } -Connection $rpc | Select-Object -First 2

        $words.text | Should -Be 'one', 'two'
        $watch.Elapsed.TotalSeconds | Should -BeLessThan 15
        Wait-Until { $SeenCancelled.Count -gt 0 } | Should -BeTrue
    }

    It 'give the stream of requests to $Request as it comes' {
        (1..5 | ForEach-Object { @{ text = "$_" } } | Invoke-RpcMethod Join -Connection $rpc).text |
            Should -Be 'Join: 1+2+3+4+5'
        (Invoke-RpcMethod Join -Connection $rpc).text | Should -Be 'Join: '
    }

    It 'interleave requests and replies' {
        $script:sent = 0
        $answers = & {
            while (-not $script:answered -and $script:sent -lt 100000) { $script:sent++; @{ text = "$script:sent" } }
        } | Invoke-RpcMethod Chat -Connection $rpc | ForEach-Object { $script:answered = $true; $_.text }

        $script:sent | Should -BeLessThan 100000
        $answers.Count | Should -Be (2 * $script:sent)
        $answers[0..1] | Should -Be '1!', '?'
    }

    It 'end the call when the handler does' {
        $answers = 'a', 'bye', 'b' | ForEach-Object { @{ text = $_ } } | Invoke-RpcMethod Chat -Connection $rpc
        $answers.text | Should -Be 'a!', '?'
    }

    It 'take headers, and give headers and trailers' {
        $null = Invoke-RpcMethod Say @{ text = 'headers' } -Connection $rpc -Header @{ 'x-asked' = 'here' } `
            -ReplyInfoVariable info

        $info.Headers['x-first'] | Should -Be 'here'
        $info.Trailers['x-last-bin'] | Should -Be 1, 2, 255
    }

    It 'fail with the code, the message and the details that a script throws' {
        Invoke-RpcMethod Say @{ text = 'fail' } -Connection $rpc -ErrorAction SilentlyContinue -ErrorVariable problem

        $problem[0].FullyQualifiedErrorId | Should -BeLike 'RpcStatus.NotFound,*'
        $problem[0].Exception.Message | Should -Be 'There is no such word: ä'
        $problem[0].Exception.Details[0].reason | Should -Be 'NO_WORD'
        $problem[0].Exception.Details[0].metadata['word'] | Should -Be 'x'
    }

    It 'fail after the replies that came before' {
        $words = Invoke-RpcMethod Split @{ text = 'one fail' } -Connection $rpc `
            -ErrorAction SilentlyContinue -ErrorVariable problem

        $words.text | Should -Be 'one'
        $problem[0].Exception.Message | Should -Be 'in the middle'
    }

    It 'compress where asked' {
        (Invoke-RpcMethod Say @{ text = 'gzip' } -Connection $rpc).text | Should -Be 'you said gzip'
    }

    It 'stop a script whose caller has no more time' {
        $before = $SeenCancelled.Count

        { Invoke-RpcMethod Split @{ text = 'wait' } -Connection $rpc -Deadline 0.3 -ErrorAction Stop } |
            Should -Throw -ErrorId 'RpcStatus.DeadlineExceeded,*'

        Wait-Until { $SeenCancelled.Count -gt $before } | Should -BeTrue
    }

    It 'stop a script whose caller stops' {
        $shell = [powershell]::Create().AddScript({
            param($Manifest, $Endpoint, $Schema)
            Import-Module $Manifest
            Invoke-RpcMethod Split @{ text = 'one wait' } -Connection (Connect-RpcEndpoint $Endpoint -Schema $Schema)
        }).AddParameters(@($ModuleManifest, $listener.Endpoint[0], $proto))
        $output = [System.Management.Automation.PSDataCollection[psobject]]::new()
        $null = $shell.BeginInvoke([System.Management.Automation.PSDataCollection[psobject]]::new(), $output)
        Wait-Until { $output.Count -eq 1 } | Should -BeTrue
        $SeenCancelled.Clear()

        $shell.Stop()

        Wait-Until { $SeenCancelled.Count -gt 0 } | Should -BeTrue
        $SeenCancelled.ToArray() | Should -Be 'cancelled: True'
        $shell.Dispose()
    }

    It 'are waited for where asked' {
        $first = Start-RpcListener -Schema $proto -Endpoint grpc://127.0.0.1:0 -Handler $handler
        $endpoint = $first.Endpoint[0]
        $waiting = Connect-RpcEndpoint $endpoint -Schema $proto
        $first | Stop-RpcListener
        { Invoke-RpcMethod Say @{ text = 'hi' } -Connection $waiting -ErrorAction Stop } |
            Should -Throw -ErrorId 'RpcStatus.Unavailable,*'

        $job = Invoke-RpcMethod Say @{ text = 'hi' } -Connection $waiting -ConnectionOption @{ WaitForReady = $true } -Deadline 20 -AsJob
        $second = Start-RpcListener -Schema $proto -Endpoint $endpoint -Handler $handler

        ($job | Complete-Job).text | Should -Be 'you said hi'
        $second | Stop-RpcListener
    }

    It 'carry streams, which the native protocol refuses with the endpoints that do' {
        $native = Connect-RpcEndpoint $listener.Endpoint[1] -Schema $proto
        { Invoke-RpcMethod Split @{ text = 'x' } -Connection $native -ErrorAction Stop } |
            Should -Throw -ErrorId 'RpcStatus.Unimplemented,*' -ExpectedMessage '*grpc://*'
        (Invoke-RpcMethod Say @{ text = 'hi' } -Connection $native).text | Should -Be 'you said hi'
    }

    It 'are a Unix socket that knows its caller' -Skip:(-not [Net.Sockets.Socket]::OSSupportsUnixDomainSockets) {
        $path = Join-Path ([IO.Path]::GetTempPath()) "$(New-TestName).sock"
        $unix = Start-RpcListener -Schema $proto -Endpoint "grpc+unix:///$($path.Replace('\', '/').TrimStart('/'))" `
            -Handler @{ Say = { @{ text = $RpcContext.User.Name } } }
        $socket = Connect-RpcEndpoint $unix.Endpoint[0] -Schema $proto

        (Invoke-RpcMethod Say -Connection $socket).text | Should -Be $OwnName

        $socket | Disconnect-RpcEndpoint
        $unix | Stop-RpcListener
        Test-Path $path | Should -BeFalse
    }

    It 'tell their schema and their health' {
        $told = Connect-RpcEndpoint $listener.Endpoint[0]
        ($told | Get-RpcMethod Chat).IsClientStreaming | Should -BeTrue
        (Invoke-RpcMethod words.Words/Say @{ text = 'hi' } -Connection $told).text | Should -Be 'you said hi'
        (Test-RpcEndpoint $listener.Endpoint[0]).Health | Should -Be 'Serving'
    }

    It 'tell what a file does not have, with -Reflection' {
        $file = Join-Path $TestDrive other.proto
        Set-Content $file @(
            'syntax = "proto3"; package other; message Nothing {}'
            'service Other { rpc Do (Nothing) returns (Nothing); }'
        )

        $alone = Connect-RpcEndpoint $listener.Endpoint[0] -Schema $file
        $both = Connect-RpcEndpoint $listener.Endpoint[0] -Schema $file -Reflection

        ($alone | Get-RpcService).FullName | Should -Be 'other.Other'
        ($both | Get-RpcService).FullName | Should -Contain 'other.Other'
        (Invoke-RpcMethod words.Words/Say @{ text = 'hi' } -Connection $both).text | Should -Be 'you said hi'
        { Connect-RpcEndpoint 'tcp://127.0.0.1:1' -Schema $file -Reflection -ErrorAction Stop } |
            Should -Throw -ErrorId 'ParameterNotSupported,*'
    }

    It 'keep both to themselves where asked' {
        $quiet = Start-RpcListener -Schema $proto -Endpoint grpc://127.0.0.1:0 -Handler $handler -ListenerOption @{ NoReflection = $true; NoHealth = $true }

        { Connect-RpcEndpoint $quiet.Endpoint[0] -ErrorAction Stop } | Should -Throw -ErrorId 'NoReflection,*'
        (Test-RpcEndpoint $quiet.Endpoint[0]).Health | Should -BeNullOrEmpty
    }

    It 'pass their streams through filters' {
        $filter = {
            if ($RpcMethod.Name -eq 'Join') { throw [ProtoRpc.RpcException]::new('PermissionDenied', 'not joined') }
            $Request.text = "$($Request.text) filtered"
            $Next.Invoke($Request)
        }
        $filtered = Start-RpcListener -Schema $proto -Endpoint grpc://127.0.0.1:0 -Handler $handler -Filter $filter
        $through = Connect-RpcEndpoint $filtered.Endpoint[0] -Schema $proto

        (Invoke-RpcMethod Split @{ text = 'one' } -Connection $through).text | Should -Be 'one', 'filtered'
        { Invoke-RpcMethod Join @{ text = 'x' } -Connection $through -ErrorAction Stop } |
            Should -Throw -ErrorId 'RpcStatus.PermissionDenied,*'
    }
}
