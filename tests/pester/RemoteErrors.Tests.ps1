. (Join-Path $PSScriptRoot common.ps1)

Describe 'What a server tells of an exception' {
    BeforeAll {
        $listener = Start-TestListener {
            $inner = [IO.IOException]::new('no such device', 5)
            $outer = [InvalidOperationException]::new('cannot print', $inner)
            $outer.Data['printer'] = 'LPT1'
            throw $outer
        }

        function Get-Failure([string] $ExceptionType) {
            $rpc = Connect-RpcEndpoint $listener.Endpoint[0] -Schema $listener.Schema -Service demo.Greeter `
                -ConnectionOption @{ ExceptionType = $ExceptionType }
            $null = Invoke-RpcMethod SayHello -Connection $rpc -ErrorAction SilentlyContinue -ErrorVariable errors
            $errors[0]
        }
    }

    AfterAll { Clear-Test }

    It 'is in $_.Exception.Remote, with inner exceptions, HResult, data and the remote stack' {
        $remote = (Get-Failure CoreLibrary).Exception.Remote

        $remote.TypeName | Should -Be 'System.InvalidOperationException'
        $remote.Message | Should -Be 'cannot print'
        $remote.HResult | Should -Be ([InvalidOperationException]::new().HResult)
        $remote.Data.printer | Should -Be 'LPT1'
        $remote.Data.ScriptStackTrace | Should -BeLike '*RemoteErrors.Tests.ps1*'
        $remote.Inner.TypeName | Should -Be 'System.IO.IOException'
        $remote.Inner.Message | Should -Be 'no such device'
        $remote.Inner.HResult | Should -Be 5
    }

    It 'is one text, from the outer exception to the inner one' {
        $text = "$((Get-Failure CoreLibrary).Exception.Remote)"

        $text | Should -BeLike ('System.InvalidOperationException: cannot print*' +
            '---> System.IO.IOException: no such device*printer = LPT1*')
    }

    It 'is shown by Get-Error' {
        $shown = Get-Failure CoreLibrary | Get-Error | Out-String

        $shown | Should -Match 'no such device'
        $shown | Should -Match 'System.IO.IOException'
    }

    It 'becomes an exception of its type with -ExceptionType <Allowed>: <IsMade>' -ForEach @(
        @{ Allowed = 'None'; IsMade = $false }
        @{ Allowed = 'CoreLibrary'; IsMade = $true }
        @{ Allowed = 'LoadedAssemblies'; IsMade = $true }
    ) {
        $exception = (Get-Failure $Allowed).Exception

        $exception | Should -BeOfType ProtoRpc.RpcException
        $exception.InnerException -is [InvalidOperationException] | Should -Be $IsMade
    }
}
