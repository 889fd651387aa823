. (Join-Path $PSScriptRoot common.ps1)

Describe 'What a mock received' {
    BeforeAll {
        $mock = New-RpcMock (Join-Path $TestProtos greeter.proto) -Service demo.Greeter -Reply @{
            Fail = [ProtoRpc.RpcException]::new('NotFound', 'nobody')
        }
        $rpc = $mock.Connection
        $null = Invoke-RpcMethod SayHello @{ name = 'Ann'; times = 2 } -Connection $rpc -Header @{ tenant = 't1' }
        $null = Invoke-RpcMethod SayHello @{ name = 'Bob'; tags = 'a', 'b' } -Connection $rpc
        $null = Invoke-RpcMethod Fail @{ name = 'Cid' } -Connection $rpc -ErrorAction SilentlyContinue

        function Get-Failure([scriptblock] $Assertion) {
            try { & $Assertion } catch { return $_ }
        }
    }

    AfterAll { Clear-Test }

    Context 'Get-RpcMockCall' {
        It 'gives the calls with request, reply, user, headers, time and status' {
            $calls = Get-RpcMockCall -Mock $mock

            $calls.Method | Should -Be demo.Greeter/SayHello, demo.Greeter/SayHello, demo.Greeter/Fail
            $calls[0].Request.name | Should -Be Ann
            $calls[0].Reply.text | Should -BeExactly ''
            $calls[0].Headers['tenant'] | Should -Be t1
            $calls[0].User | Should -Be $OwnName
            $calls[0].Time | Should -BeLessOrEqual ([DateTimeOffset]::Now)
            $calls[0].Milliseconds | Should -BeGreaterThan 0
            $calls[2].Status | Should -Be NotFound
            $calls[2].Message | Should -Be nobody
            $calls[2].Reply | Should -BeNullOrEmpty
        }

        It 'gives those of the methods that are named' {
            ($mock | Get-RpcMockCall -Method Fail).Request.name | Should -Be Cid
            Get-RpcMockCall $mock demo.Greeter/SayHello, fail | Should -HaveCount 3
            Get-RpcMockCall $mock Watch | Should -BeNullOrEmpty
        }

        It 'refuses a name that no method has' {
            { Get-RpcMockCall $mock SayHallo -ErrorAction Stop } |
                Should -Throw -ErrorId 'MethodNotFound,*' -ExpectedMessage "*demo.Greeter/SayHello*"
        }

        It 'completes the methods of the mock' {
            $Global:completedMock = $mock
            (Complete 'Get-RpcMockCall -Mock $completedMock -Method Say').CompletionText | Should -Be SayHello
            Remove-Variable completedMock -Scope Global
        }
    }

    Context 'Assert-RpcMockCall' {
        It 'is content with at least as many calls, and writes nothing' {
            Assert-RpcMockCall $mock SayHello | Should -BeNullOrEmpty
            $mock | Assert-RpcMockCall -Method SayHello -Times 2
            Assert-RpcMockCall -Mock $mock -Method SayHello -Times 1 -Exactly -Where { $_.Request.name -eq 'Ann' }
            Assert-RpcMockCall $mock Watch -Times 0
            Assert-RpcMockCall $mock SayHello -Times 0 -Where { $_.Request.name -eq 'Zoe' }
        }

        It 'fails for too few, too many and any with -Times 0' {
            foreach ($arguments in @{ Times = 3 }, @{ Times = 1; Exactly = $true }, @{ Times = 0 }) {
                { Assert-RpcMockCall $mock SayHello @arguments } | Should -Throw -ErrorId 'MockCallMismatch,*'
            }
        }

        It 'stops the test also where errors are ignored' {
            { Assert-RpcMockCall $mock Watch -ErrorAction SilentlyContinue } | Should -Throw
            { Assert-RpcMockCall $mock Wotch -Times 0 -ErrorAction SilentlyContinue } |
                Should -Throw -ErrorId 'MethodNotFound,*'
        }

        It 'shows what was received beside what was expected' {
            $wanted = 'Dan'
            $failure = Get-Failure {
                Assert-RpcMockCall $mock SayHello -Where { $_.Request.name -eq $wanted -and $_.Status -eq 'OK' }
            }

            $text = "$failure"
            $text | Should -BeLike 'Expected demo.Greeter/SayHello to be called at least 1 time where {*0 of its 2 calls did.*'
            $text | Should -BeLike '*x 1. *OK: {"name":"Ann","times":2}*'
            $text | Should -BeLike "*expected `$_.Request.name -eq `$wanted   received Request.name = 'Ann'*"
            $text | Should -BeLike "*received Request.name = 'Bob'*"
            $text | Should -BeLike '*Calls of other methods: demo.Greeter/Fail (1)*'
            $text | Should -Not -BeLike '*expected $_.Status*'
        }

        It 'shows lists, nested members, indexes and null' {
            $failure = Get-Failure {
                Assert-RpcMockCall $mock SayHello -Where {
                    $_.Request.tags -contains 'z' -or $_.Request.nested.name -eq 'n' -or $_.Request.tags[1] -eq 'y'
                }
            }

            "$failure" | Should -BeLike "*received Request.tags = @('a', 'b')*"
            "$failure" | Should -BeLike '*received Request.nested.name = $null*'
            "$failure" | Should -BeLike "*received Request.tags``[1``] = 'b'*"
        }

        It 'shows what was received also where it stands on the right' {
            $failure = Get-Failure {
                Assert-RpcMockCall $mock SayHello -Where { $null -eq $_.Request.name -or 7 -lt $_.Request.times }
            }

            "$failure" | Should -BeLike "*expected `$null -eq `$_.Request.name * received Request.name = 'Ann'*"
            "$failure" | Should -BeLike '*expected 7 -lt $_.Request.times * received Request.times = 2*'
        }

        It 'runs no command of the block once more' {
            $Global:whereRuns = 0
            function Test-Name($Name) { $Global:whereRuns++; $false }
            $null = Get-Failure { Assert-RpcMockCall $mock SayHello -Where { (Test-Name $_.Request.name) -eq $true } }

            $whereRuns | Should -Be 2
            Remove-Variable whereRuns -Scope Global
        }

        It 'fails with the reason where the block throws' {
            { Assert-RpcMockCall $mock SayHello -Where { throw 'broken' } } |
                Should -Throw -ErrorId 'MockCallMismatch,*' -ExpectedMessage '*call 1 of demo.Greeter/SayHello: broken*'
        }

        It 'works in strict mode and with a member that there is not' {
            Set-StrictMode -Version Latest
            { Assert-RpcMockCall $mock SayHello -Where { $_.Request.nam -eq 'Ann' } } | Should -Throw
        }
    }

    Context 'hostile requests' {
        It 'brings no control character to the terminal' {
            $other = New-RpcMock (Join-Path $TestProtos greeter.proto) -Service demo.Greeter
            $null = Invoke-RpcMethod SayHello @{ name = "a`e[31m`u{202E}`nnext" } -Connection $other.Connection

            $failure = Get-Failure { Assert-RpcMockCall $other SayHello -Where { $_.Request.name -eq 'x' } }

            "$failure".IndexOfAny([char[]] @(0x1B, 0x202E)) | Should -Be -1
        }
    }
}
