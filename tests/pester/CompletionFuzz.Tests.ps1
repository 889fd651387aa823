. (Join-Path $PSScriptRoot common.ps1)

# Schemas and servers with random names, each of a seed, for every completer of the module. More seeds:
# $env:PROTORPC_COMPLETION_SEEDS = '1..100'.
BeforeDiscovery {
    $seeds = $env:PROTORPC_COMPLETION_SEEDS ? [scriptblock]::Create($env:PROTORPC_COMPLETION_SEEDS).Invoke() : 1..2
    $completers = foreach ($command in Get-Command -Module ProtoRpc) {
        foreach ($parameter in $command.Parameters.Values) {
            if ($parameter.Attributes.Where({ $_ -is [System.Management.Automation.ArgumentCompleterAttribute] })) {
                @{ Command = $command.Name; Parameter = $parameter.Name }
            }
        }
    }
}

Describe 'Completion with the random names of seed <_>' -ForEach $seeds {
    BeforeAll {
        $random = [Random]::new($_)
        $before = $PWD
        Set-Location $TestDrive
        $endpointsBefore = $env:PROTORPC_ENDPOINTS
        $env:PROTORPC_ENDPOINTS = Join-Path $TestDrive names "$(New-TestName).json"

        # What means something to the shell, to a console, or to who reads the source of either.
        $pieces = "'", "''", '"', '`', '$(New-Item pwned)', '${x}', '$x', ';New-Item pwned;', "`n", "`r`n", "`t", '|', '&',
            '>pwned', '2>&1', '@(', '@{', '@''', "'@", '}', '{', ')', '(', '#', '<#', '#>', '--%', '--', '-Force', ',', '..',
            '[IO.File]::Delete(1)', '%', '?', '*', '~', '\', '/', ' ', '  ', '=', ':', '::', '1e9', '0x1', '$null', 'é', '漢',
            "`u{2018}", "`u{2019}", "`u{201A}", "`u{201B}", "`u{201C}", "`u{201D}", "`u{201E}", "`u{2013}", "`u{2014}",
            "`u{2015}", "`u{a0}", "`u{85}", "`u{2028}", "`u{2029}", "`u{202e}", "`u{200b}", "`u{feff}", "`u{1f600}",
            "`e]0;title`a", "`u{9b}2J", "`b", "`u{7f}", 'x', 'New-Item pwned'
        function NewText {
            -join (1..$random.Next(1, 8)).ForEach({ $pieces[$random.Next($pieces.Count)] })
        }
        function Quote([string] $Text) {
            '"' + -join ([Text.Encoding]::UTF8.GetBytes($Text).ForEach({ '\x{0:x2}' -f $_ })) + '"'
        }

        # Names of Protocol Buffers are words, so these are the worst of them.
        $words = 'if', 'function', 'exit', 'param', 'class', 'begin', 'process', 'end', 'data', 'trap', 'in', 'else', 'while',
            '_', '__proto__', 'PSItem', 'true', 'false', 'null', 'NaN', 'inf', 'E5', 'x0x1f', 'Count', 'Keys', 'Values', 'Length',
            'PSObject', 'GetEnumerator', 'ForEach', 'Where', 'args', 'input', 'this', 'Error', 'ExecutionContext', 'env',
            'workflow', 'using', 'enum', 'hidden', 'static', 'default', 'throw', 'return', 'switch', 'New', 'Item', 'Message'
        function NewWord([int] $Index) {
            $word = $words[$random.Next($words.Count)]
            switch ($random.Next(5)) {
                0 { $word }
                1 { $word.ToUpperInvariant() + $Index }
                2 { "_$word" * $random.Next(1, 40) + $Index }
                default { "$word$Index" }
            }
        }
        function NewNames([int] $Count) {
            $taken = [Collections.Generic.HashSet[string]]::new([StringComparer]::OrdinalIgnoreCase)
            for ($i = 0; $taken.Count -lt $Count; $i++) {
                $name = NewWord $i
                # Names that JSON could not tell apart are refused by protoc.
                if ($taken.Add($name.Replace('_', ''))) { $name }
            }
        }
        function NewComment { "// $((NewText) -replace '[\r\n\u0000]', ' ')" }

        $types = 'string', 'bytes', 'int32', 'uint64', 'double', 'bool', 'Kind', 'Request', 'float'
        $fields = $index = 0
        $fields = foreach ($name in NewNames 24) {
            $index++
            $type = $types[$random.Next($types.Count)]
            $json = $random.Next(2) ? "json_name = $(Quote "$(NewText)$index")" : $null
            switch ($random.Next(4)) {
                0 { NewComment; "repeated $type $name = $index$($json ? " [$json]" : '');" }
                1 { "map<string, $type> $name = $index;" }
                default {
                    $given = $type -in 'string', 'bytes' -and $random.Next(3) ? "default = $(Quote (NewText))" : $null
                    $options = @($json, $given).Where({ $_ }) -join ', '
                    "optional $type $name = $index$($options ? " [$options]" : ''); $(NewComment)"
                }
            }
        }
        $values = ($index = 0)
        $values = foreach ($name in NewNames 6) { "  $name = $index; $(NewComment)"; $index++ }
        $methods = (NewNames 5).ForEach({ "  $(NewComment)`n  rpc $_ (Request) returns (Reply);" })
        $folder = Join-Path $TestDrive "s$([char] 0x2019); New-Item pwned; $($random.Next())"
        $null = New-Item -ItemType Directory $folder
        $proto = Join-Path $folder "f$([char] 0x2018) `$(New-Item pwned).proto"
        [IO.File]::WriteAllText($proto, @"
syntax = "proto2";
package $(@(NewNames 2) -join '.');
$(NewComment)
message Request {
$($fields -join "`n")
}
enum Kind {
$($values -join "`n")
}
message Reply {}
$(NewComment)
service Things {
$($methods -join "`n")
}
"@)
        $Global:fuzzSchema = Import-RpcSchema $proto
        $service = Get-RpcService -Schema $fuzzSchema
        $handlers = @{}
        $service.Methods.ForEach({ $handlers["$($service.FullName)/$($_.Name)"] = { $RpcContext.Session["k$([char] 0x2019)"] = 1; @{} } })
        $method = "$($service.FullName)/$($service.Methods[0].Name)"
        # A server behind reflection, whose names the client has not chosen.
        $listener = Start-RpcListener -Schema $fuzzSchema -Service $service.FullName -Endpoint "grpc+unix://$folder/s",
            "ncalrpc:[$(New-TestName)]" -Handler $handlers
        $Global:fuzzConnection = Connect-RpcEndpoint $listener.Endpoint[0]
        $local = Connect-RpcEndpoint $listener.Endpoint[1] -Schema $fuzzSchema -Service $service.FullName
        $null = Invoke-RpcMethod $method -Connection $local
        for ($i = 0; $i -lt 3; $i++) { Register-RpcEndpoint "n$i" grpc://127.0.0.1:1 -Tag (NewText), (NewText) }
        $null = New-RpcMock -Schema $fuzzSchema
        Enable-RpcCompletion

        $seen = [Collections.Generic.HashSet[string]]::new()
        function Check([string] $Line) {
            $watch = [Diagnostics.Stopwatch]::StartNew()
            $found = (TabExpansion2 $Line $Line.Length).CompletionMatches
            $watch.Elapsed.TotalSeconds | Should -BeLessThan 10 -Because $Line
            foreach ($one in $found) {
                # Files of the shell's own completion have their own quoting; keys stand before an equals sign.
                if ($one.ResultType -in 'ProviderItem', 'ProviderContainer', 'Command', 'ParameterName', 'Variable', 'Type') { continue }
                $text = $one.ResultType -eq 'Property' ? "@{ $($one.CompletionText) = 1 }" : $one.CompletionText
                $shown = "$($one.ListItemText)$($one.ToolTip)"
                # Many parameters offer the same, which is looked at once.
                if (-not $seen.Add("$text`0$shown")) { continue }
                Find-LiveSyntax $text | Should -BeNullOrEmpty -Because $Line
                $shown -match '[\x00-\x1f\x7f-\x9f\u2028\u2029\u202e]' | Should -BeFalse -Because $Line
            }
            $found
        }
    }

    AfterAll {
        Disable-RpcCompletion
        Set-Location $before
        $env:PROTORPC_ENDPOINTS = $endpointsBefore
        Clear-Test
        Remove-Variable fuzzSchema, fuzzConnection -Scope Global -ErrorAction Ignore
        Remove-Item -LiteralPath $folder -Recurse -ErrorAction Ignore
    }

    It 'offers nothing but constants for -<Parameter> of <Command>' -ForEach $completers {
        $given = (Get-Command $Command).Parameters
        $line = $Command
        if ($given.ContainsKey('Schema') -and $Parameter -notin 'Schema', 'Connection' -and $random.Next(2)) {
            $line += ' -Schema $fuzzSchema'
        } elseif ($given.ContainsKey('Connection') -and $Parameter -ne 'Connection') {
            $line += ' -Connection $fuzzConnection'
        } elseif ($given.ContainsKey('Schema') -and $Parameter -notin 'Schema', 'Connection') {
            $line += ' -Schema $fuzzSchema'
        }
        if ($given.ContainsKey('Method') -and $Parameter -ne 'Method') { $line += " -Method $method" }
        if ($Command -like 'ConvertTo-*' -and $Parameter -eq 'InputObject') { $line += " -Type $($service.Methods[0].RequestType)" }

        foreach ($typed in '', "'", 'a', $method.Substring(0, 1), "'$($pieces[$random.Next($pieces.Count)].Replace("'", "''"))") {
            $null = Check "$line -$Parameter $typed"
        }
        Test-Path pwned | Should -BeFalse
    }

    It 'offers nothing but constants inside tables' {
        $names = (Get-RpcMessageType -Schema $fuzzSchema | Where-Object Name -EQ Request).Fields.Name
        $lines = @("Invoke-RpcMethod -Connection `$fuzzConnection $method ", "Invoke-RpcMethod -Connection `$fuzzConnection $method @{ ")
        $lines += $names.ForEach({ "Invoke-RpcMethod -Connection `$fuzzConnection $method @{ $_ = " })
        $lines += $names.ForEach({ "Invoke-RpcMethod -Connection `$fuzzConnection $method @{ $_ = @{ " })
        $lines += $words.ForEach({ "Invoke-RpcMethod -Connection `$fuzzConnection $method @{ $($_.Substring(0, 1))" })

        $found = $lines.ForEach({ Check $_ })

        $found.Count | Should -BeGreaterThan 30
        Test-Path pwned | Should -BeFalse
    }
}
