. (Join-Path $PSScriptRoot common.ps1)

Describe 'Retries' {
    BeforeAll {
        $proto = Join-Path $TestProtos greeter.proto
        # A handler of the workers, which says when to call again until the text's number of attempts came before.
        $handler = @{
            SayHello = {
                param($Request)
                $before = [int]"$($RpcContext.RequestHeaders['grpc-previous-rpc-attempts'])"
                $count, $pushback = "$($Request.name)" -split ' '
                if ($before -lt [int]$count) {
                    $RpcContext.ReplyTrailers['grpc-retry-pushback-ms'] = $pushback
                    throw [ProtoRpc.RpcException]::new('Unavailable', 'not now')
                }
                @{ text = "$before" }
            }
        }
        $listener = Start-TestListener $handler -Endpoint 'grpc://127.0.0.1:0'
        $where = "$($listener.Endpoint[0])"
        $to = @{ Schema = $proto; Service = 'demo.Greeter' }
        # Nobody listens there any more.
        $gone = Start-TestListener { } -Endpoint 'grpc://127.0.0.1:0'
        Stop-RpcListener $gone
        $dead = "$($gone.Endpoint[0])"
    }

    AfterAll { Clear-Test }

    It 'are a number, its text, a hashtable or a policy' -ForEach @(
        @{ Retry = 2; Text = '2' }
        @{ Retry = '2'; Text = '2' }
        @{ Retry = 2L; Text = '2' }
        @{ Retry = @{ Count = 2; StatusCodes = 'Unavailable', 'aborted' }; Text = 'Count = 2; StatusCodes = Unavailable, Aborted' }
        @{ Retry = @{ StatusCodes = 'UNAVAILABLE, RESOURCE_EXHAUSTED' }; Text = 'Count = 3; StatusCodes = Unavailable, ResourceExhausted' }
        @{ Retry = @{ idempotent = $true; MaxPause = 2; InitialPause = '50ms' }
            Text = 'Count = 3; Idempotent = True; InitialPause = 00:00:00.0500000; MaxPause = 00:00:02' }
        @{ Retry = [ProtoRpc.RpcRetryPolicy]@{ Count = 2; Jitter = 0.5 }; Text = 'Count = 2; Jitter = 0.5' }
    ) {
        "$((New-RpcConnectionOption -Retry $Retry).Retry)" | Should -Be $Text
        "$((New-RpcConnectionOption -RetryCount $Retry).Retry)" | Should -Be $Text
    }

    It 'reject <Retry>' -ForEach @(
        @{ Retry = -1; Why = '*Count of -Retry is -1*' }
        @{ Retry = 'often'; Why = "*'often' of -Retry is not a number of retries*" }
        @{ Retry = $true; Why = '*is not a number of retries*' }
        @{ Retry = @{ Cont = 2 }; Why = "*'Cont' is not a setting of -Retry*'Count'*" }
        @{ Retry = @{ StatusCodes = 'Unavailable', 'Nope' }; Why = "*'Nope' is not the status*" }
        @{ Retry = @{ StatusCodes = 'OK' }; Why = "*'OK' is not the status*" }
        @{ Retry = @{ StatusCodes = 14 }; Why = "*'14' is not the status*" }
        @{ Retry = @{ InitialPause = 'soon' }; Why = "*InitialPause of -Retry*'soon'*" }
        @{ Retry = @{ Jitter = 2 }; Why = '*Jitter of -Retry is 2; it must be from 0 to 1*' }
    ) {
        { Connect-RpcEndpoint $dead @to -Lazy -Retry $Retry } | Should -Throw -ExpectedMessage $Why
    }

    It 'cannot be set twice in one hashtable' {
        { Connect-RpcEndpoint $dead @to -Lazy -ConnectionOption @{ Retry = 1; RetryCount = 2 } } |
            Should -Throw -ExpectedMessage "*'Retry' is set twice*"
    }

    It 'obey the pushback of a listener: <Name>' -ForEach @(
        @{ Name = 'of a connection'; Own = @{}; Of = @{ Retry = @{ StatusCodes = 'Unavailable'; InitialPause = 600; MaxPause = 600 } } }
        @{ Name = 'of a call'; Own = @{ Retry = @{ StatusCodes = 'Unavailable'; InitialPause = 600; MaxPause = 600 } }; Of = @{} }
        @{ Name = 'of an option'; Own = @{}; Of = @{ ConnectionOption = @{ Retry = @{ Idempotent = $true } } } }
    ) {
        $rpc = Connect-RpcEndpoint $where @to @Of

        (Invoke-RpcMethod SayHello @{ name = '2 1' } -Connection $rpc @Own -Deadline 60 -ReplyInfoVariable info).text |
            Should -Be '2'
        $info.Retries | Should -Be 2
    }

    It 'end with a pushback that forbids them, and the error and -Verbose say so' {
        $lines = @(Invoke-RpcMethod SayHello @{ name = '1 -1' } -Endpoint $where @to -Retry @{ StatusCodes = 'Unavailable' } `
                -Verbose -ErrorAction SilentlyContinue -ErrorVariable problem 4>&1)

        $problem[0].Exception.Attempts | Should -Be 1
        $problem[0].Exception.MayHaveExecuted | Should -BeTrue
        "$lines" | Should -Match 'attempt 1 failed with status Unavailable and is the last, because the server asks for no retry'
    }

    It 'do not repeat a call that may have run, unless the policy says so' {
        { Invoke-RpcMethod SayHello @{ name = '1 1' } -Endpoint $where @to -Retry 3 -ErrorAction Stop } |
            Should -Throw -ErrorId 'RpcStatus.Unavailable,*'
    }

    It 'are shown with -Verbose, and counted in the error' {
        $lines = @(Invoke-RpcMethod SayHello @{ name = '9 1' } -Endpoint $where @to -Retry @{ Count = 2; Idempotent = $true } `
                -Verbose -ErrorAction SilentlyContinue -ErrorVariable problem 4>&1) -match 'attempt'

        $lines | Should -HaveCount 2
        "$($problem[0])" | Should -BeLike '*3 attempts)'
        $problem[0].Exception.Attempts | Should -Be 3
    }

    It 'share a budget in a connection' {
        $rpc = Connect-RpcEndpoint $dead @to -Lazy -Retry @{ InitialPause = 0; MaxTokens = 10 }
        $attempts = 1..3 | ForEach-Object {
            Invoke-RpcMethod SayHello -Connection $rpc -ErrorAction SilentlyContinue -ErrorVariable problem
            $problem[0].Exception.Attempts
        }

        $attempts | Should -Be 4, 1, 1
    }

    It 'are turned off by a call with 0' {
        $rpc = Connect-RpcEndpoint $dead @to -Lazy -Retry 5

        Invoke-RpcMethod SayHello -Connection $rpc -Retry 0 -ErrorAction SilentlyContinue -ErrorVariable problem
        $problem[0].Exception.Attempts | Should -Be 1
    }

    It 'are completed' {
        Enable-RpcCompletion
        try {
            $offered = 'Connect-RpcEndpoint grpc://h:1 -Retry @{ Stat',
                'Connect-RpcEndpoint grpc://h:1 -Retry @{ StatusCodes = ',
                'Connect-RpcEndpoint grpc://h:1 -ConnectionOption @{ Retry = @{ Max' |
                ForEach-Object { , (TabExpansion2 $_ $_.Length).CompletionMatches }
        }
        finally { Disable-RpcCompletion }

        $offered[0].CompletionText | Should -Be StatusCodes
        $offered[1].ListItemText | Should -Contain Unavailable
        $offered[1].ListItemText | Should -Not -Contain OK
        $offered[2].CompletionText | Should -Be MaxPause, MaxServerPause, MaxTokens
        (Complete 'Connect-RpcEndpoint grpc://h:1 -Retry ').CompletionText | Should -Contain '3'
    }
}
