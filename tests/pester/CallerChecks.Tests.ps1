. (Join-Path $PSScriptRoot common.ps1)

Describe 'Checks of callers' {
    BeforeAll {
        function Send-Call($Listener, $Kind, $Value, [int] $Count = 1) {
            $header = $Kind -eq 'Basic' ?
                "Basic $([Convert]::ToBase64String([Text.Encoding]::UTF8.GetBytes($Value)))" : "Bearer $Value"
            foreach ($number in 1..$Count) {
                (Invoke-WebRequest "$($Listener.Endpoint[0])demo.Greeter/SayHello?name=x" `
                    -Headers @{ Authorization = $header } -SkipHttpErrorCheck).StatusCode
            }
        }

        function Start-Checked($Kind, $Check, $With = @{}) {
            Start-TestListener @{ SayHello = { @{ text = "hi $($RpcContext.User.Name)" } } } `
                -Endpoint http://127.0.0.1:0/ -With ($With + @{ "${Kind}Check" = $Check })
        }

        $moduleFile = Join-Path $TestDrive CheckModule.psm1
        Set-Content $moduleFile @'
function Test-Failing($Value) { [int]::Parse('x'); $true }
function Test-Handled($Value) { try { [int]::Parse('x') } catch { $true } }
'@
    }

    AfterEach { Clear-Test }

    Context 'that fail' {
        It 'reject and record the line: <Kind> <Check>' -ForEach @(
            @{ Kind = 'Basic'; Check = { param($k) Get-NoSuchUser $k.UserName; $true }; Error = '*Get-NoSuchUser*' }
            @{ Kind = 'Bearer'; Check = { param($t) Get-NoSuchToken $t; 'accepted' }; Error = '*Get-NoSuchToken*' }
            @{ Kind = 'Bearer'; Check = { $null.Nope(); 'x' }; Error = '*null-valued*' }
            @{ Kind = 'Bearer'; Check = { param($t) [int]::Parse($t); 'x' }; Error = '*FormatException*' }
            @{ Kind = 'Bearer'; Check = { param($t) [int] $t; 'x' }; Error = '*Cannot convert*' }
            @{ Kind = 'Bearer'; Check = { 1 / 0; 'x' }; Error = '*divide by zero*' }
            @{ Kind = 'Bearer'; Check = { 'x'; throw 'late' }; Error = '*late*' }
            @{ Kind = 'Bearer'; Check = { Get-Item ./no-such-item -ErrorAction Stop; $true }; Error = '*no-such-item*' }
            @{ Kind = 'Bearer'; Check = { & { & { [int]::Parse('y') }; 1 } | Out-Null; $true }; Error = '*FormatException*' }
            @{ Kind = 'Bearer'; Check = { try { throw 'inner' } catch { throw 'outer' }; $true }; Error = '*outer*' }
            @{ Kind = 'Bearer'; Check = { try { $true } finally { [int]::Parse('z') } }; Error = '*FormatException*' }
        ) {
            $listener = Start-Checked $Kind $Check

            Send-Call $listener $Kind 'any:thing' | Should -Be 401

            $records = @(Receive-RpcListener $listener 2>&1)
            $records | Should -HaveCount 1
            "$records" | Should -BeLike "*${Kind}Check failed*"
            "$records" | Should -BeLike $Error
            "$records" | Should -BeLike '*CallerChecks.Tests.ps1: line*'
            $records[0].Method | Should -Be "${Kind}Check"
            $records[0].Time | Should -BeOfType DateTimeOffset
            $records[0].Caller | Should -Be ($Kind -eq 'Basic' ? 'any' : '')
        }

        It 'reject and record <Word>' -ForEach @(
            @{ Word = 'Int32'; Check = { param([int] $t) $true } }
            @{ Word = "'exit'"; Check = { $true; exit } }
            @{ Word = "'break'"; Check = { $true; break } }
        ) {
            $listener = Start-Checked Bearer $Check

            Send-Call $listener Bearer x | Should -Be 401
            "$(Receive-RpcListener $listener 2>&1)" | Should -BeLike "*BearerCheck failed*$Word*"
        }

        It 'reject and record in the scope of a module' {
            Import-Module $moduleFile
            try {
                $failing = Start-Checked Bearer { param($t) Test-Failing $t }
                $handled = Start-Checked Bearer { param($t) Test-Handled $t }
                $function = Start-Checked Bearer ${function:Test-Failing}

                Send-Call $failing Bearer x | Should -Be 401
                "$(Receive-RpcListener $failing 2>&1)" | Should -BeLike '*FormatException*Test-Failing*CheckModule.psm1: line 1*'
                Send-Call $handled Bearer x | Should -Be 200
                Receive-RpcListener $handled 2>&1 | Should -BeNullOrEmpty
                Send-Call $function Bearer x | Should -Be 401
            } finally {
                Remove-Module CheckModule
            }
        }

        It 'reject if the session ignores errors' {
            $ErrorActionPreference = 'SilentlyContinue'
            $listener = Start-Checked Bearer { param($t) Get-NoSuchToken $t; Write-Error 'no'; 'accepted' }

            Send-Call $listener Bearer x | Should -Be 401
        }

        It 'are replaced by checks that reject as well' {
            $listener = Start-Checked Bearer { $true }
            Send-Call $listener Bearer x | Should -Be 200

            Set-RpcListener $listener -BearerCheck { Get-NoSuchToken; $true }

            Send-Call $listener Bearer x | Should -Be 401
            "$(Receive-RpcListener $listener 2>&1)" | Should -BeLike '*Get-NoSuchToken*'
        }

        It 'do not harm the next caller' {
            $listener = Start-Checked Bearer {
                param($t) if ($t -eq 'bad') { [int]::Parse($t) } elseif ($t -eq 'leave') { exit }; $t -eq 'good'
            }

            $statuses = 1..5 | ForEach-Object { 'bad', 'leave', 'good' } | ForEach-Object { Send-Call $listener Bearer $_ }

            $statuses | Should -Be (1..5 | ForEach-Object { 401, 401, 200 })
        }
    }

    Context 'that write an error' {
        It 'reject and record both: <Check>' -ForEach @(
            @{ Check = { Write-Error 'odd'; $true } }
            @{ Check = { Get-Item ./no-such-item; $true } }
            @{ Check = { $true; Write-Error 'odd' } }
            @{ Check = { $PSCmdlet; function f { [CmdletBinding()] param() $PSCmdlet.WriteError(
                        [Management.Automation.ErrorRecord]::new([Exception]::new('odd'), 'Id', 0, $null)) }; f; $true } }
        ) {
            $listener = Start-Checked Bearer $Check

            Send-Call $listener Bearer x | Should -Be 401

            $records = @(Receive-RpcListener $listener 2>&1)
            $records | Should -HaveCount 2
            $records.Time | Should -HaveCount 2
            "$($records[1])" | Should -BeLike '*BearerCheck failed*wrote an error*-ErrorAction SilentlyContinue*line*'
        }

        It 'accept if they handle it: <Check>' -ForEach @(
            @{ Check = { try { [int]::Parse('x') } catch { $true } } }
            @{ Check = { try { Get-Item ./no-such-item -ErrorAction Stop } catch { 'ann' } } }
            @{ Check = { $null = Get-Item ./no-such-item -ErrorAction SilentlyContinue; $true } }
            @{ Check = { $null = Get-Item ./no-such-item -ErrorAction Ignore; $true } }
            @{ Check = { $null = Write-Error 'odd' 2>&1; $true } }
            @{ Check = { Write-Error 'odd' 2>$null; $true } }
            @{ Check = { trap { continue } [int]::Parse('x'); $true } }
            @{ Check = { try { try { throw 'a' } finally { } } catch { try { throw 'b' } catch { $true } } } }
        ) {
            $listener = Start-Checked Bearer $Check

            Send-Call $listener Bearer x | Should -Be 200
            Receive-RpcListener $listener 2>&1 | Should -BeNullOrEmpty
        }
    }

    Context 'by their output' {
        It 'reject without a record: <Check>' -ForEach @(
            @{ Check = { } }
            @{ Check = { $false } }
            @{ Check = { '' } }
            @{ Check = { $null } }
            @{ Check = { @() } }
        ) {
            $listener = Start-Checked Bearer $Check

            Send-Call $listener Bearer x | Should -Be 401
            Receive-RpcListener $listener 2>&1 | Should -BeNullOrEmpty
        }

        It 'reject with a record of <Count>: <Check>' -ForEach @(
            @{ Check = { 'one'; 'two' }; Count = '2 objects' }
            @{ Check = { $true; $true }; Count = '2 objects' }
            @{ Check = { $false; $true }; Count = '2 objects' }
            @{ Check = { 1..100000; $true }; Count = '100001 objects' }
            @{ Check = { , @('a', 'b') }; Count = 'System.Object*' }
            @{ Check = { 0 }; Count = 'System.Int32' }
            @{ Check = { 1 }; Count = 'System.Int32' }
            @{ Check = { [pscustomobject]@{ Name = 'ann' } }; Count = '*PSCustomObject' }
            @{ Check = { Write-Error 'odd' 2>&1 }; Count = '*ErrorRecord' }
        ) {
            $listener = Start-Checked Bearer $Check

            Send-Call $listener Bearer x | Should -Be 401
            $records = @(Receive-RpcListener $listener 2>&1)
            $records | Should -HaveCount 1
            "$records" | Should -BeLike "*BearerCheck failed*wrote*$Count*Out-Null*"
            $records[0].Exception.ErrorId | Should -Be 'WrongCheckOutput'
        }
    }

    Context 'that write to streams' {
        It 'show all of them as those of handlers' {
            $listener = & {
                $VerbosePreference = $DebugPreference = 'Continue'
                Start-Checked Basic {
                    param($k)
                    Write-Verbose "v $($k.UserName)"
                    Write-Debug 'd'
                    Write-Warning 'w'
                    Write-Information 'i'
                    Write-Host 'h'
                    $true
                }
            }

            Send-Call $listener Basic 'ann:pw' | Should -Be 200

            $records = @(& {
                    $VerbosePreference = $DebugPreference = 'Continue'
                    Receive-RpcListener $listener *>&1
                })
            ($records | ForEach-Object { "$_" }) | Should -Be 'v ann', 'd', 'w', 'i', 'h'
            $records.Time | Should -HaveCount 5
        }

        It 'show them while Wait-RpcListener waits' {
            $listener = Start-Checked Bearer { Write-Warning 'w'; Get-NoSuchToken; $true }
            Send-Call $listener Bearer x | Should -Be 401

            $records = $listener | Wait-RpcListener -Timeout 0.2 3>&1 2>&1

            "$records" | Should -BeLike '*w *BearerCheck failed*Get-NoSuchToken*'
        }

        It 'keep a bounded number of records, and no control characters of callers' {
            $listener = Start-Checked Basic {
                param($k) foreach ($i in 1..5000) { Write-Warning "$i" }; throw "no $($k.UserName)"
            }

            Send-Call $listener Basic "a$([char] 27)[31m:pw" | Should -Be 401

            $records = @(Receive-RpcListener $listener *>&1)
            $records | Should -HaveCount 1000
            $records[-1].Caller | Should -Not -Match "`e"
            "$($records[-1])" | Should -Not -Match "`e"
            "$($records[-1])" | Should -BeLike '*BasicCheck failed for a*'
        }
    }

    It 'keep concurrent callers apart' {
        $listener = Start-Checked Bearer {
            param($t)
            switch -Wildcard ($t) {
                'throw*' { throw $t }
                'write*' { Write-Error $t; $true }
                'many*' { 1, 2 }
                'no*' { $false }
                default { $t }
            }
        }
        $http = [Net.Http.HttpClient]::new()
        try {
            $calls = foreach ($i in 1..20) {
                foreach ($kind in 'throw', 'write', 'many', 'no', 'user') {
                    $message = [Net.Http.HttpRequestMessage]::new(
                        'Get', "$($listener.Endpoint[0])demo.Greeter/SayHello?name=x")
                    $message.Headers.Authorization = "Bearer $kind$i"
                    [pscustomobject]@{ Kind = $kind; User = "$kind$i"; Task = $http.SendAsync($message) }
                }
            }

            foreach ($call in $calls) {
                $reply = $call.Task.GetAwaiter().GetResult()
                [int] $reply.StatusCode | Should -Be ($call.Kind -eq 'user' ? 200 : 401)
                if ($call.Kind -eq 'user') {
                    $reply.Content.ReadAsStringAsync().Result | Should -BeLike "*hi $($call.User)<*"
                }
            }
        } finally {
            $http.Dispose()
        }
        $records = @(Receive-RpcListener $listener 2>&1)
        $records.Where({ "$_" -like '*BearerCheck failed*' }) | Should -HaveCount 60
    }

    It 'end with a caller who goes away while they hang' {
        $began = [Threading.SemaphoreSlim]::new(0)
        $listener = Start-Checked Bearer {
            param($t) if ($t -eq 'hang') { $null = ($using:began).Release(); while ($true) { } }; $true
        }
        $http = [Net.Http.HttpClient]::new()
        $gone = [Threading.CancellationTokenSource]::new()
        try {
            # More callers than checks run at the same time.
            $calls = foreach ($i in 1..6) {
                $message = [Net.Http.HttpRequestMessage]::new(
                    'Get', "$($listener.Endpoint[0])demo.Greeter/SayHello?name=x")
                $message.Headers.Authorization = 'Bearer hang'
                $http.SendAsync($message, $gone.Token)
            }
            $began.Wait(20000) | Should -BeTrue
            $gone.Cancel()

            Send-Call $listener Bearer good | Should -Be 200
        } finally {
            $gone.Cancel()
            $http.Dispose()
        }
        $null = $calls
        Receive-RpcListener $listener 2>&1 | Should -BeNullOrEmpty
    }

    Context 'by filters and -Ping' {
        It 'reject a call whose filter fails at a statement' {
            $listener = Start-TestListener @{ SayHello = { @{ text = 'served' } } } -With @{
                Filter = { Get-NoSuchUser; $Next.Invoke() }
            }

            Connect-Test $listener | Invoke-RpcMethod SayHello @{} -ErrorAction SilentlyContinue -ErrorVariable failed

            $failed | Should -Not -BeNullOrEmpty
            "$(Receive-RpcListener $listener 2>&1)" | Should -BeLike '*Get-NoSuchUser*line*'
        }

        It 'fail a ping whose script fails at a statement' {
            $listener = Start-TestListener @{ SayHello = { } } -With @{ Ping = { Get-NoSuchState; @{} } }

            (Test-RpcEndpoint $listener.Endpoint[0] -ErrorAction SilentlyContinue).Reachable | Should -Not -BeTrue
            "$(Receive-RpcListener $listener 2>&1)" | Should -BeLike '*Get-NoSuchState*line*'
        }
    }
}
