. (Join-Path $PSScriptRoot common.ps1)

Describe 'The call context' {
    BeforeAll {
        $proto = Join-Path $TestProtos context.proto

        function Start-Context([scriptblock] $Handler, [hashtable] $With = @{}) {
            Start-RpcListener "ncalrpc:[$(New-TestName)]" $Handler -Schema $proto @With
        }

        function Connect-Context($Listener, [hashtable] $CallContext = @{}) {
            Connect-RpcEndpoint $Listener.Endpoint[0] -Schema $Listener.Schema -ConnectionOption @{ CallContext = $CallContext }
        }
    }

    AfterEach { Clear-Test }

    It 'travels with every call' {
        $rpc = Connect-Context (Start-Context { @{ text = $RpcContext.CallContext.'[demo.context.tenant]' } }) @{
            '[demo.context.tenant]' = 'acme'
        }

        (Invoke-RpcMethod Do -Connection $rpc).text | Should -Be 'acme'
        (Invoke-RpcMethod Do -Connection $rpc).text | Should -Be 'acme'
    }

    It 'comes back changed and is sent changed with the next call' {
        $rpc = Connect-Context (Start-Context { $RpcContext.CallContext.'[demo.context.visits]' += 1 })

        $null = Invoke-RpcMethod Do -Connection $rpc
        $rpc.CallContext.'[demo.context.visits]' | Should -Be 1
        $null = Invoke-RpcMethod Do -Connection $rpc
        $rpc.CallContext.'[demo.context.visits]' | Should -Be 2
    }

    It 'can be replaced by the handler and by the caller' {
        $rpc = Connect-Context (Start-Context {
            $RpcContext.CallContext = @{ '[demo.context.tenant]' = $Request.text }
        })

        $null = Invoke-RpcMethod Do @{ text = 'beta' } -Connection $rpc
        $rpc.CallContext.'[demo.context.tenant]' | Should -Be 'beta'
        $rpc.CallContext = @{ '[demo.context.visits]' = 7 }
        $rpc.CallContext.'[demo.context.visits]' | Should -Be 7
        $rpc.CallContext.'[demo.context.tenant]' | Should -BeNullOrEmpty
    }

    It 'is not changed by a handler that fails' {
        $rpc = Connect-Context (Start-Context { $RpcContext.CallContext.'[demo.context.visits]' = 9; throw 'no' })

        $null = Invoke-RpcMethod Do -Connection $rpc -ErrorAction SilentlyContinue

        $rpc.CallContext.'[demo.context.visits]' | Should -BeNullOrEmpty
    }

    It 'cannot be changed where nobody would hear of it' {
        $rpc = Connect-Context (Start-Context { })

        { $rpc.CallContext.'[demo.context.visits]' = 1 } | Should -Throw '*read-only*'
    }

    It 'names what the schema does not declare, and the extensions that it does' {
        $listener = Start-Context { }

        { Connect-RpcEndpoint $listener.Endpoint[0] -Schema $proto -ConnectionOption @{ CallContext = @{ tenant = 'x' } } -ErrorAction Stop } |
            Should -Throw -ErrorId 'UnknownField,*' -ExpectedMessage '*''tenant''*`[demo.context.tenant`]*'
        Get-RpcConnection | Should -BeNullOrEmpty
    }

    It 'tells of a handler that leaves a wrong one' {
        $listener = Start-Context { $RpcContext.CallContext.visits = 1 }
        $rpc = Connect-Context $listener

        $null = Invoke-RpcMethod Do -Connection $rpc -ErrorAction SilentlyContinue -ErrorVariable errors

        $errors[0].Exception.Code | Should -Be 'Internal'
        $errors[0].Exception.Message | Should -BeLike '*invalid call context*visits*'
        $null = $listener | Receive-RpcListener -ErrorAction SilentlyContinue -ErrorVariable shown
        $shown[0].Exception.ErrorId | Should -Be 'WrongCallContext'
    }

    It 'of a kept connection goes on at a prompt' {
        $counter = Start-Context { $RpcContext.Session['n'] += 1; @{ text = $RpcContext.Session['n'] } }

        1..2 | ForEach-Object { (Invoke-RpcMethod Do -Endpoint $counter.Endpoint[0] -Schema $proto).text } |
            Should -Be '1', '2'
    }

    It 'of a kept connection ends with each call of a handler, which the next caller must not continue' {
        $counter = Start-Context {
            $RpcContext.CallContext.'[demo.context.visits]' += 1
            $RpcContext.Session['n'] += 1
            @{ text = "$($RpcContext.Session['n']) $($RpcContext.CallContext.'[demo.context.visits]')" }
        }
        $back = $counter.Endpoint[0]
        $front = Start-Context -With @{ ListenerOption = @{ WorkerCount = 1 } } {
            $null = Invoke-RpcMethod Do -Endpoint $using:back -Schema $using:proto
            Invoke-RpcMethod Do -Endpoint $using:back -Schema $using:proto
        }

        1..2 | ForEach-Object { (Invoke-RpcMethod Do -Connection (Connect-Context $front)).text } |
            Should -Be '2 2', '2 2'
    }

    It 'of a kept connection ends with each check of a caller' {
        $counter = Start-Context { $RpcContext.Session['n'] += 1; @{ text = $RpcContext.Session['n'] } }
        $back = $counter.Endpoint[0]
        $front = Start-RpcListener http://127.0.0.1:0 { @{ text = $RpcContext.User.Name } } -Schema $proto -BearerCheck {
            "caller $((Invoke-RpcMethod Do -Endpoint $using:back -Schema $using:proto).text)"
        }
        $rpc = Connect-RpcEndpoint $front.Endpoint[0] -Schema $proto -Token (ConvertTo-SecureString t -AsPlainText)

        1..2 | ForEach-Object { (Invoke-RpcMethod Do -Connection $rpc).text } |
            Should -Be 'caller 1', 'caller 1'
    }
}
