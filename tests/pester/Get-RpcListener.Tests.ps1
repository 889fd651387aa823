. (Join-Path $PSScriptRoot common.ps1)

Describe 'Get-RpcListener' {
    AfterEach { Clear-Test }

    It 'gives the listeners of this runspace, all or by id' {
        $first = Start-TestListener { }
        $second = Start-TestListener { }

        (Get-RpcListener).Id | Should -Be $first.Id, $second.Id
        (Get-RpcListener $second.Id).Endpoint[0].Name | Should -Be $second.Endpoint[0].Name
        $other = [powershell]::Create().AddScript({
            param($Manifest)
            Import-Module $Manifest
            Get-RpcListener
        })
        $other.AddArgument($ModuleManifest).Invoke() | Should -BeNullOrEmpty
    }

    It 'says that there is no listener with an id' {
        { Get-RpcListener 12345 -ErrorAction Stop } |
            Should -Throw -ErrorId 'ListenerNotFound,*' -ExpectedMessage '*id 12345*'
    }

    It 'counts connections, calls, errors and calls in flight' {
        $listener = Start-TestListener @{ SayHello = { }; Fail = { throw 'no' } }
        $rpc = Connect-Test $listener
        $null = 1..3 | ForEach-Object { Invoke-RpcMethod SayHello -Connection $rpc }
        $null = Invoke-RpcMethod Fail -Connection $rpc -ErrorAction SilentlyContinue

        $counted = Get-RpcListener $listener.Id

        $counted.Connections | Should -Be 1
        Wait-Until { $counted.Calls -eq 4 } | Should -BeTrue
        $counted.Errors | Should -Be 1
        $counted.InFlight | Should -Be 0
        # Another one is made when a call comes before a worker, which has just replied, is free again.
        $counted.Workers | Should -BeIn (1..$counted.Calls)
    }

    It 'prints as a table' {
        $listener = Start-TestListener { }

        $text = $listener | Out-String -Width 80

        $text | Should -Match 'Id\s+State\s+Conns\s+Calls\s+Errors\s+InFlight\s+Records\s+Service'
        $text | Should -Match 'Listening\s+0\s+0\s+0\s+0\s+0\s+demo.Greeter'
        $text | Should -Match ([regex]::Escape($listener.Endpoint[0].ToString()))
    }
}
