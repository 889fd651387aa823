. (Join-Path $PSScriptRoot common.ps1)

Describe 'Commands of a hostile service' {
    BeforeAll {
        # A .proto file of the text; comments may have any characters.
        function Global:New-Proto([string] $Text) {
            $path = Join-Path $TestDrive "$(New-TestName).proto"
            [IO.File]::WriteAllText($path, "syntax = 'proto3'; package evil;`n$Text")
            $path
        }
    }

    BeforeEach { $Global:Pwned = $false }

    AfterAll {
        Remove-Module Evil -ErrorAction Ignore
        Clear-Test
    }

    It 'keep comments out of script and help: <Name>' -ForEach @(
        @{ Name = 'the end of a comment'; Comment = '#> $Global:Pwned = $true <#' }
        @{ Name = 'a subexpression'; Comment = '$($Global:Pwned = $true)' }
        @{ Name = 'backticks and quotes'; Comment = "`` ' `" $([char]0x2018)$([char]0x2019)$([char]0x201A)$([char]0x201B)$([char]0x201C)$([char]0x201D)$([char]0x201E); `$Global:Pwned = `$true" }
        @{ Name = 'ends of lines of all kinds'
           Comment = "a`r`$Global:Pwned = `$true$([char]0x85)`$Global:Pwned = `$true$([char]0x2028)`$Global:Pwned = `$true$([char]0x2029)`$Global:Pwned = `$true$([char]0xB)`$Global:Pwned = `$true$([char]0xC)`$Global:Pwned = `$true" }
        @{ Name = 'a here-string'; Comment = "'@`n`$Global:Pwned = `$true`n@'" }
        @{ Name = 'keywords of help'; Comment = ".SYNOPSIS`n .DESCRIPTION`n.EXTERNALHELP http://evil`n.FORWARDHELPTARGETNAME Get-Process`n.PARAMETER Id" }
    ) {
        $lines = ($Comment -split "`n").ForEach{ "// $_" } -join "`n"
        $path = New-Proto "message M {`n$lines`nint32 id = 1;`n}`n$lines`nservice S {`n$lines`nrpc GetIt (M) returns (M);`n}"

        $module = Import-RpcService -Schema $path -Prefix Evil -PassThru
        $help = Get-Help Get-EvilIt -Full | Out-String
        $null = Get-Help Get-EvilIt -Parameter Id
        (Get-Command Get-EvilIt).Parameters.Keys | Should -Contain Id
        $module.ExportedCommands.Count | Should -Be 1
        $help | Should -Match 'Method: evil\.S/GetIt'
        $help | Should -Not -Match "[$([char]0x85)$([char]0x2028)$([char]27)]"

        Export-RpcService (Join-Path $TestDrive Evil) $path -Force
        $errors = $null
        $ast = [System.Management.Automation.Language.Parser]::ParseFile(
            (Join-Path $TestDrive Evil Evil.psm1), [ref] $null, [ref] $errors)
        $errors | Should -BeNullOrEmpty
        $ast.FindAll({ $args[0] -is [System.Management.Automation.Language.FunctionDefinitionAst] }, $true).Name |
            Should -Be 'Connect-Evil'
        $ast.FindAll({ $args[0] -is [System.Management.Automation.Language.CommandAst] }, $true) |
            Should -BeNullOrEmpty
        # A session has one module of the name.
        Remove-Module $module
        Import-Module (Join-Path $TestDrive Evil) -ErrorAction Stop
        Remove-Module Evil
        $Global:Pwned | Should -BeFalse
    }

    It 'are imported with a comment that is cut within a character' {
        $emoji = [char]::ConvertFromUtf32(0x1F600)
        $path = New-Proto "message M {`n//$('x' * 3999)$emoji`nint32 id = 1;`n}`nservice S {`n//$('y' * 3999)$emoji`nrpc GetIt (M) returns (M);`n}"

        Import-RpcService -Schema $path -Prefix Evil
        $help = Get-Help Get-EvilIt -Full | Out-String -Width 5000
        $help | Should -Match 'y{3999}\.\.\.'
        $help | Should -Match 'x{3999}\.\.\.'
        $help | Should -Not -Match $emoji
        Remove-Module Evil
    }

    It 'have shorter names where those of the schema are long' {
        $long = 'a' * 2000
        $path = New-Proto "message M$long { int32 id = 1; E$long e = 2; M$long f$long = 3; repeated int32 f${long}b = 4; } enum E$long { V$long = 0; } service S$long { rpc Get$long (M$long) returns (M$long); rpc Get${long}b (M$long) returns (M$long); }"
        $listener = Start-RpcListener "inproc://$(New-TestName)" -Schema $path -Handler { param($Request) $Request }

        $module = Import-RpcService $listener.Endpoint[0] -Schema $path -Prefix Evil -PassThru
        $names = @($module.ExportedCommands.Keys)
        $names | Should -HaveCount 2
        foreach ($name in $names) {
            $name.Length | Should -BeLessThan 220
            $given = @{ Id = 5; "F${long}b" = 7 }
            (& $name @given)."f${long}b" | Should -Be 7
            (Get-Help $name -Full | Out-String).Length | Should -BeGreaterThan 1000
        }
        Remove-Module Evil

        $own = Import-RpcService -Schema $path -PassThru
        $own.ExportedCommands.Count | Should -Be 2
        $own | Remove-Module
        $listener | Stop-RpcListener -DrainTimeout 0
    }

    It 'are refused where a name is no identifier' {
        $set = Join-Path $TestDrive it.pb
        Export-RpcSchema $set (New-Proto `
            'message M { int32 id = 1; } enum E { AAAAAAAA = 0; } service S { rpc AAAAAAAA (M) returns (M); }')
        $bytes = [IO.File]::ReadAllBytes($set)
        foreach ($name in '$(throw)', "A';Clean", 'A";Clean', "A`nClean!", "A$([char]0x2019);Cls") {
            $text = [Text.Encoding]::Latin1.GetString($bytes)
            $raw = [Text.Encoding]::UTF8.GetBytes($name)[0..7]
            $text = $text.Replace('AAAAAAAA', [Text.Encoding]::Latin1.GetString($raw))
            $file = Join-Path $TestDrive evil.pb
            [IO.File]::WriteAllBytes($file, [Text.Encoding]::Latin1.GetBytes($text))

            { Import-RpcService -Schema $file -Prefix Evil -ErrorAction Stop } | Should -Throw -ErrorId 'SchemaError,*'
            Get-Module Evil | Should -BeNullOrEmpty
        }
    }

    It 'take fields named as variables and parameters of the shell' {
        $names = 'verbose', 'Debug', 'WhatIf', 'confirm', 'error_action', 'PSItem', '_', 'session_state', 'CommandRuntime', 'stopping', '__rpcService',
            'input', 'args', 'this', 'true', 'false', 'null', 'error', 'host', 'home', 'pid', 'path', 'call',
            'PSCmdlet', 'MyInvocation', 'PSBoundParameters', 'PSScriptRoot', 'ExecutionContext', 'InputObject',
            'connection', 'deadline', 'header', 'as_hashtable', 'throttle_limit', 'as_job', 'vb', 'ea', 'ov',
            'StackTrace', 'foreach', 'switch', 'matches', 'ErrorActionPreference', 'function', 'if', 'param', 'Count',
            'Length', 'pwd', '_1st', 'x_y', 'X_Y'
        $fields = for ($i = 0; $i -lt $names.Count; $i++) { "string $($names[$i]) = $($i + 1) [json_name = 'j$i'];" }
        $path = New-Proto "message M { $fields } message N { M nested = 1; } service S { rpc GetIt (M) returns (M); rpc GetIn (N) returns (N); }"
        $listener = Start-RpcListener "inproc://$(New-TestName)" -Schema $path -Handler @{
            GetIt = { param($Request) $Request }; GetIn = { param($Request) $Request } }
        Import-RpcService $listener.Endpoint[0] -Schema $path -Prefix Evil

        $own = [System.Management.Automation.Cmdlet]::CommonParameters +
            'InputObject', 'Connection', 'Deadline', 'Header', 'AsHashtable', 'ThrottleLimit', 'AsJob'
        $parameters = (Get-Command Get-EvilIt).Parameters.Keys.Where{ $_ -notin $own }
        $parameters.Count | Should -Be $names.Count
        $given = @{}
        $parameters.ForEach{ $given[$_] = "value of $_" }
        $reply = Get-EvilIt @given -AsHashtable
        @($reply.Values | Sort-Object) | Should -Be @($given.Values | Sort-Object)
        $template = (Complete 'Get-EvilIn -Nested ').CompletionText
        $template | Should -Not -BeNullOrEmpty
        (& ([scriptblock]::Create($template))).Count | Should -BeGreaterThan 10
        $listener | Stop-RpcListener -DrainTimeout 0
    }

    It 'have names of their own where methods differ by case' {
        $path = New-Proto 'message M { int32 id = 1; } service S { rpc GetIt (M) returns (M); rpc Getit (M) returns (M); rpc GETIT (M) returns (M); }'
        $listener = Start-RpcListener "inproc://$(New-TestName)" -Schema $path -Handler {
            @{ id = ('GetIt', 'Getit', 'GETIT').IndexOf(($RpcContext.Method -split '/')[-1]) + 1 }
        }
        $module = Import-RpcService $listener.Endpoint[0] -Schema $path -Prefix Evil -PassThru
        $names = @($module.ExportedCommands.Keys)

        $names | Should -HaveCount 3
        $names.ForEach{ (& $_).id } | Sort-Object | Should -Be 1, 2, 3
        $listener | Stop-RpcListener -DrainTimeout 0
    }

    It 'are bounded in time: many methods with many fields and long comments' {
        $fields = (1..500).ForEach{ "// $('x' * 2000)`nstring field_$_ = $_;" } -join "`n"
        $methods = (1..1000).ForEach{ "rpc Get$_ (M) returns (M);" } -join "`n"
        $path = New-Proto "message M {`n$fields`n}`nservice S {`n$methods`n}"

        $watch = [Diagnostics.Stopwatch]::StartNew()
        Import-RpcService -Schema $path -Prefix Evil -WarningAction SilentlyContinue -WarningVariable warned
        $watch.Elapsed.TotalSeconds | Should -BeLessThan 60
        (Get-Module Evil).ExportedCommands.Count | Should -Be 1000
        $warned | Should -BeLike '*commands have no parameters*-InputObject*'
        (Get-Command Invoke-EvilGet1).Parameters.Keys | Should -Contain Field500
        (Get-Command Invoke-EvilGet1000).Parameters.Keys | Should -Not -Contain Field500
    }
}
