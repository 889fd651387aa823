. (Join-Path $PSScriptRoot common.ps1)

Describe 'A mock ends with its scope' {
    BeforeAll {
        $greeter = Import-RpcSchema (Join-Path $TestProtos greeter.proto)
        $made = @{}

        function New-Greeter { New-RpcMock $greeter -Reply @{ SayHello = @{ text = 'hi' } } }
        function New-OuterGreeter { New-Greeter }
        function Get-Greeting($Mock) {
            (Invoke-RpcMethod demo.Greeter/SayHello @{} -Connection $Mock.Connection -ErrorAction Stop).text
        }
    }

    AfterAll { Clear-Test }

    Context 'of a block with BeforeAll' {
        BeforeAll { $made.Block = $mock = New-Greeter }

        It 'lives in a test' {
            $made.Test = New-Greeter

            Get-Greeting $mock | Should -Be hi
            Get-Greeting $made.Test | Should -Be hi
        }

        It 'lives in the next test, without the mock of the test before' {
            Get-Greeting $mock | Should -Be hi
            $made.Test.State | Should -Be Stopped
            Get-RpcListener | Should -Be $mock
        }

        Context 'and blocks in it' {
            It 'lives in them' {
                Get-Greeting $mock | Should -Be hi
            }
        }
    }

    Context 'of a block with BeforeEach' {
        BeforeEach {
            $previous = $made.Each
            $made.Each = $mock = New-Greeter
        }

        It 'does not outlive the block before' {
            $made.Block.State | Should -Be Stopped
        }

        It 'is one for each test' {
            $previous.State | Should -Be Stopped
            Get-Greeting $mock | Should -Be hi
            Get-RpcListener | Should -Be $mock
        }
    }

    Context 'of a script' {
        It 'ends with a script block, and keeps its calls' {
            $mock = & {
                $mock = New-RpcMock $greeter -Reply @{ SayHello = @{ text = 'hi' } }
                Get-Greeting $mock | Should -Be hi
                $mock
            }

            $mock.State | Should -Be Stopped
            Get-RpcListener | Should -BeNullOrEmpty
            Get-PSDrive -PSProvider RpcMock | Should -BeNullOrEmpty
            Get-RpcMockCall $mock | Should -HaveCount 1
        }

        It 'says so to a call that comes later' {
            $called = & { $mock = New-Greeter; $null = Get-Greeting $mock; $mock }
            $fresh = & { New-RpcMock $greeter }

            foreach ($mock in $called, $fresh) {
                $mock.Connection.State | Should -Be Closed
                { Get-Greeting $mock } |
                    Should -Throw '*closed with its mock, which stops with*made it*BeforeAll*dot-source*'
                { New-RpcMock $greeter -Reply @{ SayHello = $mock.Connection } } |
                    Should -Throw '*Nothing can be forwarded*closed with its mock*'
            }
        }

        It 'ends with a block that fails or is left' {
            { & { $made.Failed = New-Greeter; throw 'left' } } | Should -Throw left
            foreach ($i in 1..2) { & { $made.Left = New-Greeter; continue } }
            1..2 | ForEach-Object { & { $made.Piped = New-Greeter; $made.Piped } } | Select-Object -First 1

            $made.Failed.State | Should -Be Stopped
            $made.Left.State | Should -Be Stopped
            $made.Piped.State | Should -Be Stopped
            Get-RpcListener | Should -BeNullOrEmpty
        }

        It 'lives for the caller of the functions that made it' {
            & {
                $mock = New-OuterGreeter
                Get-Greeting $mock | Should -Be hi
                $made.Caller = $mock
            }

            $made.Caller.State | Should -Be Stopped
        }

        It 'lives for the caller of a method that made it' {
            $type = [scriptblock]::Create('class MockMaker { static [object] Make($p) { return New-RpcMock $p } } [MockMaker]')
            & {
                $made.Method = (& $type)::Make($greeter)
                $made.Method.State | Should -Be Listening
            }

            $made.Method.State | Should -Be Stopped
        }

        It 'lives for the caller of a function in a module' {
            $module = New-Module -ScriptBlock {
                param($Schema)
                function New-ModuleMock { New-RpcMock $Schema -Reply @{ SayHello = @{ text = 'module' } } }
            } -ArgumentList $greeter
            try {
                & {
                    $made.Module = New-ModuleMock
                    Get-Greeting $made.Module | Should -Be module
                }
            }
            finally {
                Remove-Module $module
            }

            $made.Module.State | Should -Be Stopped
        }

        It 'lives beyond blocks that have no scope of their own' {
            $mocks = @(1..2 | ForEach-Object { New-Greeter })
            $mocks += 1 | Where-Object { $made.Where = New-Greeter; $true } | ForEach-Object { $made.Where }
            $null = Measure-Command { $made.Measured = New-Greeter }
            . { $made.Dotted = New-Greeter }

            foreach ($mock in $mocks + $made.Measured + $made.Dotted) {
                Get-Greeting $mock | Should -Be hi
            }
        }

        It 'is stopped by its drive, and a stopped mock has none' {
            $first = New-Greeter
            $second = New-Greeter
            Get-PSDrive -PSProvider RpcMock | Should -HaveCount 2

            Remove-PSDrive "RpcMock$($first.Id)"
            $first.State | Should -Be Stopped
            Stop-RpcListener $second
            Get-PSDrive -PSProvider RpcMock | Should -BeNullOrEmpty
        }

        It 'ends with a script file, also in a job and after another import' {
            $script = Join-Path $TestDrive mock.ps1
            Set-Content $script 'param($Schema) New-RpcMock $Schema'
            $job = {
                param($Manifest, $Schema, $Script)
                Import-Module $Manifest
                Remove-Module ProtoRpc
                Import-Module $Manifest
                $ended = & $Script $Schema
                $lives = . $Script $Schema
                "$($ended.State) $($lives.State) $(@(Get-RpcListener).Count)"
            }
            $arguments = $ModuleManifest, (Join-Path $TestProtos greeter.proto), $script

            Start-ThreadJob $job -ArgumentList $arguments | Receive-Job -Wait -AutoRemoveJob |
                Should -Be 'Stopped Listening 1'
        }

        It 'lives until the session ends if the prompt made it' {
            $run = Invoke-Pwsh @"
                Import-Module '$ModuleManifest'
                `$mock = New-RpcMock '$(Join-Path $TestProtos greeter.proto)'
                function New-Greeter { New-RpcMock '$(Join-Path $TestProtos greeter.proto)' }
                `$other = New-Greeter
                "`$(`$mock.State) `$(`$other.State) `$(@(Get-PSDrive -PSProvider RpcMock).Count)"
"@

            $run.Output.Trim() | Should -BeLike 'Listening Listening *' -Because $run.Error
        }
    }
}
