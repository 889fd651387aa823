. (Join-Path $PSScriptRoot common.ps1)

Describe 'What remote callers are told' {
    BeforeAll {
        $endpoints = 'ncacn_ip_tcp:127.0.0.1[0]', 'http://127.0.0.1:0/', 'grpc://127.0.0.1:0', "ncalrpc:[$(New-TestName)]"
        $folder = New-Item -ItemType Directory (Join-Path ([IO.Path]::GetTempPath()) (New-TestName))
        $module = Join-Path $folder Secrets.psm1
        Set-Content $module 'function Get-Secret { throw "secret: pw=1" }'
        $script = Join-Path $folder secret.ps1
        Set-Content $script 'throw "secret: pw=1"'
        function Test-Order { throw 'secret: pw=1' }

        # What the caller of a handler gets on an endpoint: the exception, and all that it says.
        function Get-Told([scriptblock] $Handler, [int] $Index, [hashtable] $With = @{}) {
            # Beside a local endpoint, whose callers are told more.
            $served = @($endpoints[$Index]) + $endpoints[3] | Select-Object -Unique
            $listener = Start-TestListener $Handler -Endpoint $served -With (@{ ListenerOption = @{ Module = $module } } + $With)
            try {
                $rpc = Connect-Test $listener
                $null = Invoke-RpcMethod SayHello @{ name = $script } -Connection $rpc -ErrorAction SilentlyContinue -ErrorVariable failed
                $exception = $failed[0].Exception
                [pscustomobject]@{
                    Exception = $exception
                    Text = ($exception.Message, "$($exception.InnerException)", "$($exception.Remote)",
                        $exception.Details, $exception.Trailers | Out-String -Width 1000)
                    Record = Receive-RpcListener $listener 2>&1 3>$null 6>$null | ForEach-Object { "$_" } | Out-String -Width 1000
                }
            }
            finally {
                Stop-RpcListener $listener
            }
        }
    }

    AfterAll {
        Clear-Test
        Remove-Item -Recurse $folder
    }

    Context '<Name>' -ForEach @(
        @{ Name = 'TCP'; Index = 0 }
        @{ Name = 'HTTP'; Index = 1 }
        @{ Name = 'gRPC'; Index = 2 }
    ) {
        It 'sends the text that the handler throws: <Handler>' -ForEach @(
            @{ Handler = { throw 'Come back tomorrow.' } }
            @{ Handler = { param($Request) if ($Request) { & { throw 'Come back tomorrow.' } } } }
            @{ Handler = { 1 | ForEach-Object { throw "Come back $('tomorrow').' " } } }
            @{ Handler = { function Deny { 1 }; try { Test-Order } catch { throw 'Come back tomorrow.' } } }
            @{ Handler = { throw [ProtoRpc.RpcException]::new('Unknown', 'Come back tomorrow.', [IO.IOException]::new('secret')) } }
        ) {
            $told = Get-Told $Handler $Index

            $told.Exception.Code | Should -Be Unknown
            $told.Exception.Message | Should -BeLike 'Come back tomorrow.*'
            $told.Exception.CorrelationId | Should -BeNullOrEmpty
            $told.Text | Should -Not -Match 'secret'
            $told.Text | Should -Not -Match 'ErrorDetail.Tests.ps1|ScriptBlock|RuntimeException'
        }

        It 'sends an id in place of <Handler>' -ForEach @(
            @{ Handler = { throw [InvalidOperationException]::new('secret: pw=1') } }
            @{ Handler = { Test-Order } }
            @{ Handler = { Get-Secret } }
            @{ Handler = { param($Request) & $Request.name } }
            @{ Handler = { try { Test-Order } catch { throw } } }
            @{ Handler = { try { Test-Order } catch { throw $_ } } }
            @{ Handler = { try { Test-Order } catch { throw $_.Exception } } }
            @{ Handler = { Get-Item /no/such/secret -ErrorAction Stop } }
            @{ Handler = { Write-Error 'secret' -ErrorAction Stop } }
            @{ Handler = { Get-SecretThatIsNotThere } }
            @{ Handler = { [int]::Parse('secret') } }
            @{ Handler = { Test-RpcEndpoint 'ncalrpc:[secret]' -ErrorAction Stop } }
            @{ Handler = { try { Test-RpcEndpoint 'ncalrpc:[secret]' -ErrorAction Stop } catch { throw $_.Exception } } }
            @{ Handler = { @{ secret = 1 } } }
            @{ Handler = { @{ text = [pscustomobject]@{ secret = 1 } } } }
        ) {
            $told = Get-Told $Handler $Index

            $told.Text | Should -Not -Match 'secret'
            $told.Text | Should -Not -Match 'ErrorDetail.Tests.ps1|ScriptBlock|InvalidOperation|FormatException'
            $told.Exception.CorrelationId | Should -Match '^[0-9a-f]{16}$'
            $told.Exception.Message | Should -BeLike "*$($told.Exception.CorrelationId)*"
            $told.Record | Should -BeLike "*demo.Greeter/SayHello*secret*$($told.Exception.CorrelationId)*"
        }

        It 'keeps what a filter throws for the caller' {
            $told = Get-Told { @{} } $Index @{ Filter = { throw 'Not on Sundays.' } }

            $told.Exception.Message | Should -Be 'Not on Sundays.'
        }

        It 'sends what a handler behind a filter throws' {
            $told = Get-Told { throw 'Come back tomorrow.' } $Index @{ Filter = { $Next.Invoke() } }

            $told.Exception.Message | Should -Be 'Come back tomorrow.'
        }
    }

    It 'tells everything to callers that the system knows' {
        $told = Get-Told { Test-Order } 3

        $told.Text | Should -Match 'secret: pw=1'
        $told.Exception.Remote.Data.ScriptStackTrace | Should -Match 'Test-Order'
    }
}
