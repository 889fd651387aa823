. (Join-Path $PSScriptRoot common.ps1)

Describe 'What is shown of a failed call' {
    BeforeAll {
        $listener = Start-TestListener {
            param($Request)
            if ($Request.name -eq 'escape') {
                throw "red $([char]27)[31m text"
            }
            throw [ProtoRpc.RpcException]::new('NotFound', 'not today')
        } -Endpoint 'ncacn_ip_tcp:127.0.0.1[0]', 'http://127.0.0.1:0/', 'grpc://127.0.0.1:0', "ncalrpc:[$(New-TestName)]"
    }

    AfterAll { Clear-Test }

    Context '<Name>' -ForEach @(
        @{ Name = 'TCP'; Index = 0 }
        @{ Name = 'HTTP'; Index = 1 }
        @{ Name = 'gRPC'; Index = 2 }
        @{ Name = 'local'; Index = 3 }
    ) {
        BeforeAll {
            $rpc = Connect-Test $listener $Index
            $shown = "NotFound: not today (SayHello at $($rpc.Endpoint))"
        }

        It 'has status, text, method and endpoint in <View>' -ForEach @{ View = 'ConciseView' }, @{ View = 'NormalView' } {
            Invoke-RpcMethod SayHello -Connection $rpc -ErrorAction SilentlyContinue -ErrorVariable failed

            $ErrorView = $View
            $text = $failed[0] | Out-String -Width 500

            $text -replace '\s+', ' ' | Should -BeLike "*$($shown -replace '([[\]])', '`$1')*"
        }

        It 'has it where the error is caught, and the exception has the text that was thrown' {
            try {
                Invoke-RpcMethod SayHello -Connection $rpc -ErrorAction Stop
            }
            catch {
                $caught = $_
            }

            "$caught" | Should -Be $shown
            $caught.Exception.Message | Should -Be 'not today'
            $caught.FullyQualifiedErrorId | Should -BeLike 'RpcStatus.NotFound,*'
        }

        It 'never controls the terminal' {
            Invoke-RpcMethod SayHello @{ name = 'escape' } -Connection $rpc -ErrorAction SilentlyContinue -ErrorVariable failed

            "$($failed[0])" | Should -Not -Match ([char]27)
            "$($failed[0])" | Should -BeLike 'Unknown: red *31m text (SayHello at *'
        }
    }

    It 'names the endpoint once where the text does already' {
        $gone = "ncalrpc:[$(New-TestName)]"
        Test-RpcEndpoint $gone -ErrorAction SilentlyContinue -ErrorVariable failed

        $text = "$($failed[0])"
        $text | Should -BeLike 'Unavailable: *'
        [regex]::Matches($text, [regex]::Escape($gone)).Count | Should -Be 1
    }

    It 'leaves errors before a call as they are' {
        $rpc = Connect-Test $listener
        Invoke-RpcMethod SayHelo -Connection $rpc -ErrorAction SilentlyContinue -ErrorVariable failed

        "$($failed[0])" | Should -Be $failed[0].Exception.Message
    }
}
