. (Join-Path $PSScriptRoot common.ps1)

Describe 'Records of calls that failed in a handler' {
    BeforeAll {
        $handler = {
            param($Request)
            switch ($Request.name) {
                expected { throw [ProtoRpc.RpcException]::new('NotFound', "no user`e[31m`nforged") }
                text { throw 'broken' }
                number { [int]::Parse('x') }                                              # the line of number
                nested { Test-RpcEndpoint 'ncalrpc:[none]' -ErrorAction Stop }
                reply { @{ nonsense = 1 } }
                written { Write-Error 'written' }
                warn { Write-Warning 'warned'; Write-Verbose 'verbose' -Verbose; Write-Information 'informed' }
                leave { exit }
            }
        }
        $listener = Start-TestListener $handler -Endpoint tcp://127.0.0.1:0
        $rpc = Connect-Test $listener

        # The line of this file that has a comment.
        function Get-Line([string] $Comment) {
            (Select-String -LiteralPath $PSCommandPath -Pattern "# $Comment$" | Select-Object -First 1).LineNumber
        }

        # All records of one call.
        function Get-Record([string] $Name, [hashtable] $With = @{}) {
            $null = Invoke-RpcMethod SayHello @{ name = $Name } -Connection $rpc -ErrorAction Ignore
            $listener | Receive-RpcListener -ErrorAction Continue @With *>&1
        }
    }

    AfterAll { Clear-Test }

    Context 'an RpcException that the handler throws' {
        It 'is information with time, caller, method and status' {
            $before = [DateTimeOffset]::Now

            $records = @(Get-Record expected)

            $records | Should -HaveCount 1
            $records[0] | Should -BeOfType Management.Automation.InformationRecord
            $failure = $records[0].MessageData
            $failure.GetType().FullName | Should -Be 'ProtoRpc.RpcHandlerFailure'
            $failure.Method | Should -Be 'demo.Greeter/SayHello'
            $failure.Caller | Should -BeLike '127.0.0.1:*'
            $failure.Status | Should -Be NotFound
            $failure.Message | Should -BeLike 'no user*forged'
            $failure.Time | Should -BeGreaterOrEqual $before
            $records[0].Time | Should -BeGreaterOrEqual $before.AddSeconds(-1)
        }

        It 'is one line that controls no terminal and forges no other line' {
            $text = "$(Get-Record expected)"

            $text | Should -Match '^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d demo\.Greeter/SayHello failed for 127\.0\.0\.1:\d+ with NotFound: no user'
            $text | Should -Not -Match "[`e`n]"
        }

        It 'is no error: not in $Error, and not with -ErrorVariable' {
            $errors = $Error.Count

            $null = Get-Record expected @{ ErrorVariable = 'Global:shown' }

            $Global:shown | Should -BeNullOrEmpty
            $Error.Count | Should -Be $errors
            Remove-Variable shown -Scope Global
        }

        It 'is hidden by -InformationAction <_>' -ForEach 'Ignore', 'SilentlyContinue' {
            $null = Invoke-RpcMethod SayHello @{ name = 'expected' } -Connection $rpc -ErrorAction Ignore

            $shown = [powershell]::Create('CurrentRunspace').AddCommand('Receive-RpcListener')
            $null = $shown.AddParameter('Listener', $listener).AddParameter('InformationAction', $_).Invoke()

            $listener.Records | Should -Be 0
        }

        It 'is not kept by a listener with -InformationAction Ignore' {
            $quiet = Start-TestListener $handler -With @{ InformationAction = 'Ignore' }
            Connect-Test $quiet | Invoke-RpcMethod SayHello @{ name = 'expected' } -ErrorAction Ignore

            $quiet.Records | Should -Be 0
        }

        It 'is information of a mock' {
            $mock = New-RpcMock (Join-Path $TestProtos greeter.proto) -Reply @{ SayHello = $handler }
            Invoke-RpcMethod SayHello @{ name = 'expected' } -Connection $mock.Connection -ErrorAction Ignore

            $records = @($mock | Receive-RpcListener 6>&1)

            $records.MessageData.Status | Should -Be NotFound
        }

        It 'is information of a raw listener' {
            $raw = Start-RpcListener "ncalrpc:[$(New-TestName)]" -InterfaceId ([guid]::NewGuid()) `
                -Handler { throw [ProtoRpc.RpcException]::new('PermissionDenied', 'not you') }
            $connected = $raw | Connect-RpcEndpoint
            $null = Invoke-RpcMethod -Message 1, 2 -Connection $connected -ErrorAction Ignore

            $records = @($raw | Receive-RpcListener *>&1)

            $records | Should -HaveCount 1
            $records[0].MessageData.Status | Should -Be PermissionDenied
            $records[0].MessageData.Method | Should -Be "$($raw.InterfaceId[0])"
        }
    }

    Context 'any other failure' {
        It 'is an error: <Name>' -ForEach @(
            @{ Name = 'text'; Type = 'RuntimeException' }
            @{ Name = 'number'; Type = 'FormatException' }
            @{ Name = 'nested'; Type = 'RpcException' }
            @{ Name = 'reply'; Type = 'RpcException' }
            @{ Name = 'leave'; Type = 'RpcException' }
        ) {
            $records = @(Get-Record $Name)

            $records | Should -HaveCount 1
            $records[0] | Should -BeOfType Management.Automation.ErrorRecord
            $records[0].Exception.GetType().Name | Should -Be $Type
            $records[0].Time | Should -BeOfType DateTimeOffset
            "$($records[0])" | Should -Match '^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d demo\.Greeter/SayHello failed for '
        }

        It 'has the id of the listener, and the exception that of the failure' {
            $record = @(Get-Record leave)[0]

            $record.FullyQualifiedErrorId | Should -BeLike 'HandlerFailed*'
            $record.Exception.ErrorId | Should -Be 'HandlerLeft'
        }

        It 'has the line of the handler, not of the cmdlet' {
            $record = @(Get-Record number)[0]

            $record.InvocationInfo.ScriptName | Should -Be $PSCommandPath
            $record.InvocationInfo.ScriptLineNumber | Should -Be (Get-Line 'the line of number')
            "$($record.InvocationInfo.PositionMessage)" | Should -Not -Match 'Receive-RpcListener'
        }

        It 'has the line of the handler where its reply is wrong' {
            $shown = @(Get-Record reply)[0] | Out-String -Width 300

            $shown | Should -Not -Match 'Receive-RpcListener'
            $shown | Should -Match ([regex]::Escape("at <ScriptBlock>, ${PSCommandPath}: line 5"))
        }
    }

    It 'have method, caller, time and line of an error that the handler wrote' {
        $before = [DateTimeOffset]::Now.AddSeconds(-1)
        $record = @(Get-Record written)[0]

        $record.Exception.Message | Should -Be 'written'
        $record.Method | Should -Be 'demo.Greeter/SayHello'
        $record.Caller | Should -BeLike '127.0.0.1:*'
        $record.Time | Should -BeGreaterOrEqual $before
        $shown = $record | Out-String -Width 300
        $shown | Should -Not -Match 'Receive-RpcListener'
        $shown | Should -Match 'demo\.Greeter/SayHello wrote an error for 127\.0\.0\.1:\d+: written'
        $shown | Should -Match ([regex]::Escape("at <ScriptBlock>, ${PSCommandPath}: line 13"))
        ([regex]::Matches($shown, 'demo\.Greeter/SayHello')).Count | Should -Be 1
    }

    It 'are information where the caller made the error: <Name>' -ForEach @(
        @{ Name = 'no handler'; With = @{}; Status = 'Unimplemented' }
        @{ Name = 'refused'; With = @{ Authorization = @{ '*' = 'nobody' } }; Status = 'Unauthenticated' }
        @{ Name = 'refused within a filter'
            With = @{ Authorization = @{ '*' = 'nobody' }; Filter = { $Next.Invoke() } }; Status = 'Unauthenticated'
        }
        @{ Name = 'no handler behind a filter'; With = @{ Filter = { $Next.Invoke() } }; Status = 'Unimplemented' }
    ) {
        $other = Start-TestListener @{ SayHello = { } } -Endpoint tcp://127.0.0.1:0 -With $With
        $null = Invoke-RpcMethod Fail -Connection (Connect-Test $other) -ErrorAction SilentlyContinue -ErrorVariable failed

        $failed[0].Exception.Code | Should -Be $Status
        $records = @($other | Receive-RpcListener *>&1)
        $records | ForEach-Object { $_.GetType().Name } | Should -Be InformationRecord
        $records[0].MessageData.Status | Should -Be $Status
    }

    It 'have times in each stream' {
        $before = [DateTimeOffset]::Now.AddSeconds(-1)

        $records = @(Get-Record warn @{ Verbose = $true }) + @(Get-Record written)

        $records | ForEach-Object { $_.GetType().Name } | Should -Be @(
            'WarningRecord', 'VerboseRecord', 'InformationRecord', 'ErrorRecord')
        foreach ($record in $records) {
            $record.Time | Should -BeGreaterOrEqual $before -Because $record.GetType().Name
        }
        $records[0].InvocationInfo.ScriptName | Should -Be $PSCommandPath
    }

    Context 'in a session' {
        BeforeAll {
            # What a service shows while it waits, and its transcript.
            function Get-Shown([string] $Start, [string] $Wait) {
                $script = @"
                    Import-Module '$ModuleManifest'
                    `$ErrorView = 'ConciseView'
                    `$schema = Import-RpcSchema '$TestProtos/greeter.proto'
                    `$null = Start-Transcript '$TestDrive/transcript.txt'
                    `$listener = Start-RpcListener tcp://127.0.0.1:0 -Schema `$schema -Service demo.Greeter $Start -Handler {
                        param(`$Request)
                        if (`$Request.name -eq 'expected') { throw [ProtoRpc.RpcException]::new('NotFound', 'no such user') }
                        if (`$Request.name -eq 'informed') { Write-Information 'informed'; Write-Warning 'warned'; return }
                        [int]::Parse('unexpected')
                    }
                    'expected', 'unexpected', 'informed' | ForEach-Object { @{ name = `$_ } } |
                        Invoke-RpcMethod SayHello -Endpoint `$listener.Endpoint[0] -Schema `$schema -ErrorAction Ignore | Out-Null
                    $Wait
                    `$null = Stop-Transcript
"@
                $result = Invoke-Pwsh $script
                [pscustomobject]@{
                    Output = $result.Output + $result.Error
                    Transcript = Get-Content (Join-Path $TestDrive transcript.txt) -Raw
                }
            }
        }

        It 'are shown by Wait-RpcListener: one as a line, the other with its own line' {
            $shown = Get-Shown '' '$listener | Wait-RpcListener -Timeout 0.3'

            foreach ($text in $shown.Output, $shown.Transcript) {
                $text | Should -Match '(?m)^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d demo\.Greeter/SayHello failed for 127\.0\.0\.1:\d+ with NotFound: no such user'
                $text | Should -Match "unexpected"
                $text | Should -Match '(?m)^informed'
                $text | Should -Match 'WARNING: warned'
            }
            $shown.Output | Should -Not -Match 'Wait-RpcListener'
        }

        It 'are in the transcript when the listener shows them at once' {
            $shown = Get-Shown '-InformationAction Continue -WarningAction Continue' ''

            foreach ($text in $shown.Output, $shown.Transcript) {
                $text | Should -Match '(?m)^\d{4}-.+ with NotFound: no such user'
                $text | Should -Match '(?m)^informed'
                $text | Should -Match 'WARNING: warned'
            }
        }

        It 'do not end Wait-RpcListener -ErrorAction Stop, and are in $Error only when unexpected' {
            $shown = Get-Shown '' '$Error.Clear(); $listener | Wait-RpcListener -Timeout 0.3 -ErrorAction Stop; "errors $($Error.Count)"'

            $shown.Output | Should -Match 'errors 1'
        }
    }
}
