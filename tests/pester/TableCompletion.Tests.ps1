. (Join-Path $PSScriptRoot common.ps1)

Describe 'Completion inside hashtables' {
    BeforeAll {
        $Global:tableSchema = Import-RpcSchema (Join-Path $TestProtos choices.proto)
        $listener = Start-TestListener @{ SayHello = { @{} }; Fail = { @{} }; Watch = { @{} } }
        $Global:tableConnection = Connect-Test $listener
        $Global:tableSplat = @{ Connection = $tableConnection; Method = 'SayHello' }
        $shells = $function:global:TabExpansion2
        Enable-RpcCompletion

        # What TabExpansion2 gives at the sign ^ of a line, as editors and PSReadLine call it.
        function Expand([string] $Line) {
            $cursor = $Line.IndexOf('^')
            $text = $Line.Remove($cursor, 1)
            TabExpansion2 $text $cursor
        }

        # The line with its only completion.
        function Apply([string] $Line) {
            $found = Expand $Line
            $found.CompletionMatches | Should -HaveCount 1 -Because $Line
            $Line.Replace('^', '').Remove($found.ReplacementIndex, $found.ReplacementLength).Insert(
                $found.ReplacementIndex, $found.CompletionMatches[0].CompletionText)
        }
    }

    AfterAll {
        Disable-RpcCompletion
        Clear-Test
        Remove-Variable tableSchema, tableConnection, tableSplat -Scope Global -ErrorAction Ignore
    }

    It 'completes <Line> to <Expected>' -ForEach @(
        @{ Line = 'Invoke-RpcMethod SayHello @{ na^'; Expected = 'Invoke-RpcMethod SayHello @{ name' }
        @{ Line = 'Invoke-RpcMethod SayHello @{ "na^'; Expected = 'Invoke-RpcMethod SayHello @{ name' }
        @{ Line = 'Invoke-RpcMethod SayHello @{na^}'; Expected = 'Invoke-RpcMethod SayHello @{name}' }
        @{ Line = 'Invoke-RpcMethod SayHello @{ na^xx = 1 }'; Expected = 'Invoke-RpcMethod SayHello @{ name = 1 }' }
        @{ Line = 'Invoke-RpcMethod Greeter/SayHello @{ na^'; Expected = 'Invoke-RpcMethod Greeter/SayHello @{ name' }
        @{ Line = 'Invoke-RpcMethod demo.Greeter/SayHello @{ na^'; Expected = 'Invoke-RpcMethod demo.Greeter/SayHello @{ name' }
        @{ Line = 'Invoke-RpcMethod -Message @{ na^ } -Method SayHello'; Expected = 'Invoke-RpcMethod -Message @{ name } -Method SayHello' }
        @{ Line = 'Invoke-RpcMethod -Method:SayHello -Message:@{ na^'; Expected = 'Invoke-RpcMethod -Method:SayHello -Message:@{ name' }
        @{ Line = 'Invoke-RpcMethod SayHello @{ name = "x"; ti^'; Expected = 'Invoke-RpcMethod SayHello @{ name = "x"; times' }
        @{ Line = "Invoke-RpcMethod SayHello @{`n  name = 'x'`n  ti^`n}"; Expected = "Invoke-RpcMethod SayHello @{`n  name = 'x'`n  times`n}" }
        @{ Line = 'Invoke-RpcMethod SayHello @{ mood = MOOD_G^'; Expected = "Invoke-RpcMethod SayHello @{ mood = 'MOOD_GLAD'" }
        @{ Line = "Invoke-RpcMethod SayHello @{ mood = 'MOOD_G^"; Expected = "Invoke-RpcMethod SayHello @{ mood = 'MOOD_GLAD'" }
        @{ Line = "Invoke-RpcMethod SayHello @{ mood = 'MOOD_G^' } -Deadline 3"; Expected = "Invoke-RpcMethod SayHello @{ mood = 'MOOD_GLAD' } -Deadline 3" }
        @{ Line = "Invoke-RpcMethod SayHello @{ mood =`n  mood_g^"; Expected = "Invoke-RpcMethod SayHello @{ mood =`n  'MOOD_GLAD'" }
        @{ Line = 'Invoke-RpcMethod SayHello @{ nested = @{ nested = @{ mo^'; Expected = 'Invoke-RpcMethod SayHello @{ nested = @{ nested = @{ mood' }
        @{ Line = 'Invoke-RpcMethod SayHello @{ Nested = @{ ti^ }; name = 1 }'; Expected = 'Invoke-RpcMethod SayHello @{ Nested = @{ times }; name = 1 }' }
        @{ Line = 'Invoke-RpcMethod SayHello -Connection $tableConnection -Message @{ name = "a" }, @{ ti^'; Expected = 'Invoke-RpcMethod SayHello -Connection $tableConnection -Message @{ name = "a" }, @{ times' }
        @{ Line = 'Invoke-RpcMethod SayHello -Message @(@{ name = "a" }, @{ ti^'; Expected = 'Invoke-RpcMethod SayHello -Message @(@{ name = "a" }, @{ times' }
        @{ Line = 'if ($true) { $tableConnection | Invoke-RpcMethod SayHello @{ ti^ } }; "after"'; Expected = 'if ($true) { $tableConnection | Invoke-RpcMethod SayHello @{ times } }; "after"' }
        @{ Line = '$reply = Invoke-RpcMethod SayHello @{ ti^'; Expected = '$reply = Invoke-RpcMethod SayHello @{ times' }
        @{ Line = '(Invoke-RpcMethod SayHello @{ ti^).text'; Expected = '(Invoke-RpcMethod SayHello @{ times).text' }
        @{ Line = '@{ ti^ } | Invoke-RpcMethod SayHello'; Expected = '@{ times } | Invoke-RpcMethod SayHello' }
        @{ Line = '@{ name = 1 }, @{ ti^ } | Invoke-RpcMethod SayHello | Out-Null'; Expected = '@{ name = 1 }, @{ times } | Invoke-RpcMethod SayHello | Out-Null' }
        @{ Line = '$call = @{ Method = "SayHello"; Message = @{ ti^ } }; Invoke-RpcMethod @call'; Expected = '$call = @{ Method = "SayHello"; Message = @{ times } }; Invoke-RpcMethod @call' }
        @{ Line = '$message = @{ ti^ }; Invoke-RpcMethod SayHello $message'; Expected = '$message = @{ times }; Invoke-RpcMethod SayHello $message' }
        @{ Line = 'Invoke-RpcMethod @tableSplat -Message @{ ti^'; Expected = 'Invoke-RpcMethod @tableSplat -Message @{ times' }
        @{ Line = 'Invoke-RpcMethod SayHello ([ordered]@{ ti^'; Expected = 'Invoke-RpcMethod SayHello ([ordered]@{ times' }
        @{ Line = 'Invoke-RpcMethod SayHello ([pscustomobject]@{ nested = [ordered]@{ ti^ } })'; Expected = 'Invoke-RpcMethod SayHello ([pscustomobject]@{ nested = [ordered]@{ times } })' }
        @{ Line = '[ordered]@{ ti^ } | Invoke-RpcMethod SayHello'; Expected = '[ordered]@{ times } | Invoke-RpcMethod SayHello' }
        @{ Line = '[ordered]@{ name = 1 }, [ordered]@{ ti^ }, [ordered]@{} | Invoke-RpcMethod SayHello'; Expected = '[ordered]@{ name = 1 }, [ordered]@{ times }, [ordered]@{} | Invoke-RpcMethod SayHello' }
        @{ Line = '$message = [ordered]@{ ti^ }; Invoke-RpcMethod SayHello $message'; Expected = '$message = [ordered]@{ times }; Invoke-RpcMethod SayHello $message' }
        @{ Line = 'ConvertTo-RpcMessage choices.Order @{ pe^ } -Schema $tableSchema'; Expected = 'ConvertTo-RpcMessage choices.Order @{ person } -Schema $tableSchema' }
        @{ Line = '@{ pe^ } | ConvertTo-RpcMessage Order -Schema $tableSchema'; Expected = '@{ person } | ConvertTo-RpcMessage Order -Schema $tableSchema' }
        @{ Line = 'ConvertTo-RpcMessage choices.Order @{ lines = @{ amount = 1 }, @{ am^ } } -Schema $tableSchema'; Expected = 'ConvertTo-RpcMessage choices.Order @{ lines = @{ amount = 1 }, @{ amount } } -Schema $tableSchema' }
        @{ Line = 'ConvertTo-RpcMessage choices.Order @{ by_name = @{ any = @{ am^ } } } -Schema $tableSchema'; Expected = 'ConvertTo-RpcMessage choices.Order @{ by_name = @{ any = @{ amount } } } -Schema $tableSchema' }
        @{ Line = 'ConvertTo-RpcMessage choices.Order @{ sizes = @{ any = LA^ } } -Schema $tableSchema'; Expected = "ConvertTo-RpcMessage choices.Order @{ sizes = @{ any = 'LARGE' } } -Schema `$tableSchema" }
        @{ Line = 'ConvertTo-RpcMessage choices.Order @{ all_sizes = "SMALL", "L^" } -Schema $tableSchema'; Expected = "ConvertTo-RpcMessage choices.Order @{ all_sizes = `"SMALL`", 'LARGE' } -Schema `$tableSchema" }
        @{ Line = 'ConvertTo-RpcMessage choices.Order @{ paid = t^ } -Schema $tableSchema'; Expected = 'ConvertTo-RpcMessage choices.Order @{ paid = $true } -Schema $tableSchema' }
        @{ Line = "ConvertTo-RpcMessage choices.Order @{ '[^' = 1 } -Schema `$tableSchema"; Expected = "ConvertTo-RpcMessage choices.Order @{ '[choices.note]' = 1 } -Schema `$tableSchema" }
        @{ Line = 'New-RpcMock -Schema $tableSchema -Reply @{ Or^'; Expected = 'New-RpcMock -Schema $tableSchema -Reply @{ OrderIt' }
        @{ Line = 'New-RpcMock -Schema $tableSchema -Reply @{ OrderIt = @{ pe^'; Expected = 'New-RpcMock -Schema $tableSchema -Reply @{ OrderIt = @{ person' }
        @{ Line = 'Start-RpcListener ncalrpc:[x] -Schema $tableSchema -Handler @{ Or^'; Expected = 'Start-RpcListener ncalrpc:[x] -Schema $tableSchema -Handler @{ OrderIt' }
        @{ Line = 'Start-RpcListener ncalrpc:[x] -Schema $tableSchema -Handler @{ OrderIt = @{ pe^'; Expected = 'Start-RpcListener ncalrpc:[x] -Schema $tableSchema -Handler @{ OrderIt = @{ person' }
    ) {
        Apply $Line | Should -BeExactly $Expected
    }

    It 'leaves out keys that are there, before and behind, and siblings of a oneof' {
        (Expand 'ConvertTo-RpcMessage choices.Order @{ PERSON = 1; ^; paid = $true; all_sizes = 1 } -Schema $tableSchema').CompletionMatches.ListItemText |
            Should -Be 'lines', 'by_name', 'sizes', '[choices.note]'
        (Expand 'ConvertTo-RpcMessage choices.Order @{ ^').CompletionMatches | Should -BeNullOrEmpty
        (Expand 'ConvertTo-RpcMessage choices.Order -Schema $tableSchema @{ ^').CompletionMatches.ListItemText |
            Should -Be 'person', 'company', 'lines', 'by_name', 'sizes', 'all_sizes', 'paid', '[choices.note]'
    }

    It 'tells type and comment' {
        $times, $null = (Expand 'ConvertTo-RpcMessage choices.Order -Schema $tableSchema @{ per^').CompletionMatches
        $times.ToolTip | Should -Be 'optional string: Who orders.'
        $times.ResultType | Should -Be 'Property'
    }

    It 'offers whole messages for fields of a message' {
        (Expand 'Invoke-RpcMethod SayHello @{ nested = ^').CompletionMatches.CompletionText | Should -BeLike '@{ name = *'
    }

    It 'leaves <Line> to the shell' -ForEach @(
        @{ Line = 'Get-ChildItem | Sort-Object @{ Exp^'; Expected = 'Expression' }
        @{ Line = '$tableConn^'; Expected = '$tableConnection' }
        @{ Line = 'Get-RpcConn^'; Expected = 'Get-RpcConnection' }
        @{ Line = 'Invoke-RpcMethod SayHello @{ name = $tableConn^'; Expected = '$tableConnection' }
        @{ Line = 'Invoke-RpcMethod SayHello @{ name = { Get-RpcConn^'; Expected = 'Get-RpcConnection' }
        @{ Line = '# @{ ^'; Expected = $null }
        @{ Line = 'Invoke-RpcMethod SayHello @{ counts = @{ ^'; Expected = $null }
        @{ Line = 'Invoke-RpcMethod SayHello @{ name = ^'; Expected = $null }
        @{ Line = 'Invoke-RpcMethod SayHello @{ nothing = @{ ^'; Expected = $null }
        @{ Line = 'Invoke-RpcMethod Nothing @{ ^'; Expected = $null }
        @{ Line = '@{ ^'; Expected = $null }
        @{ Line = '^'; Expected = $null }
        @{ Line = '@{@{@{(((@(@{ a = @{ ^'; Expected = $null }
        @{ Line = 'ConvertTo-RpcMessage choices.Order @{ [^ } -Schema $tableSchema'; Expected = $null }
        @{ Line = ')}]; } @{ ^'; Expected = $null }
    ) {
        (Expand $Line).CompletionMatches.CompletionText | Should -Be $Expected
    }

    It 'shows none of its own variables' {
        (Expand '$inputScr^').CompletionMatches | Should -BeNullOrEmpty
        (Expand '$cursorCol^').CompletionMatches | Should -BeNullOrEmpty
    }

    It 'is called with a syntax tree as well, which can be a part of a script' {
        $text = '$before = 1; Invoke-RpcMethod SayHello @{ na'
        $tokens = $null
        $ast = [System.Management.Automation.Language.Parser]::ParseInput($text, [ref] $tokens, [ref] $null)
        $found = TabExpansion2 -ast $ast -tokens $tokens -positionOfCursor $ast.Extent.EndScriptPosition
        $found.CompletionMatches.CompletionText | Should -Be 'name'
        $found.ReplacementIndex | Should -Be $text.IndexOf('na', 15)
    }

    It 'takes less than 50 ms' {
        $line = 'Invoke-RpcMethod SayHello @{ nested = @{ nested = @{ mo^'
        $times = foreach ($i in 1..20) { (Measure-Command { Expand $line }).TotalMilliseconds }
        # Other programs take their share of the machine from some of them.
        ($times | Sort-Object)[4] | Should -BeLessThan 50
    }

    It 'takes less than 50 ms with a schema of a path that was read before' {
        $line = "ConvertTo-RpcMessage choices.Order -Schema '$TestProtos/choices.proto' @{ pe^"
        (Expand $line).CompletionMatches.CompletionText | Should -Be 'person'
        $times = foreach ($i in 1..20) { (Measure-Command { Expand $line }).TotalMilliseconds }
        # Other programs take their share of the machine from some of them.
        ($times | Sort-Object)[4] | Should -BeLessThan 50
    }

    It 'contacts no server' {
        $silent = [System.Net.Sockets.TcpListener]::new([ipaddress]::Loopback, 0)
        $silent.Start()
        try {
            $port = $silent.LocalEndpoint.Port
            foreach ($line in "Invoke-RpcMethod SayHello -Endpoint grpc://127.0.0.1:$port -Message @{ ^",
                "Invoke-RpcMethod SayHello -Endpoint ncacn_ip_tcp:127.0.0.1[$port] -Schema grpc://127.0.0.1:$port -Message @{ ^",
                "Invoke-RpcMethod -Endpoint grpc://127.0.0.1:$port ^") {
                $watch = [Diagnostics.Stopwatch]::StartNew()
                $null = Expand $line
                $watch.Elapsed.TotalSeconds | Should -BeLessThan 1
            }
            $silent.Pending() | Should -BeFalse
        } finally {
            $silent.Stop()
        }
    }
}

Describe 'Enable-RpcCompletion' {
    BeforeAll {
        $schema = Import-RpcSchema (Join-Path $TestProtos choices.proto)
        $line = 'ConvertTo-RpcMessage choices.Order -Schema $schema @{ pe'
    }

    AfterEach {
        Disable-RpcCompletion
        Set-Item function:global:TabExpansion2 $before
    }

    BeforeEach { $before = $function:global:TabExpansion2 }

    It 'is undone by Disable-RpcCompletion' {
        Enable-RpcCompletion
        Enable-RpcCompletion
        $function:global:TabExpansion2.ToString() | Should -Not -Be $before.ToString()
        Disable-RpcCompletion
        $function:global:TabExpansion2.ToString() | Should -Be $before.ToString()
        Disable-RpcCompletion
        $function:global:TabExpansion2.ToString() | Should -Be $before.ToString()
    }

    It 'changes nothing with -WhatIf' {
        Enable-RpcCompletion -WhatIf
        $function:global:TabExpansion2.ToString() | Should -Be $before.ToString()
    }

    It 'asks the function that was there before' {
        Set-Item function:global:TabExpansion2 {
            param($inputScript, $cursorColumn, $options)
            [System.Management.Automation.CommandCompletion]::new(
                [System.Management.Automation.CompletionResult[]] @("of the other: $inputScript $cursorColumn"), -1, 0, 1)
        }
        $other = $function:global:TabExpansion2
        Enable-RpcCompletion

        (TabExpansion2 'x' 1).CompletionMatches.CompletionText | Should -Be 'of the other: x 1'
        (TabExpansion2 $line $line.Length).CompletionMatches.CompletionText | Should -Be 'person'
        Disable-RpcCompletion
        $function:global:TabExpansion2.ToString() | Should -Be $other.ToString()
    }

    It 'leaves a function that another module put around it' {
        Enable-RpcCompletion
        $Global:rpcCompletionTest = $function:global:TabExpansion2
        try {
            Set-Item function:global:TabExpansion2 {
                param($inputScript, $cursorColumn, $options)
                if ($inputScript -eq 'mine') { return 'theirs' }
                & $rpcCompletionTest $inputScript $cursorColumn
            }
            $other = $function:global:TabExpansion2
            (TabExpansion2 'mine' 4) | Should -Be 'theirs'
            (TabExpansion2 $line $line.Length).CompletionMatches.CompletionText | Should -Be 'person'
            Disable-RpcCompletion
            $function:global:TabExpansion2.ToString() | Should -Be $other.ToString()
            (TabExpansion2 $line $line.Length).CompletionMatches | Should -BeNullOrEmpty
            (TabExpansion2 'Get-Chil' 8).CompletionMatches.CompletionText | Should -Be 'Get-ChildItem'
            Enable-RpcCompletion
            (TabExpansion2 $line $line.Length).CompletionMatches.CompletionText | Should -Be 'person'
        } finally {
            Remove-Variable rpcCompletionTest -Scope Global
        }
    }

    It 'works again after another module put the shell''s own function back' {
        $shells = [initialsessionstate]::CreateDefault2().Commands['TabExpansion2'].Definition
        Enable-RpcCompletion
        Set-Item function:global:TabExpansion2 $shells
        Enable-RpcCompletion
        (TabExpansion2 $line $line.Length).CompletionMatches.CompletionText | Should -Be 'person'
        Disable-RpcCompletion
        $function:global:TabExpansion2.ToString().Trim() | Should -Be $shells.Trim()
    }

    It 'is undone with the module, and leaves a working function where another has captured it' {
        $result = Invoke-Pwsh @"
`$before = `$function:TabExpansion2.ToString()
Import-Module '$ModuleManifest'
Enable-RpcCompletion
Remove-Module ProtoRpc
`$function:TabExpansion2.ToString() -eq `$before
Import-Module '$ModuleManifest'
Enable-RpcCompletion
`$ours = `$function:TabExpansion2
Set-Item function:global:TabExpansion2 { param(`$inputScript, `$cursorColumn) & `$ours `$inputScript `$cursorColumn }
Remove-Module ProtoRpc
(TabExpansion2 'Get-Chil' 8).CompletionMatches.CompletionText
"@
        $result.Error | Should -BeNullOrEmpty
        ($result.Output -split '\r?\n').Where({ $_ }) | Should -Be 'True', 'Get-ChildItem'
    }

    It 'is of its runspace alone' {
        Enable-RpcCompletion
        $shell = [powershell]::Create([initialsessionstate]::CreateDefault2())
        try {
            $null = $shell.AddScript("Import-Module '$ModuleManifest'; `$function:TabExpansion2.ToString()")
            $shell.Invoke()[0].Trim() | Should -Be $before.ToString().Trim()
        } finally {
            $shell.Dispose()
        }
    }
}

Describe 'Parameters' {
    It 'complete: -<Parameter> of <Command>' -ForEach @(
        $names = 'Connection', 'Endpoint', 'Listener', 'Method', 'Service', 'Type', 'Format', 'Handler', 'Id'
        foreach ($command in Get-Command -Module ProtoRpc) {
            foreach ($parameter in $command.Parameters.Values) {
                if ($parameter.Name -in $names) {
                    @{ Command = $command.Name; Parameter = $parameter.Name }
                }
            }
        }
        @{ Command = 'Invoke-RpcMethod'; Parameter = 'Message' }
        @{ Command = 'Invoke-RpcMethod'; Parameter = 'InputObject' }
        @{ Command = 'ConvertTo-RpcMessage'; Parameter = 'InputObject' }
        @{ Command = 'Get-RpcMethod'; Parameter = 'Name' }
        @{ Command = 'Get-RpcService'; Parameter = 'Name' }
        @{ Command = 'Get-RpcMessageType'; Parameter = 'Name' }
    ) {
        $known = (Get-Command $Command).Parameters[$Parameter]
        $type = $known.ParameterType.IsArray ? $known.ParameterType.GetElementType() : $known.ParameterType
        $type = [Nullable]::GetUnderlyingType($type) ?? $type
        $completers = $known.Attributes.Where({
            $_ -is [System.Management.Automation.ArgumentCompleterAttribute] -or $_ -is [ValidateSet] })
        ($type.IsEnum -or $completers.Count -gt 0) | Should -BeTrue
    }
}
