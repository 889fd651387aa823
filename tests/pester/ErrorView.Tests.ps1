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

Describe 'The details of a failed call' {
    BeforeAll {
        $listener = Start-TestListener -Endpoint 'grpc://127.0.0.1:0', 'http://127.0.0.1:0/' {
            param($Request)
            $failure = [ProtoRpc.RpcException]::new('InvalidArgument', 'not like this')
            $failure.Details = @(switch ($Request.name) {
                'many' { 1..12 | ForEach-Object { @{ '@type' = 'google.rpc.ErrorInfo'; reason = "r$_" } } }
                'long' { @{ '@type' = 'google.rpc.ErrorInfo'; reason = 'x' * 20000 } }
                'hostile' {
                    @{ '@type' = 'google.rpc.ErrorInfo'; reason = "a`e[31mb`nc"; metadata = @{ 'k' = "v`e[31m" } }
                }
                default {
                    @{ '@type' = 'google.rpc.ErrorInfo'; reason = 'QUOTA'; metadata = @{ left = '0' } }
                    @{ '@type' = 'demo.HelloRequest'; name = 'Ann'; tags = 'a', 'b' }
                }
            })
            throw $failure
        }
        $rpc = Connect-Test $listener 1
        function Get-Failure($Name) {
            Invoke-RpcMethod SayHello @{ name = $Name } -Connection $rpc -ErrorAction SilentlyContinue -ErrorVariable failed
            $failed[0]
        }
    }

    AfterAll { Clear-Test }

    It 'are lines under its text, each with its type' {
        "$(Get-Failure 'two')" -split '\n' | Should -Be @(
            "InvalidArgument: not like this (SayHello at $($rpc.Endpoint))"
            '  google.rpc.ErrorInfo { reason: "QUOTA", metadata: {"left": "0"} }'
            '  demo.HelloRequest { name: "Ann", tags: ["a", "b"] }'
        )
        (Get-Failure 'two').Exception.Message | Should -Be 'not like this'
    }

    It 'are shown by <Of>' -ForEach @(
        @{ Of = 'the view of the error'; Show = { $_ } }
        @{ Of = 'Format-List -Force'; Show = { $_ | Format-List -Force } }
        @{ Of = 'the view of the exception'; Show = { $_.Exception } }
        @{ Of = 'Exception.Details'; Show = { $_.Exception.Details } }
    ) {
        $text = Get-Failure 'two' | ForEach-Object $Show | Out-String -Width 80

        $text -replace '\s' | Should -Match 'google\.rpc\.ErrorInfo.*QUOTA.*demo\.HelloRequest.*Ann'
    }

    It 'are in a terminal of 80 columns in a script, too' {
        # What a script shows is one paragraph, which the shell breaks itself.
        $script = @"
            Import-Module '$ModuleManifest'
            Invoke-RpcMethod SayHello -Endpoint '$($rpc.Endpoint)' -Schema '$TestProtos/greeter.proto'
"@
        $shown = (Invoke-Pwsh $script).Error

        $shown | Should -Match 'google\.rpc\.ErrorInfo'
        $shown -replace '[\s|]' | Should -Match 'demo\.HelloRequest\{name:"Ann"'
    }

    It 'have their type as a handler writes it, so that it can pass them on' {
        $other = Start-TestListener -Endpoint "ncalrpc:[$(New-TestName)]" -With @{} -Handler {
            try { Invoke-RpcMethod SayHello @{ name = 'two' } -Connection $using:rpc -ErrorAction Stop }
            catch {
                $failure = [ProtoRpc.RpcException]::new($_.Exception.Code, 'from afar')
                $failure.Details = $_.Exception.Details
                throw $failure
            }
        }
        $own = Connect-Test $other
        Invoke-RpcMethod SayHello -Connection $own -ErrorAction SilentlyContinue -ErrorVariable failed

        $failed[0].Exception.Details.'@type' | Should -Be 'google.rpc.ErrorInfo', 'demo.HelloRequest'
        $failed[0].Exception.Details[0].metadata['left'] | Should -Be '0'
    }

    It 'are limited in number and length' {
        $lines = "$(Get-Failure 'many')" -split '\n'
        $lines.Count | Should -Be 12
        $lines[-1] | Should -Be '  and 2 more details'
        ("$(Get-Failure 'long')" -split '\n')[1].Length | Should -BeLessOrEqual 1002
    }

    It 'never control the terminal' {
        $record = Get-Failure 'hostile'

        $detail = $record.Exception.Details[0]
        foreach ($text in "$record", [ProtoRpc.RpcView]::Details($record.Exception), $detail.reason, $detail.metadata['k']) {
            $text | Should -Not -Match ([char] 27)
            $text | Should -Match '31m'
        }
    }
}
