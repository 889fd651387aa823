. (Join-Path $PSScriptRoot common.ps1)

Describe 'What stands around calls' {
    AfterEach { Clear-Test }

    Context '-Authorization' {
        BeforeAll {
            $me = $OwnName

            function Get-Outcome($Listener, [string] $Method) {
                $null = Invoke-RpcMethod $Method -Connection (Connect-Test $Listener) `
                    -ErrorAction SilentlyContinue -ErrorVariable errors
                "$($errors[0].Exception.Code)"
            }
        }

        It 'lets users call what the rules say' {
            $listener = Start-TestListener { } `
                -With @{ Authorization = @{ '*/SayHello' = $me; '*/Fail' = 'somebody', 'else' } }

            Get-Outcome $listener SayHello | Should -Be ''
            Get-Outcome $listener Fail | Should -Be 'PermissionDenied'
        }

        It 'refuses what no rule names' {
            $listener = Start-TestListener { } -With @{ Authorization = @{ 'demo.Greeter/Fail' = '*' } }

            Get-Outcome $listener SayHello | Should -Be 'PermissionDenied'
        }

        It 'knows groups' -Skip:$IsWindows {
            $listener = Start-TestListener { } -With @{
                Authorization = @{ '*/SayHello' = "@$(id -gn)"; '*/Fail' = '@no-such-group' }
            }

            Get-Outcome $listener SayHello | Should -Be ''
            Get-Outcome $listener Fail | Should -Be 'PermissionDenied'
        }

        It 'tells callers of whom nobody knows who they are to say so' {
            $listener = Start-TestListener { } -Endpoint 'tcp://127.0.0.1:0' -With @{
                Authorization = @{ '*' = '*'; '*/Fail' = 'anonymous' }
            }

            Get-Outcome $listener SayHello | Should -Be 'Unauthenticated'
            Get-Outcome $listener Fail | Should -Be ''
        }

        It 'cannot be gone around with a built-in method' {
            $listener = Start-TestListener { } -With @{ Authorization = @{ 'demo.*' = '*' } }

            { Test-RpcEndpoint -Connection (Connect-Test $listener) -ErrorAction Stop } |
                Should -Throw -ErrorId 'RpcStatus.PermissionDenied,*'
        }

        It 'refuses a rule that is none' {
            { Start-TestListener { } -With @{ Authorization = @{ '*' = 5 } } } |
                Should -Throw -ErrorId 'InvalidAuthorizationRule,*'
        }
    }

    Context '-Filter' {
        It 'sees the request and the reply, and may change both' {
            $rpc = Connect-Test (Start-TestListener { @{ text = "hi $($Request.name)" } } -With @{
                Filter = { $Request.name += '!'; $reply = $Next.Invoke($Request); $reply.text += '?'; $reply }
            })

            (Invoke-RpcMethod SayHello @{ name = 'Ann' } -Connection $rpc).text | Should -Be 'hi Ann!?'
        }

        It 'passes on what came when it gives nothing to $Next' {
            $rpc = Connect-Test (Start-TestListener { @{ text = "hi $($Request.name)" } } `
                -With @{ Filter = { $Next.Invoke() } })

            (Invoke-RpcMethod SayHello @{ name = 'Ann' } -Connection $rpc).text | Should -Be 'hi Ann'
        }

        It 'stands in the order that was given, one within the other' {
            $rpc = Connect-Test (Start-TestListener { @{ text = 'x' } } -With @{
                Filter = @(
                    { $r = $Next.Invoke(); $r.text = "<$($r.text)>"; $r }
                    { $r = $Next.Invoke(); $r.text = "($($r.text))"; $r }
                )
                ListenerOption = @{ WorkerCount = 1 }
            })

            (Invoke-RpcMethod SayHello -Connection $rpc).text | Should -Be '<(x)>'
        }

        It 'refuses a call by throwing, and the handler does not run' {
            $listener = Start-TestListener { Write-Warning 'ran' } -With @{
                Filter = {
                    if ($RpcMethod.Name -eq 'Fail') {
                        throw [ProtoRpc.RpcException]::new('PermissionDenied', 'not you')
                    }
                    $Next.Invoke()
                }
            }
            $rpc = Connect-Test $listener

            { Invoke-RpcMethod Fail -Connection $rpc -ErrorAction Stop } |
                Should -Throw -ErrorId 'RpcStatus.PermissionDenied,*' -ExpectedMessage 'not you'
            $listener | Receive-RpcListener -InformationAction SilentlyContinue -InformationVariable refused 3>&1 |
                Should -BeNullOrEmpty
            $refused.MessageData.Message | Should -Be 'not you'
            $null = Invoke-RpcMethod SayHello -Connection $rpc
            $listener.Records | Should -Be 1
        }

        It 'sees the failure of the handler, and passes it on as it was' {
            $listener = Start-TestListener { throw [InvalidOperationException]::new('no ink') } -With @{
                Filter = { try { $Next.Invoke() } catch { Write-Warning "failed: $($RpcContext.User.Name)"; throw } }
            }
            $rpc = Connect-Test $listener

            $null = Invoke-RpcMethod SayHello -Connection $rpc -ErrorAction SilentlyContinue -ErrorVariable errors

            $errors[0].Exception.Remote.TypeName | Should -Be 'System.InvalidOperationException'
            $errors[0].Exception.Remote.Message | Should -Be 'no ink'
            "$($listener | Receive-RpcListener -ErrorAction SilentlyContinue 3>&1)" |
                Should -Be "failed: $OwnName"
        }

        It 'answers instead of the handler when it does not pass on' {
            $rpc = Connect-Test (Start-TestListener { throw 'not reached' } `
                -With @{ Filter = { @{ text = 'from memory' } } })

            (Invoke-RpcMethod SayHello -Connection $rpc).text | Should -Be 'from memory'
        }

        It 'sees the built-in methods too' {
            $listener = Start-TestListener { } -With @{ Filter = { Write-Warning $RpcMethod.FullName; $Next.Invoke() } }

            $null = Test-RpcEndpoint -Connection (Connect-Test $listener)

            $listener.LastRecord | Should -BeLike '*BuiltIn/ping'
        }

        It 'shares the call context with the handler' {
            $listener = Start-RpcListener "ncalrpc:[$(New-TestName)]" `
                -Schema (Join-Path $TestProtos context.proto) -Filter {
                $RpcContext.CallContext.'[demo.context.visits]' = 1
                $Next.Invoke()
                $RpcContext.CallContext.'[demo.context.visits]' *= 10
            } -Handler { $RpcContext.CallContext.'[demo.context.visits]' += 1 }
            $rpc = $listener | Connect-RpcEndpoint

            $null = Invoke-RpcMethod Do -Connection $rpc

            $rpc.CallContext.'[demo.context.visits]' | Should -Be 20
        }
    }
}
