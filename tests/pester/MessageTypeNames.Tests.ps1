. (Join-Path $PSScriptRoot common.ps1)

# A server chooses the full names of its messages, also those of .NET classes that the shell knows.
Describe 'Type names of messages' {
    BeforeAll {
        # Load the shell's modules: some of them add type data and views.
        Get-Module -ListAvailable Microsoft.PowerShell.*, CimCmdlets | Import-Module -ErrorAction Ignore

        # Every full name that a message can have, among the names that the shell gives a meaning.
        $known = @((Get-TypeData).TypeName) + @((Get-FormatData -PowerShellVersion 7.6).TypeNames) |
            Sort-Object -Unique
        $names = $known -match '^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$'

        # protoc compiles one file for each package; a name within another name is a nested message.
        $schemaFolder = Join-Path ([IO.Path]::GetTempPath()) (New-TestName)
        $null = New-Item -ItemType Directory $schemaFolder
        function Get-Inner([string] $Name) {
            $names -match "^$([regex]::Escape($Name))\." |
                ForEach-Object { "$Name.$($_.Substring($Name.Length + 1).Split('.')[0])" } |
                Sort-Object -Unique -CaseSensitive
        }
        function Get-MessageText([string] $Name) {
            $inner = @(Get-Inner $Name) | ForEach-Object { Get-MessageText $_ }
            "message $($Name.Split('.')[-1]) { string field_a = 1; repeated $($Name.Split('.')[-1]) field_b = 2; $inner }"
        }
        $tops = $names | Where-Object {
            $name = $_
            -not ($names | Where-Object { $name.StartsWith("$_.", 'Ordinal') })
        }
        $files = foreach ($package in $tops | Group-Object { $_ -replace '\.?[^.]+$' } -CaseSensitive) {
            $file = Join-Path $schemaFolder "$($package.Name ? $package.Name : 'none').proto"
            $lines = @('syntax = "proto3";'; $package.Name ? "package $($package.Name);" : ''
                $package.Group | ForEach-Object { Get-MessageText $_ })
            Set-Content -LiteralPath $file -Value $lines
            $file
        }
        $schema = Import-RpcSchema $files -ImportPath $schemaFolder
        $json = '{"field_a":"\u001b]0;title\u0007","field_b":[{"field_a":"/etc"},{}]}'
    }

    AfterAll {
        Remove-Item -Recurse -LiteralPath $schemaFolder
        Clear-Test
    }

    It 'has no message with a name of type data or views' {
        $names.Count | Should -BeGreaterThan 100
        $names | Should -Contain System.IO.FileInfo
        $names | Should -Contain System.Diagnostics.Process

        $wrong = foreach ($name in $names) {
            $message = $json | ConvertFrom-RpcMessage $name -Schema $schema -Format Json
            foreach ($one in @($message) + $message.field_b) {
                if ($one.PSTypeNames[0] -cne "ProtoRpc.Message#$name" -or $one.PSTypeNames[0] -in $known) {
                    "$name is $($one.PSTypeNames[0])"
                }
                if ("$($one.PSObject.Properties.Name)" -ne 'field_a field_b') {
                    "$name has $($one.PSObject.Properties.Name)"
                }
            }
        }
        $wrong | Should -BeNullOrEmpty
    }

    It 'shows <_> by the view of messages' -ForEach 'System.IO.FileInfo', 'System.Diagnostics.Process' {
        $message = $json | ConvertFrom-RpcMessage $_ -Schema $schema -Format Json

        $shown = $message, $message | Out-String
        $shown | Should -Match 'field_a'
        $shown | Should -Not -Match "`e\]|`a"
        ($message | Select-Object *).PSObject.Properties.Name | Should -Be field_a, field_b
        (ConvertTo-Json $message -Depth 5 | ConvertFrom-Json).PSObject.Properties.Name | Should -Be field_a, field_b
    }

    It 'gives the commands of a service output types of messages alone' {
        $file = Join-Path $schemaFolder service.proto
        Set-Content -LiteralPath $file -Value @(
            'syntax = "proto3"; package System.IO;'
            'message FileInfo { string name = 1; }'
            'service Files { rpc GetTestFileInfo(FileInfo) returns (FileInfo); }')
        $module = Import-RpcService -Schema (Import-RpcSchema $file -ImportPath $schemaFolder) -PassThru
        try {
            $outputs = $module.ExportedCommands.Values.OutputType
            $outputs.Name | Should -Be 'ProtoRpc.Message#System.IO.FileInfo'
            $outputs.Type | Should -BeNullOrEmpty
            $command = @($module.ExportedCommands.Keys)[0]
            $help = Get-Help $command
            $help.returnValues.returnValue.type.name | Should -Be 'ProtoRpc.Message#System.IO.FileInfo'
        }
        finally {
            Remove-Module $module
        }
    }
}
