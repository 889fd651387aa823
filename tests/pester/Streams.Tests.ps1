. (Join-Path $PSScriptRoot common.ps1)
. (Join-Path $PSScriptRoot talk.ps1)

Describe 'A conversation over <_>' -ForEach 'grpc', 'inproc' {
    BeforeAll {
        $listener = Start-Talk ($_ -eq 'grpc' ? 'grpc://127.0.0.1:0' : "inproc://$(New-TestName)")
        $rpc = Connect-Talk $listener
    }

    AfterAll { Clear-Test }

    It 'sends what depends on what it received' {
        $stream = Open-RpcStream Chat -Connection $rpc
        Send-RpcStream $stream @{ text = 'a'; number = 1 }
        for ($i = 0; $i -lt 5; $i++) {
            $reply = Receive-RpcStream $stream -Count 1 -Timeout 20
            Send-RpcStream $stream @{ text = $reply.text; number = $reply.number + 1 }
        }

        Complete-RpcStream $stream
        $last = @(Receive-RpcStream $stream)

        $last | Should -HaveCount 1
        $last[0].text | Should -Be 'a!!!!!!'
        $last[0].number | Should -Be 6
        $stream.State | Should -Be 'Ended'
    }

    It 'shows its state, counts, headers and trailers' {
        $stream = $rpc | Open-RpcStream Chat
        $stream.State | Should -Be 'Open'
        $stream.Method | Should -Be 'talk.Talk/Chat'
        $stream.Endpoint | Should -Be $rpc.Endpoint
        $stream.Status | Should -BeNullOrEmpty
        @{ text = 'a' }, @{ text = 'b' } | Send-RpcStream $stream
        $null = Receive-RpcStream $stream -Count 2 -Timeout 20
        $stream.Sent | Should -Be 2
        $stream.Received | Should -Be 2
        $stream.Headers['x-mood'] | Should -Be 'glad'
        $stream | Complete-RpcStream
        $stream | Complete-RpcStream
        Wait-Until { $stream.State -eq 'Ended' } | Should -BeTrue
        $stream | Receive-RpcStream | Should -BeNullOrEmpty
        $stream.Status | Should -Be OK
        $stream.Error | Should -BeNullOrEmpty
        $stream.Trailers['x-end'] | Should -Be 'bye'
        $stream | Out-String -Width 200 | Should -BeLike '*Ended*talk.Talk/Chat*2*2*OK*'
    }

    It 'is half closed after the last message, while the server still talks' {
        $stream = Open-RpcStream Split @{ text = 'a hold b' } -Connection $rpc

        (Receive-RpcStream $stream -Count 1 -Timeout 20).text | Should -Be 'a'
        $stream.State | Should -Be 'HalfClosed'
        Close-RpcStream $stream
        $stream.State | Should -Be 'Closed'
        $stream.Status | Should -Be Cancelled
    }

    It 'takes messages of all forms by the pipeline, and by -Message' {
        $stream = Open-RpcStream Join -Connection $rpc
        Send-RpcStream $stream @{ text = 'a' }, @{ text = 'b' }
        [pscustomobject]@{ text = 'c' }, '{ "text": "d" }', (New-RpcMessage talk.Line -Schema $TalkProto) |
            Send-RpcStream $stream
        $rpc | Invoke-RpcMethod Say @{ text = 'e' } -Raw | Send-RpcStream $stream
        Send-RpcStream $stream

        Complete-RpcStream $stream

        (Receive-RpcStream $stream).text | Should -Be 'a b c d  e '
    }

    It 'writes messages as Invoke-RpcMethod does' {
        $stream = Open-RpcStream Split @{ text = 'a b c' } -Connection $rpc
        (Receive-RpcStream $stream -Count 1).PSTypeNames[0] | Should -Be 'ProtoRpc.Message#talk.Line'
        (Receive-RpcStream $stream 1 -AsHashtable)['text'] | Should -Be 'b'
        Receive-RpcStream $stream -Count 1 -Raw | Should -BeOfType ProtoRpc.DynamicMessage
        $stream | Receive-RpcStream | Should -BeNullOrEmpty
    }

    It 'reports a wrong message, and sends nothing that follows it' {
        $stream = Open-RpcStream Join -Connection $rpc

        @{ text = 'a' }, @{ txt = 'b' }, @{ text = 'c' } |
            Send-RpcStream $stream -ErrorAction SilentlyContinue -ErrorVariable failed

        $failed | Should -HaveCount 1
        $failed[0].FullyQualifiedErrorId | Should -Be 'UnknownField,ProtoRpc.SendRpcStreamCommand'
        "$($failed[0])" | Should -BeLike 'Row 2:*text*'
        $stream.State | Should -Be 'Open'
        @{ txt = 'b' } | Send-RpcStream $stream -AllowUnknownField
        Complete-RpcStream $stream
        (Receive-RpcStream $stream).text | Should -Be 'a '
    }

    It 'leaves the stream open when a receiver has waited long enough' {
        $stream = Open-RpcStream Chat -Connection $rpc

        { Receive-RpcStream $stream -Timeout 0.05 -ErrorAction Stop } |
            Should -Throw -ErrorId 'StreamTimeout,ProtoRpc.ReceiveRpcStreamCommand' -ExpectedMessage '*within 0.05 s*still open*'
        { Receive-RpcStream $stream -Timeout 0 -ErrorAction Stop } | Should -Throw -ErrorId 'StreamTimeout,*'

        $stream.State | Should -Be 'Open'
        Send-RpcStream $stream @{ text = 'late' }
        (Receive-RpcStream $stream -Count 1 -Timeout 20).text | Should -Be 'late!'
        Close-RpcStream $stream
    }

    It 'ends with the same error as Invoke-RpcMethod' {
        Invoke-RpcMethod Chat @{ text = 'fail' } -Connection $rpc -ErrorAction SilentlyContinue -ErrorVariable expected
        $stream = Open-RpcStream Chat -Connection $rpc
        Send-RpcStream $stream @{ text = 'fail' }

        Receive-RpcStream $stream -ErrorAction SilentlyContinue -ErrorVariable failed
        Receive-RpcStream $stream -ErrorAction SilentlyContinue -ErrorVariable again

        $failed | Should -HaveCount 1
        $failed[0].FullyQualifiedErrorId | Should -Be 'RpcStatus.FailedPrecondition,ProtoRpc.ReceiveRpcStreamCommand'
        "$($failed[0])" | Should -Be "$($expected[0])"
        "$($again[0])" | Should -Be "$($expected[0])"
        $stream.Status | Should -Be FailedPrecondition
        $stream.Error.Message | Should -Be 'The shop is closed.'
        $stream.Trailers['x-end'] | Should -Be 'bye'
    }

    It 'says in a send that the server has ended early, and how' {
        $ended = Open-RpcStream Chat @{ text = 'bye' } -Connection $rpc
        $failed = Open-RpcStream Chat @{ text = 'fail' } -Connection $rpc
        Wait-Until { $null -ne $ended.Status -and $failed.Status } | Should -BeTrue

        { Send-RpcStream $ended @{ text = 'a' } -ErrorAction Stop } |
            Should -Throw -ErrorId 'StreamCompleted,*' -ExpectedMessage '*ended by the server*'
        { Send-RpcStream $failed @{ text = 'a' } -ErrorAction Stop } |
            Should -Throw -ErrorId 'RpcStatus.FailedPrecondition,*' -ExpectedMessage '*The shop is closed.*'
    }

    It 'refuses to send after its end, and a second message where the method takes one' {
        $stream = Open-RpcStream Chat -Connection $rpc
        Complete-RpcStream $stream
        { Send-RpcStream $stream @{ text = 'a' } -ErrorAction Stop } |
            Should -Throw -ErrorId 'StreamCompleted,ProtoRpc.SendRpcStreamCommand' -ExpectedMessage '*was completed*'
        $one = Open-RpcStream Split @{ text = 'a' } -Connection $rpc
        { Send-RpcStream $one @{ text = 'b' } -ErrorAction Stop } |
            Should -Throw -ErrorId 'StreamCompleted,*' -ExpectedMessage '*takes only one message, which is already*'
        (Receive-RpcStream $one).text | Should -Be 'a'
    }

    It 'refuses to be used after it was closed' {
        $stream = Open-RpcStream Chat -Connection $rpc
        $stream | Close-RpcStream
        $stream | Close-RpcStream

        foreach ($use in { Send-RpcStream $stream @{} -ErrorAction Stop }, { Receive-RpcStream $stream -ErrorAction Stop },
            { Complete-RpcStream $stream -ErrorAction Stop }) {
            $use | Should -Throw -ErrorId 'StreamClosed,*' -ExpectedMessage '*was closed. Open another one*'
        }
    }

    It 'cancels the handler when it is closed' {
        $stream = Open-RpcStream Split @{ text = 'a endless' } -Connection $rpc
        $null = Receive-RpcStream $stream -Count 100 -Timeout 20
        $listener.InFlight | Should -BeGreaterThan 0

        Close-RpcStream $stream

        Wait-Until { $listener.InFlight -eq 0 } | Should -BeTrue
    }

    It 'ends with its deadline' {
        $stream = Open-RpcStream Split @{ text = 'a hold' } -Connection $rpc -Deadline 0.5

        $replies = Receive-RpcStream $stream -ErrorAction SilentlyContinue -ErrorVariable failed

        $replies.text | Should -Be 'a'
        $failed[0].FullyQualifiedErrorId | Should -BeLike 'RpcStatus.DeadlineExceeded,*'
        $stream.Status | Should -Be DeadlineExceeded
    }

    It 'ends with its connection' {
        $own = Connect-Talk $listener
        $stream = Open-RpcStream Chat -Connection $own
        $own | Disconnect-RpcEndpoint

        $stream.State | Should -Be 'Closed'
        { Receive-RpcStream $stream -ErrorAction Stop } |
            Should -Throw -ErrorId 'StreamClosed,*' -ExpectedMessage '*closed with its connection*'
    }

    It 'sends headers, and says more with -Verbose' {
        $stream = Open-RpcStream Chat -Connection $rpc -Header @{ 'x-a' = 'b' } -Verbose 4>&1 -OutVariable written |
            Where-Object { $_ -is [ProtoRpc.RpcStream] }
        "$($written[0])" | Should -BeLike 'Calling talk.Talk/Chat on*'
        Complete-RpcStream $stream
        $lines = Receive-RpcStream $stream -Verbose 4>&1
        "$lines" | Should -BeLike 'talk.Talk/Chat on * OK in * ms, * bytes sent*'
    }
}

Describe 'A stream without a connection' {
    BeforeAll { $listener = Start-Talk 'grpc://127.0.0.1:0' }
    AfterAll { Clear-Test }

    It 'opens with -Endpoint, and ends with Disconnect-RpcEndpoint -Pooled' {
        $stream = Open-RpcStream Chat -Endpoint $listener.Endpoint[0] -Schema $TalkProto
        Send-RpcStream $stream @{ text = 'a' }
        (Receive-RpcStream $stream -Count 1 -Timeout 20).text | Should -Be 'a!'

        Disconnect-RpcEndpoint -Pooled

        { Receive-RpcStream $stream -ErrorAction Stop } | Should -Throw -ErrorId 'StreamClosed,*'
    }

    It 'authenticates with -ConnectionOption' {
        $guarded = Start-RpcListener grpc://127.0.0.1:0 -Schema $TalkProto -Service talk.Talk -ListenerOption @{ WorkerCount = 2 } -Handler @{
            Chat = { param($Request) @{ text = $RpcContext.User.Name } }
        } -BearerCheck { param($token) $token -eq 'right' ? 'ann' : $null }
        $with = @{ Endpoint = $guarded.Endpoint[0]; Schema = $TalkProto }
        $env:PROTORPC_TEST_TOKEN = 'right'
        try {
            $stream = Open-RpcStream Chat @with -ConnectionOption @{ Token = 'env:PROTORPC_TEST_TOKEN' }
            Complete-RpcStream $stream
            (Receive-RpcStream $stream).text | Should -Be 'ann'
        }
        finally {
            $env:PROTORPC_TEST_TOKEN = $null
        }

        { Open-RpcStream Chat @with -Token 'env:PROTORPC_TEST_TOKEN' } | Should -Throw -ErrorId 'NamedParameterNotFound,*'
    }

    It 'opens one stream, not several' {
        { Open-RpcStream Chat -Endpoint 'inproc://a', 'inproc://b' -Schema $TalkProto -ErrorAction Stop } |
            Should -Throw -ErrorId 'NotForManyCalls,*'
    }

    It 'says what Invoke-RpcMethod says of a wrong method, schema or connection' {
        Disconnect-RpcEndpoint -Pooled
        foreach ($with in @{ Method = 'Nothing'; Endpoint = $listener.Endpoint[0] },
            @{ Method = 'Chat'; Endpoint = 'inproc://nobody' }, @{ Method = 'Chat' }) {
            Invoke-RpcMethod @with -ErrorAction SilentlyContinue -ErrorVariable expected
            Open-RpcStream @with -ErrorAction SilentlyContinue -ErrorVariable failed
            $failed | Should -HaveCount 1
            "$($failed[0])" | Should -Be "$($expected[0])"
            $failed[0].FullyQualifiedErrorId.Split(',')[0] | Should -Be $expected[0].FullyQualifiedErrorId.Split(',')[0]
        }
    }
}

Describe 'Streams where the endpoint has none' {
    BeforeAll { $listener = Start-Talk "ncalrpc:[$(New-TestName)]", 'http://127.0.0.1:0/' }
    AfterAll { Clear-Test }

    It 'are Unimplemented on native endpoints' {
        $rpc = Connect-Talk $listener
        Open-RpcStream Chat -Connection $rpc -OutVariable stream -ErrorAction SilentlyContinue -ErrorVariable failed |
            Receive-RpcStream -ErrorAction SilentlyContinue -ErrorVariable +failed
        $failed[0].FullyQualifiedErrorId | Should -BeLike 'RpcStatus.Unimplemented,*'
    }

    It 'are Unimplemented over HTTP for requests, and work for replies' {
        $rpc = Connect-Talk $listener 1
        Open-RpcStream Chat -Connection $rpc -ErrorAction SilentlyContinue -ErrorVariable failed |
            Receive-RpcStream -Timeout 20 -ErrorAction SilentlyContinue -ErrorVariable +failed
        $failed[0].FullyQualifiedErrorId | Should -BeLike 'RpcStatus.Unimplemented,*'
        $stream = Open-RpcStream Split -Connection $rpc
        Send-RpcStream $stream @{ text = 'a b' }
        { Send-RpcStream $stream @{ text = 'c' } -ErrorAction Stop } | Should -Throw -ErrorId 'StreamCompleted,*'
        (Receive-RpcStream $stream -Timeout 20).text | Should -Be 'a', 'b'
    }
}

Describe 'Many at one stream' {
    BeforeAll {
        $listener = Start-Talk 'grpc://127.0.0.1:0'
        $rpc = Connect-Talk $listener
    }

    AfterAll { Clear-Test }

    It 'lets a job send and another one receive' {
        $stream = Open-RpcStream Chat -Connection $rpc
        $sender = Start-ThreadJob {
            Import-Module $using:ModuleManifest
            1..500 | ForEach-Object { @{ text = "n$_"; number = $_ } } | Send-RpcStream $using:stream
            Complete-RpcStream $using:stream
        }
        $receiver = Start-ThreadJob { Import-Module $using:ModuleManifest; (Receive-RpcStream $using:stream).number }

        $numbers = $receiver | Complete-Job
        $sender | Complete-Job

        $numbers | Should -Be (1..500)
    }

    It 'gives each reply to one of two receivers' {
        $stream = Open-RpcStream Chat -Connection $rpc
        $receivers = 1..2 | ForEach-Object { Start-ThreadJob { Import-Module $using:ModuleManifest; Receive-RpcStream $using:stream | ForEach-Object number } }
        1..500 | ForEach-Object { @{ text = 'a'; number = $_ } } | Send-RpcStream $stream
        Complete-RpcStream $stream

        $numbers = $receivers | Complete-Job

        $numbers | Sort-Object | Should -Be (1..500)
        $stream.Received | Should -Be 500
    }

    It 'ends a receiver in another runspace when it is closed' {
        $stream = Open-RpcStream Chat -Connection $rpc
        $receiver = Start-ThreadJob { Import-Module $using:ModuleManifest; 'ready'; Receive-RpcStream $using:stream -ErrorAction SilentlyContinue -ErrorVariable failed; $failed[0].FullyQualifiedErrorId }
        Wait-Until { $receiver.HasMoreData } | Should -BeTrue

        Close-RpcStream $stream

        $receiver | Complete-Job | Should -Be 'ready', 'StreamClosed,ProtoRpc.ReceiveRpcStreamCommand'
    }

    It 'ends a sender that the server does not read when it is closed, or has waited long enough' {
        $stream = Open-RpcStream Chat @{ text = 'deaf' } -Connection $rpc
        $large = 'x' * 100000
        { while ($true) { Send-RpcStream $stream @{ text = $large } -Timeout 0.5 -ErrorAction Stop } } |
            Should -Throw -ErrorId 'StreamTimeout,ProtoRpc.SendRpcStreamCommand' -ExpectedMessage '*did not accept*'
        $sender = Start-ThreadJob { Import-Module $using:ModuleManifest; 'ready'; Send-RpcStream $using:stream @{ text = 'b' } -ErrorAction SilentlyContinue -ErrorVariable failed; $failed[0].FullyQualifiedErrorId }
        Wait-Until { $sender.HasMoreData } | Should -BeTrue

        Close-RpcStream $stream

        $sender | Complete-Job | Should -Be 'ready', 'StreamClosed,ProtoRpc.SendRpcStreamCommand'
    }

    It 'ends with the runspace that opened it, and without a call of its connection' {
        $stream = Start-ThreadJob {
            Import-Module $using:ModuleManifest
            Open-RpcStream Chat -Connection $using:rpc
        } | Complete-Job

        $stream.State | Should -Be 'Closed'
        { Receive-RpcStream $stream -ErrorAction Stop } |
            Should -Throw -ErrorId 'StreamClosed,*' -ExpectedMessage '*with the session that opened it*'
        Wait-Until { $listener.InFlight -eq 0 } | Should -BeTrue
        (Invoke-RpcMethod Say @{ text = 'a' } -Connection $rpc).text | Should -Be 'a'
    }

    It 'ends when no script has it any more' {
        & { $null = Open-RpcStream Split @{ text = 'a hold' } -Connection $rpc }
        Wait-Until { $listener.InFlight -gt 0 } | Should -BeTrue

        Wait-Until { [GC]::Collect(); [GC]::WaitForPendingFinalizers(); $listener.InFlight -eq 0 } | Should -BeTrue
    }

    It 'ends when the module is removed' {
        $result = Invoke-Pwsh @"
            Import-Module '$ModuleManifest'
            `$stream = Open-RpcStream Split @{ text = 'a hold' } -Endpoint '$($listener.Endpoint[0])' -Schema '$TalkProto'
            `$null = Receive-RpcStream `$stream -Count 1
            Remove-Module ProtoRpc
            `$stream.State
"@

        $result.Error | Should -BeNullOrEmpty
        $result.Output.Trim() | Should -Be 'Closed'
        Wait-Until { $listener.InFlight -eq 0 } | Should -BeTrue
    }

    It 'does not keep a session that ends from ending' {
        $result = Invoke-Pwsh @"
            Import-Module '$ModuleManifest'
            `$rpc = Connect-RpcEndpoint '$($listener.Endpoint[0])' -Schema '$TalkProto'
            `$stream = Open-RpcStream Split @{ text = 'a hold' } -Connection `$rpc
            'end'
"@

        $result.Ended | Should -BeTrue
        $result.Output.Trim() | Should -Be 'end'
        Wait-Until { $listener.InFlight -eq 0 } | Should -BeTrue
    }
}

Describe 'Ctrl+C at a stream' {
    BeforeAll {
        $listener = Start-Talk 'grpc://127.0.0.1:0'
        $rpc = Connect-Talk $listener
    }

    AfterAll { Clear-Test }

    It 'ends the wait and not the stream' {
        $stream = Open-RpcStream Chat -Connection $rpc
        $shell = [powershell]::Create()
        try {
            $null = $shell.AddScript("param(`$stream) Import-Module '$ModuleManifest'; Receive-RpcStream `$stream")
            $null = $shell.AddArgument($stream)
            $run = $shell.BeginInvoke()
            Wait-Until { $shell.Runspace.RunspaceAvailability -eq 'Busy' } | Should -BeTrue
            $run.AsyncWaitHandle.WaitOne(300) | Should -BeFalse
            $shell.Stop()
            $shell.InvocationStateInfo.State | Should -Be 'Stopped'
        } finally {
            $shell.Dispose()
        }

        $stream.State | Should -Be 'Open'
        Send-RpcStream $stream @{ text = 'a' }
        (Receive-RpcStream $stream -Count 1 -Timeout 20).text | Should -Be 'a!'
        Close-RpcStream $stream
    }

    It 'keeps the reply that the pipeline did not take' {
        $stream = Open-RpcStream Split @{ text = 'a b c' } -Connection $rpc

        (Receive-RpcStream $stream | Select-Object -First 1).text | Should -Be 'a'

        (Receive-RpcStream $stream -Timeout 20).text | Should -Be 'b', 'c'
    }
}

Describe 'Mocks of streams' {
    BeforeAll {
        function Get-Answer([string] $Text) {
            $stream = Open-RpcStream Chat -Endpoint grpc://shop.example
            Send-RpcStream $stream @{ text = $Text }
            Complete-RpcStream $stream
            (Receive-RpcStream $stream -Timeout 5).text
            Close-RpcStream $stream
        }
    }

    It 'stand for each cmdlet' {
        Mock Open-RpcStream { New-MockObject -Type ProtoRpc.RpcStream }
        Mock Send-RpcStream { }
        Mock Receive-RpcStream { [pscustomobject]@{ text = 'mocked' } }
        Mock Complete-RpcStream { }
        Mock Close-RpcStream { }

        Get-Answer 'hi' | Should -Be 'mocked'

        Should -Invoke Send-RpcStream -Times 1 -Exactly -ParameterFilter { $Message.text -eq 'hi' }
        Should -Invoke Close-RpcStream -Times 1 -Exactly
    }

    It 'leave objects that fail clearly and are collected' {
        $stream = New-MockObject -Type ProtoRpc.RpcStream
        "$($stream.State)$($stream.Method)$($stream.Sent)" | Should -Be '0'
        { Receive-RpcStream $stream -ErrorAction Stop } | Should -Throw -ErrorId 'StreamClosed,*'
        $stream | Close-RpcStream
        $stream = $null
        [GC]::Collect()
        [GC]::WaitForPendingFinalizers()
    }
}

Describe 'Completion of streams' {
    BeforeAll {
        $listener = Start-Talk
        $rpc = Connect-Talk $listener
        $Global:openStream = Open-RpcStream Chat -Connection $rpc
    }

    AfterAll {
        Remove-Variable openStream -Scope Global
        Clear-Test
    }

    It 'offers methods and messages' {
        (Complete 'Open-RpcStream Cha').CompletionText | Should -Contain 'Chat'
        (Complete 'Send-RpcStream $openStream -Message ').CompletionText | Should -BeLike '*text*number*'
    }
}
