. (Join-Path $PSScriptRoot common.ps1)

Describe 'Handlers that GetNewClosure() made' {
    BeforeAll {
        function New-Handler($Name, $Extra) {
            { param($Request) @{ text = "$Name $($Extra.word) $($Request.name)" } }.GetNewClosure()
        }
    }

    AfterEach { Clear-Test }

    It 'have their variables, each its own' {
        $listener = Start-TestListener @{
            SayHello = New-Handler one @{ word = 'and' }
            Fail = New-Handler two @{ word = 'or' }
        } -With @{ ListenerOption = @{ WorkerCount = 1 } }
        $rpc = Connect-Test $listener

        (Invoke-RpcMethod SayHello @{ name = 'x' } -Connection $rpc).text | Should -Be 'one and x'
        (Invoke-RpcMethod Fail @{ name = 'x' } -Connection $rpc).text | Should -Be 'two or x'
    }

    It 'find what handlers have without being parameters, whatever had these names before' {
        $Request = $RpcContext = $RpcMethod = 'old'
        $prefix = 'kept'
        $listener = Start-TestListener { @{ text = "$prefix $($Request.name) $($RpcMethod.Name) $($RpcContext.IsLocal)" } }.GetNewClosure()

        (Connect-Test $listener | Invoke-RpcMethod SayHello @{ name = 'new' }).text |
            Should -Be 'kept new SayHello True'
    }

    It 'keep what they change, as closures do, for the life of a worker' {
        $count = 10
        $listener = Start-TestListener {
            $script:count++
            @{ number = $count }
        }.GetNewClosure() -With @{ ListenerOption = @{ WorkerCount = 1 } }
        $rpc = Connect-Test $listener

        $null = Invoke-RpcMethod SayHello -Connection $rpc
        (Invoke-RpcMethod SayHello -Connection $rpc).number | Should -Be 12
        $count | Should -Be 10
    }

    It 'may use blocks, closures in closures, functions of the caller and $using:' {
        function Get-Suffix { '!' }
        $word = 'deep'
        $inner = { "inner $word" }.GetNewClosure()
        $plain = { param($Text) $Text.ToUpperInvariant() }
        $other = 'other'
        $handler = { @{ text = "$(& $inner) $(& $plain 'x') $using:other$(Get-Suffix)" } }.GetNewClosure()
        $word = $other = 'changed'
        $listener = Start-TestListener $handler

        (Connect-Test $listener | Invoke-RpcMethod SayHello).text | Should -Be 'inner deep X other!'
    }

    It 'work as filters and for methods that stream' {
        $word = 'closed'
        $filter = { param($Request) $reply = $Next.Invoke(); $reply.text = "$word $($reply.text)"; $reply }.GetNewClosure()
        $listener = Start-TestListener @{
            SayHello = { @{ text = 'handled' } }
            Watch = { 1..2 | ForEach-Object { @{ text = "$word $_" } } }.GetNewClosure()
        } -Endpoint grpc://127.0.0.1:0 -With @{ Filter = $filter }
        $rpc = Connect-Test $listener

        (Invoke-RpcMethod SayHello -Connection $rpc).text | Should -Be 'closed handled'
    }

    It 'stream' {
        $word = 'closed'
        $listener = Start-TestListener @{
            Watch = { 1..2 | ForEach-Object { @{ text = "$word $_" } } }.GetNewClosure()
        } -Endpoint grpc://127.0.0.1:0

        (Connect-Test $listener | Invoke-RpcMethod Watch).text | Should -Be 'closed 1', 'closed 2'
    }

    It 'are refused where their variables cannot be brought: <Name>' -ForEach @(
        @{ Name = 'the initialization'; Id = 'ClosureNotSupported'; Says = '*InitializationScript*$word*$using:*'
            Start = { param($Block) Start-TestListener { } -With @{ ListenerOption = @{ InitializationScript = $Block } } } }
        @{ Name = 'a check'; Id = 'ClosureNotSupported'; Says = '*check*$word*$using:*'
            Start = { param($Block) Start-TestListener { } -Endpoint http://127.0.0.1:0 -With @{ BasicCheck = $Block } } }
        @{ Name = '$using:'; Id = 'ClosureNotSupported'; Says = '*$using:Block*$word*'
            Start = { param($Block) Start-TestListener { & $using:Block } } }
        @{ Name = 'a function of a dynamic module'; Id = 'ClosureFunctionNotSupported'; Says = "*'Get-Private'*Module of -ListenerOption*"
            Start = {
                $module = New-Module { function Get-Private { 1 }; function Get-Block { { Get-Private } }; Export-ModuleMember Get-Block }
                Start-TestListener (& $module { Get-Block })
            } }
    ) {
        $word = 'x'
        $block = { $word }.GetNewClosure()

        { & $Start $block } | Should -Throw -ErrorId "$Id,*" -ExpectedMessage $Says
    }
}
