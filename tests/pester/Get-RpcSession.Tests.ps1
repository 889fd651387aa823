. (Join-Path $PSScriptRoot common.ps1)

Describe 'Get-RpcSession' {
    BeforeAll {
        $listener = Start-TestListener { $RpcContext.Session['cart'] = 'apples'; @{} }
        $other = Start-TestListener { $RpcContext.Session['n'] = 1; @{} }
        $listener, $other, $listener |
            ForEach-Object { $null = Invoke-RpcMethod SayHello -Connection (Connect-Test $_) }
    }

    AfterAll { Clear-Test }

    It 'gives the sessions of all listeners' {
        Get-RpcSession | Should -HaveCount 3
    }

    It 'gives those of a listener, with what they hold' {
        $sessions = $listener | Get-RpcSession

        $sessions | Should -HaveCount 2
        $sessions[0].Keys | Should -Be 'cart'
        $sessions[0].Count | Should -Be 1
        $sessions[0].Owner | Should -Be "Kernel:$OwnName"
        $sessions[0].Listener.Id | Should -Be $listener.Id
        $sessions[0].Id | Should -Not -Be $sessions[1].Id
        $sessions[0].Idle.TotalMinutes | Should -BeLessThan 2
    }

    It 'finds one by its id' {
        $wanted = @($other | Get-RpcSession)[0].Id

        (Get-RpcSession -SessionId $wanted).Keys | Should -Be 'n'
    }

    It 'gives nothing of a raw listener' {
        $raw = Start-RpcListener "ncalrpc:[$(New-TestName)]" -InterfaceId ([guid]::NewGuid()) -Handler { }

        $raw | Get-RpcSession | Should -BeNullOrEmpty
    }

    It 'keeps to the share of a caller, whose longest idle session gives way' {
        $small = Start-TestListener { $RpcContext.Session['n'] = $Request.name; @{} } -With @{
            Limits = @{ MaxSessionsPerCaller = 2 }
        }

        'a', 'b', 'c' | ForEach-Object {
            $null = Invoke-RpcMethod SayHello @{ name = $_ } -Connection (Connect-Test $small)
        }

        $small | Get-RpcSession | Should -HaveCount 2
    }

    It 'tells the caller that there is no room for a session: <_>' -ForEach @(
        '$RpcContext.Session', '$RpcContext.Session[''a''] = 1', '$s = $RpcContext; $s.Session.Count'
    ) {
        $none = Start-TestListener ([scriptblock]::Create("$_ | Out-Null; @{}")) -With @{ Limits = @{ MaxSessions = 0 } }

        { Invoke-RpcMethod SayHello -Connection (Connect-Test $none) -ErrorAction Stop } |
            Should -Throw -ErrorId 'RpcStatus.ResourceExhausted,*' -ExpectedMessage '*MaxSessions*'
    }

    It 'tells the caller that a session is full' {
        $full = Start-TestListener { $RpcContext.Session['a'] = 'x' * 1000; @{} } -With @{
            Limits = @{ MaxSessionBytes = 100 }
        }

        { Invoke-RpcMethod SayHello -Connection (Connect-Test $full) -ErrorAction Stop } |
            Should -Throw -ErrorId 'RpcStatus.ResourceExhausted,*' -ExpectedMessage '*MaxSessionBytes*'
    }

    It 'shows a table' {
        Get-RpcSession | Out-String | Should -Match 'Owner'
    }
}
