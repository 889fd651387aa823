. (Join-Path $PSScriptRoot common.ps1)

Describe 'Handlers that are no script blocks' {
    AfterEach {
        Get-RpcConnection | Disconnect-RpcEndpoint
        Get-RpcListener | Stop-RpcListener -DrainTimeout 0
    }

    Context 'replies' {
        It 'answers with <Name>, without a worker' -TestCases @(
            @{ Name = 'a hashtable'; Reply = @{ text = 'hi'; number = 7 } }
            @{ Name = 'an ordered dictionary'; Reply = [ordered]@{ text = 'hi'; number = 7 } }
            @{ Name = 'a custom object'; Reply = [pscustomobject]@{ text = 'hi'; number = 7 } }
        ) {
            $listener = Start-TestListener @{ SayHello = $Reply }
            $rpc = Connect-Test $listener

            $answers = 1..3 | ForEach-Object { $rpc | Invoke-RpcMethod SayHello @{ name = 'Ann' } }

            $answers.text | Should -Be 'hi', 'hi', 'hi'
            $answers[0].number | Should -Be 7
            $listener.Calls | Should -Be 3
            $listener.Workers | Should -Be 0
        }

        It 'answers with a message' {
            $message = Connect-Test (Start-TestListener @{ SayHello = @{ text = 'made' } }) |
                Invoke-RpcMethod SayHello @{} -Raw

            $message.GetType().Name | Should -Be 'DynamicMessage'
            (Connect-Test (Start-TestListener @{ SayHello = $message }) | Invoke-RpcMethod SayHello @{}).text |
                Should -Be 'made'
        }

        It 'sends an array as the replies of a stream' {
            $listener = Start-TestListener -Endpoint 'inproc://canned' @{
                Watch = @{ text = 'one' }, [pscustomobject]@{ text = 'two' }, @{}
            }

            (Connect-Test $listener | Invoke-RpcMethod Watch @{}).text | Should -Be 'one', 'two', ''
        }

        It 'sends nothing of an empty array' {
            $listener = Start-TestListener -Endpoint 'inproc://canned' @{ Watch = @() }

            Connect-Test $listener | Invoke-RpcMethod Watch @{} | Should -BeNullOrEmpty
        }

        It 'stands beside script blocks and behind filters' {
            $listener = Start-TestListener @{
                SayHello = @{ text = 'canned' }
                Fail = { @{ text = "live $($Request.name)" } }
            } -With @{ Filter = { $reply = $Next.Invoke(); $reply.text += '!'; $reply } }
            $rpc = Connect-Test $listener

            ($rpc | Invoke-RpcMethod SayHello @{}).text | Should -Be 'canned!'
            ($rpc | Invoke-RpcMethod SayHello @{}).text | Should -Be 'canned!'
            ($rpc | Invoke-RpcMethod Fail @{ name = 'Ann' }).text | Should -Be 'live Ann!'
        }

        It 'is what it was when the listener started' {
            $reply = @{ text = 'before' }
            $listener = Start-TestListener @{ SayHello = $reply }
            $reply.text = 'after'

            (Connect-Test $listener | Invoke-RpcMethod SayHello @{}).text | Should -Be 'before'
        }
    }

    Context 'what cannot answer' {
        It 'names the method and the field of an unknown field when the listener starts' {
            { Start-TestListener @{ SayHello = @{ txt = 'x' } } } |
                Should -Throw -ErrorId 'UnknownField,*' -ExpectedMessage "*demo.Greeter/SayHello*'txt'*'text'*"
            Get-RpcListener | Should -BeNullOrEmpty
        }

        It 'names the reply of a stream' {
            { Start-TestListener @{ Watch = @{ text = 'x' }, @{ number = 'many' } } } |
                Should -Throw -ErrorId 'InvalidFieldValue,*' -ExpectedMessage '*Reply 2 of demo.Greeter/Watch*number*'
        }

        It 'refuses several replies of a method that sends one' {
            { Start-TestListener @{ SayHello = @{}, @{} } } |
                Should -Throw -ErrorId 'InvalidHandler,*' -ExpectedMessage '*2 replies*'
        }

        It 'refuses <Name>' -TestCases @(
            @{ Name = 'null'; Value = $null }
            @{ Name = 'a number'; Value = 5 }
            @{ Name = 'a switch'; Value = $true }
            @{ Name = 'text'; Value = 'x' }
        ) {
            { Start-TestListener @{ SayHello = $Value } } |
                Should -Throw -ErrorId 'InvalidHandler,*' -ExpectedMessage '*SayHello*script block*'
        }

        It 'refuses null among the replies of a stream' {
            { Start-TestListener @{ Watch = @{}, $null } } |
                Should -Throw -ErrorId 'InvalidHandler,*' -ExpectedMessage '*Reply 2*'
        }
    }

    # about_ProtoRpc_Handlers has this table.
    Context 'settings of the session' {
        BeforeAll {
            $look = {
                param($Request)
                $unset = try { "$nowhere" + 'lax' } catch { 'strict' }
                @{ text = "$unset $ErrorActionPreference $ProgressPreference $($PSDefaultParameterValues.Count)" }
            }
        }

        It 'are not those of workers' {
            Set-StrictMode -Version Latest
            $ErrorActionPreference = 'Stop'
            $PSDefaultParameterValues = @{ 'Get-Date:Format' = 'yyyy' }
            $listener = Start-TestListener @{ SayHello = $look }

            (Connect-Test $listener | Invoke-RpcMethod SayHello).text | Should -Be 'lax Continue SilentlyContinue 0'
        }

        It 'can be set by InitializationScript' {
            $listener = Start-TestListener @{ SayHello = $look } -With @{
                ListenerOption = @{
                    InitializationScript = { Set-StrictMode -Version Latest; $global:ErrorActionPreference = 'Stop' }
                }
            }

            (Connect-Test $listener | Invoke-RpcMethod SayHello).text | Should -Be 'strict Stop SilentlyContinue 0'
        }

        It 'record that the initialization of a further worker failed' {
            # Signal returns true for the second worker. The first waits for it, so that a call needs it.
            $starts = [Threading.CountdownEvent]::new(2)
            $listener = Start-TestListener { $null = ($using:starts).Wait(20000); @{ text = 'served' } } -With @{
                ListenerOption = @{
                    WorkerCount = 2
                    InitializationScript = { if (($using:starts).Signal()) { throw 'no second worker' } }
                }
            }
            $rpc = Connect-Test $listener
            $jobs = 1..2 | ForEach-Object { Invoke-RpcMethod SayHello -Connection $rpc -AsJob }

            Wait-Until { $listener.Records -gt 0 } | Should -BeTrue
            $null = $listener | Receive-RpcListener -ErrorAction SilentlyContinue -ErrorVariable shown
            $shown[0].FullyQualifiedErrorId | Should -BeLike 'HandlerWorkerFailed,*'
            "$($shown[0])" | Should -Be 'no second worker'
            ($jobs | Complete-Job).text | Should -Contain 'served'
        }
    }
}
