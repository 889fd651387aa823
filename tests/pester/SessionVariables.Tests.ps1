. (Join-Path $PSScriptRoot common.ps1)

Describe 'Variables of the session that handlers read' {
    BeforeAll {
        $word = 'session'
        $count = 10
        $table = @{ a = 1 }
        ${odd name} = 'odd'
        $nothing = $null

        function Get-Word { $word }
        function Get-Given($word) { $word }

        # The warnings of a start.
        function Get-StartWarning($Handler, [hashtable] $With = @{}) {
            Start-TestListener $Handler -With $With 3>&1 |
                Where-Object { $_ -is [Management.Automation.WarningRecord] } | ForEach-Object Message
            Clear-Test
        }
    }

    AfterEach { Clear-Test }

    Context 'a warning' {
        It 'names what is read: <Handler>' -ForEach @(
            @{ Handler = { $word }; Names = '$word (line' }
            @{ Handler = { "a $word" }; Names = '$word (line' }
            @{ Handler = { $table.a = 2 }; Names = '$table (line' }
            @{ Handler = { $table['a'] += 2 }; Names = '$table (line' }
            @{ Handler = { Get-ChildItem @table }; Names = '@table (line' }
            @{ Handler = { $global:count += 1 }; Names = '$global:count (line'; Global = $true }
            @{ Handler = { param($Request) & { if ($Request) { $word } } }; Names = '$word (line' }
            @{ Handler = { 1 | ForEach-Object { $word } }; Names = '$word (line' }
            @{ Handler = { ${odd name} }; Names = '${odd name} (line' }
            @{ Handler = { Get-Word }; Names = '$word (function Get-Word)' }
            @{ Handler = { function Get-Inner { $word }; Get-Inner }; Names = '$word (function Get-Inner)' }
        ) {
            if ($Global) { $global:count = 1 }

            $warnings = @(Get-StartWarning $Handler)

            $warnings | Should -HaveCount 1
            $warnings[0] | Should -BeLike "*$([WildcardPattern]::Escape($Names))*"
            $warnings[0] | Should -Match '\$\{?using:(word|table|count|odd name)'
            $warnings[0] | Should -Match 'about_ProtoRpc_State'
            if ($Global) { Remove-Variable count -Scope Global }
        }

        It 'is one for all scripts, with each name once' {
            $warnings = @(Get-StartWarning @{ SayHello = { $word }; Fail = { $word; $count } } -With @{
                Filter = { $word; $table; $Next.Invoke() }
            })

            $warnings | Should -HaveCount 1
            [regex]::Matches($warnings[0], '\$word').Count | Should -Be 1
            $warnings[0] | Should -Match '\$count'
            $warnings[0] | Should -Match '\$table'
        }

        It 'comes for <Name>' -ForEach @(
            @{ Name = 'the initialization'; With = @{ ListenerOption = @{ InitializationScript = { $global:x = $word } } } }
            @{ Name = 'the ping'; With = @{ Ping = { $word } } }
            @{ Name = 'the access log'; With = @{ AccessLog = { $word } } }
            @{ Name = 'a check, without workers'; Handler = @{}; With = @{
                    BearerCheck = { $word }; Endpoint = 'http://127.0.0.1:0'; AllowUnencrypted = $true } }
        ) {
            @(Get-StartWarning ($Handler ?? { }) -With $With) | Should -BeLike '*$word (line*'
        }

        It 'comes for the blocks of <Name>' -ForEach @(
            @{ Name = 'New-RpcMock'; Run = {
                    $null = New-RpcMock (Join-Path $TestProtos greeter.proto) -Reply @{ SayHello = { $word } } `
                        -WarningAction SilentlyContinue -WarningVariable warned; $warned } }
            @{ Name = 'Set-RpcMock'; Run = {
                    $mock = New-RpcMock (Join-Path $TestProtos greeter.proto)
                    $mock | Set-RpcMock -Reply @{ SayHello = { $word } } `
                        -WarningAction SilentlyContinue -WarningVariable warned; $warned } }
            @{ Name = 'Set-RpcListener'; Run = {
                    Start-TestListener { } | Set-RpcListener -Handler { $word } `
                        -WarningAction SilentlyContinue -WarningVariable warned; $warned } }
        ) {
            @(& $Run) | Should -BeLike '*$word (line*'
        }

        It 'comes for the state of a private function of a module: <_>' -ForEach '$state', '$script:state', '$script:state++' {
            $file = Join-Path $TestDrive "$(New-TestName).psm1"
            Set-Content $file @"
                `$state = 'kept'
                function Get-State { $_ }
                function Start-Kept(`$Schema, `$Endpoint) {
                    Start-RpcListener `$Endpoint { Get-State } -Schema `$Schema -Service demo.Greeter
                }
                Export-ModuleMember Start-Kept
"@
            $module = Import-Module $file -PassThru
            try {
                $started = Start-Kept (Join-Path $TestProtos greeter.proto) "ncalrpc:[$(New-TestName)]" 3>&1

                $started[0] | Should -BeLike "*$($_.TrimEnd('+')) (function Get-State)*`$using:state*"
            }
            finally {
                Clear-Test
                $module | Remove-Module
            }
        }

        It 'stops the start with -WarningAction Stop, and nothing listens or runs: <Name>' -ForEach @(
            @{ Name = 'a listener'; Start = {
                Start-RpcListener $endpoint { $word } -Schema $schema -Service demo.Greeter -WarningAction Stop } }
            @{ Name = 'a mock'; Start = {
                New-RpcMock $schema -Endpoint $endpoint -Reply @{ SayHello = { $word } } -WarningAction Stop } }
        ) {
            $before = (Get-Runspace).Id
            $schema = Join-Path $TestProtos greeter.proto
            $endpoint = "inproc://$(New-TestName)"

            $Start | Should -Throw '*$word (line*'

            Get-RpcListener | Should -BeNullOrEmpty
            { Connect-RpcEndpoint $endpoint -Schema $schema -ErrorAction Stop } | Should -Throw '*inproc*'
            Wait-Until { -not (Get-Runspace | Where-Object Id -NotIn $before) } | Should -BeTrue
        }

        It 'stops a change with -WarningAction Stop: the handlers stay' {
            $listener = Start-TestListener { @{ text = 'old' } }
            $rpc = Connect-Test $listener
            $before = (Get-Runspace).Id

            { $listener | Set-RpcListener -Handler { @{ text = $word } } -WarningAction Stop } |
                Should -Throw '*$word (line*'

            (Invoke-RpcMethod SayHello @{} -Connection $rpc).text | Should -Be 'old'
            Wait-Until { -not (Get-Runspace | Where-Object Id -NotIn $before) } | Should -BeTrue
        }

        It 'does not come with -WhatIf' {
            Start-TestListener { $word } -With @{ WhatIf = $true } 3>&1 6>$null | Should -BeNullOrEmpty
        }
    }

    Context 'no warning' {
        It 'comes for <Handler>' -ForEach @(
            @{ Handler = { $using:word } }
            @{ Handler = { $using:table.a; $using:table['a'] } }
            @{ Handler = { $missing } }
            @{ Handler = { $nothing } }
            @{ Handler = { param($word) $word } }
            @{ Handler = { $word = 1; $word } }
            @{ Handler = { $word; $word = 1 } }
            @{ Handler = { [string] $word = 1; $word } }
            @{ Handler = { $word, $count = 1, 2; $word } }
            @{ Handler = { $word ??= 1; $word } }
            @{ Handler = { $script:word = 1; $word } }
            @{ Handler = { foreach ($one in 1..2) { $count += $one }; $count } }
            @{ Handler = { $count++; $count } }
            @{ Handler = { foreach ($word in 1..2) { $word } } }
            @{ Handler = { for ($count = 0; $count -lt 1; $count++) { } } }
            @{ Handler = { data word { 'x' }; $word } }
            @{ Handler = { function Set-It($word) { $word }; Set-It 1 } }
            @{ Handler = { Get-Given 1 } }
            @{ Handler = { & { param($word) $word } 1 } }
            @{ Handler = { $null = [int]::TryParse('1', [ref] $count); $count } }
            @{ Handler = { Get-Date -OutVariable word; $word } }
            @{ Handler = { Get-Date -ov +word; $word } }
            @{ Handler = { 1 | ForEach-Object -PipelineVariable word { $_ } | ForEach-Object { $word } } }
            @{ Handler = { Set-Variable word 1; $word } }
            @{ Handler = { Set-Item variable:word 1; $word } }
            @{ Handler = { if (Test-Path variable:word) { $word } } }
            @{ Handler = { . ./any.ps1; $word } }
            @{ Handler = { . { $word = 1 }; $word } }
            @{ Handler = { Invoke-Expression '$word = 1'; $word } }
            @{ Handler = { $ExecutionContext.SessionState.PSVariable.Set('word', 1); $word } }
            @{ Handler = { $env:word; $local:word; $function:word } }
            @{ Handler = { 1 | ForEach-Object -Parallel { $word } } }
            @{ Handler = { '$word' } }
            @{ Handler = { switch -Regex ('a') { 'a' { $switch; $Matches } }; $foreach; $_; $args; $input; $this } }
            @{ Handler = { $Request; $RpcContext; $RpcMethod; $Error; $PSItem; $PID; $HOME; $Host; $PWD; $LASTEXITCODE } }
        ) {
            Get-StartWarning $Handler | Should -BeNullOrEmpty
        }

        It 'comes for a closure' {
            $word = 'closed'

            Get-StartWarning { $word }.GetNewClosure() | Should -BeNullOrEmpty
        }

        It 'comes for what <Name> sets' -ForEach @(
            @{ Name = 'the initialization'; With = @{ ListenerOption = @{ InitializationScript = { $word = 'worker' } } } }
            @{ Name = 'a file of the initialization'; With = @{ ListenerOption = @{ InitializationScript = { . $using:file } } } }
            @{ Name = 'a filter'; With = @{ Filter = { $word = 'filter'; $Next.Invoke() } } }
        ) {
            $file = Join-Path $TestDrive settings.ps1
            Set-Content $file '$word = 1'

            Get-StartWarning { $word } -With $With | Should -BeNullOrEmpty
        }

        It 'comes for a variable that a module exports to the workers' {
            $file = Join-Path $TestDrive Exporting.psm1
            Set-Content $file '$exported = 1; Export-ModuleMember -Variable exported'
            Import-Module $file
            try {
                Get-StartWarning { $exported } -With @{ ListenerOption = @{ Module = $file } } | Should -BeNullOrEmpty
            }
            finally {
                Remove-Module Exporting
            }
        }

        It 'comes for the variables of a new shell' {
            $result = Invoke-Pwsh @"
                # The host sets it for the prompt only, so workers do not have it.
                `$names = (Get-Variable).Name -ne 'PROFILE'
                `$block = [scriptblock]::Create((`$names | ForEach-Object { "```${`$_}" }) -join '; ')
                Import-Module '$ModuleManifest'
                `$with = @{ Schema = '$TestProtos/greeter.proto'; Service = 'demo.Greeter' }
                `$listener = Start-RpcListener 'ncalrpc:[$(New-TestName)]' `$block @with -WarningVariable warned
                "`$(`$names.Count -gt 30) `$(`$warned.Count)"
"@

            $result.Output.Trim() | Should -Be 'True 0' -Because $result.Error
        }
    }

    Context 'the samples of about_ProtoRpc_State' {
        It 'count across callers and workers' {
            $result = Invoke-Pwsh "& '$RepositoryRoot/examples/state/count.ps1' -Times 10"

            $result.Error | Should -BeNullOrEmpty
            $result.Output -split '\r?\n' | Where-Object { $_ } | Should -Be 'coffee: 40', 'tea: 40'
        }

        It 'share the state of a module that serves' {
            Import-Module (Join-Path $RepositoryRoot examples state SearchService.psm1)
            try {
                $listener = Start-SearchService "ncalrpc:[$(New-TestName)]" -WarningVariable warned
                $rpc = Connect-RpcEndpoint $listener.Endpoint[0] -Schema $listener.Schema
                $replies = 'tea', 'tea', 'coffee' | ForEach-Object { @{ query = $_ } } | Invoke-RpcMethod Search -Connection $rpc

                $replies.result.title | Should -Be 'search 1', 'search 2', 'search 1'
                Get-SearchCount | ForEach-Object { "$($_.Query) $($_.Count)" } | Should -Be 'coffee 1', 'tea 2'
                $warned | Should -BeNullOrEmpty
            }
            finally {
                Clear-Test
                Remove-Module SearchService
            }
        }
    }
}
