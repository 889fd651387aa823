. (Join-Path $PSScriptRoot common.ps1)

Describe 'Export-RpcSchema' {
    BeforeAll { $schema = Import-RpcSchema (Join-Path $TestProtos greeter.proto) }

    BeforeEach { $target = Join-Path $TestDrive (New-TestName) }

    It 'writes a descriptor set that is the same schema' {
        $schema | Export-RpcSchema "$target.pb"

        $again = Import-RpcSchema "$target.pb"
        $again.Messages.FullName | Should -Be $schema.Messages.FullName
        $again.Services[0].Comment | Should -Be $schema.Services[0].Comment
    }

    It 'writes .proto files that compile again' {
        $schema | Export-RpcSchema $target -Format Proto

        $again = Import-RpcSchema (Join-Path $target *.proto)
        $again.Messages.FullName | Should -Be $schema.Messages.FullName
        (Get-RpcMethod Watch -Schema $again).IsServerStreaming | Should -BeTrue
    }

    It 'takes a schema by path, and writes no output' {
        Export-RpcSchema "$target.pb" (Join-Path $TestProtos greeter.proto) | Should -BeNullOrEmpty

        (Get-Item "$target.pb").Length | Should -BeGreaterThan 100
    }

    It 'replaces a file only with -Force' {
        Set-Content "$target.pb" 'mine'

        { $schema | Export-RpcSchema "$target.pb" -ErrorAction Stop } | Should -Throw -ErrorId 'FileExists,*'
        Get-Content "$target.pb" | Should -Be 'mine'

        $schema | Export-RpcSchema "$target.pb" -Force
        (Import-RpcSchema "$target.pb").Services | Should -HaveCount 2
    }

    It 'writes nothing with -WhatIf' {
        $schema | Export-RpcSchema "$target.pb" -WhatIf

        "$target.pb" | Should -Not -Exist
    }

    It 'writes an OpenAPI document into a file named so, or with -Format OpenApi' {
        $schema | Export-RpcSchema "$target.openapi.json"
        $schema | Export-RpcSchema "$target.json" -Format OpenApi

        foreach ($file in "$target.openapi.json", "$target.json") {
            $document = Get-Content $file -Raw | ConvertFrom-Json -AsHashtable
            $document.openapi | Should -BeLike '3.1.*'
            $document.paths.Keys | Should -Contain '/demo.Greeter/SayHello'
        }
        { $schema | Export-RpcSchema "$target.openapi.json" -ErrorAction Stop } | Should -Throw -ErrorId 'FileExists,*'
        { $schema | Export-RpcSchema $TestDrive -Format OpenApi -ErrorAction Stop } |
            Should -Throw -ErrorId 'PathIsFolder,*' -ExpectedMessage '*an OpenAPI document is one file*'
    }

    It 'does not write binary into a .proto file' {
        { $schema | Export-RpcSchema "$target.proto" -ErrorAction Stop } |
            Should -Throw -ErrorId 'WrongFileEnding,*' -ExpectedMessage '*-Format Proto*'
    }

    It 'says what it wrote into a file without an ending' {
        $schema | Export-RpcSchema $target -WarningVariable warnings -WarningAction SilentlyContinue

        $target | Should -Exist
        "$warnings" | Should -BeLike '*descriptor set*.pb*-Format Proto*'
        $schema | Export-RpcSchema "$target.pb" -WarningVariable none -WarningAction SilentlyContinue
        $none | Should -BeNullOrEmpty
    }

    It 'says that a descriptor set is no folder' {
        { $schema | Export-RpcSchema $TestDrive -ErrorAction Stop } |
            Should -Throw -ErrorId 'PathIsFolder,*' -ExpectedMessage '*-Format Proto*'
    }

    It 'writes the schema of a connection' {
        $listener = Start-TestListener @{ SayHello = { @{ } } }
        $rpc = Connect-Test $listener

        $rpc | Export-RpcSchema "$target.1.pb"
        Export-RpcSchema "$target.2.pb" -Connection $rpc
        Export-RpcSchema "$target.3.pb"

        foreach ($number in 1..3) {
            (Import-RpcSchema "$target.$number.pb").Services.FullName | Should -Contain 'demo.Greeter'
        }
        Clear-Test
    }

    Context 'with names and folders that lead elsewhere' {
        BeforeAll {
            # A descriptor set whose one file has another name, as a hostile server's reflection can say.
            function NewSchemaOf([string] $Name) {
                $folder = Join-Path $TestDrive (New-TestName)
                # As long as the wanted name, which is put in its place.
                $placeholder = 'p' * ($Name.Length - 6) + '.proto'
                $null = New-Item -ItemType Directory $folder
                Set-Content (Join-Path $folder $placeholder) 'syntax = "proto3"; message Only {}'
                $set = Join-Path $folder set.pb
                Import-RpcSchema (Join-Path $folder $placeholder) | Export-RpcSchema $set
                $bytes = [Text.Encoding]::Latin1.GetString([IO.File]::ReadAllBytes($set)).Replace($placeholder, $Name)
                [IO.File]::WriteAllBytes($set, [Text.Encoding]::Latin1.GetBytes($bytes))
                Import-RpcSchema $set
            }
        }

        BeforeEach { $outside = New-Item -ItemType Directory (Join-Path $TestDrive "outside$(New-TestName)") }

        It 'writes nothing for the file <Name>' -ForEach @(
            @{ Name = '../escaped.proto' }
            @{ Name = 'sub/../../escaped.proto' }
            @{ Name = '/tmp/protorpc-escaped.proto' }
            @{ Name = '//host/share.proto' }
            @{ Name = 'C:/escaped.proto' }
            @{ Name = 'C:escaped.proto' }
            @{ Name = '..\escaped.proto' }
            @{ Name = 'stream.proto:x.proto' }
            @{ Name = 'folder//empty.proto' }
            @{ Name = "esc`e[31m.proto" }
            @{ Name = "line`nbreak.proto" }
        ) {
            $hostile = NewSchemaOf $Name
            $before = (Get-ChildItem -LiteralPath $TestDrive -Recurse -Force).FullName

            { $hostile | Export-RpcSchema $target -Format Proto -ErrorAction Stop } |
                Should -Throw -ErrorId 'SchemaError,*' -ExpectedMessage '*nothing is written*descriptor set*'

            (Get-ChildItem -LiteralPath $TestDrive -Recurse -Force).FullName | Should -Be $before
            '/tmp/protorpc-escaped.proto' | Should -Not -Exist
            # A descriptor set keeps every name.
            $hostile | Export-RpcSchema "$target.pb"
            (Import-RpcSchema "$target.pb").RootFiles | Should -BeExactly $Name
        }

        It 'writes no device of Windows for <_>' -Skip:(-not $IsWindows) -ForEach 'aux.proto', 'x/CON.proto', 'COM1.x.proto' {
            $hostile = NewSchemaOf $_

            { $hostile | Export-RpcSchema $target -Format Proto -ErrorAction Stop } |
                Should -Throw -ErrorId 'SchemaError,*' -ExpectedMessage '*nothing is written*'
        }

        It 'replaces a link in the place of a file, and leaves what it leads to' {
            $mine = Join-Path $outside mine.txt
            Set-Content $mine 'mine'
            $null = New-Item -ItemType Directory $target
            $null = New-Item -ItemType SymbolicLink (Join-Path $target greeter.proto) -Target $mine

            $schema | Export-RpcSchema $target -Format Proto -Force

            Get-Content $mine | Should -Be 'mine'
            (Get-Item (Join-Path $target greeter.proto)).LinkTarget | Should -BeNullOrEmpty
            (Import-RpcSchema (Join-Path $target greeter.proto)).Services | Should -HaveCount 2
        }

        It 'replaces a link that leads nowhere' {
            $null = New-Item -ItemType Directory $target
            $nowhere = Join-Path $outside nowhere.proto
            $null = New-Item -ItemType SymbolicLink (Join-Path $target greeter.proto) -Target $nowhere

            $schema | Export-RpcSchema $target -Format Proto -Force

            $nowhere | Should -Not -Exist
            Join-Path $target greeter.proto | Should -Exist
        }

        It 'writes nothing where a folder on the way is a link' {
            $deep = NewSchemaOf 'a/b/deep.proto'
            $null = New-Item -ItemType Directory (Join-Path $target a)
            $null = New-Item -ItemType SymbolicLink (Join-Path $target a/b) -Target $outside

            { $deep | Export-RpcSchema $target -Format Proto -Force -ErrorAction Stop } |
                Should -Throw -ErrorId 'SchemaError,*' -ExpectedMessage "*is a link to '*nothing is written*"

            Get-ChildItem $outside -Force | Should -BeNullOrEmpty
            Get-ChildItem (Join-Path $target a) -Name -Force | Should -Be 'b'
        }

        It 'asks for -Force where a link is in the place of a descriptor set' {
            $mine = Join-Path $outside mine.txt
            Set-Content $mine 'mine'
            $null = New-Item -ItemType SymbolicLink "$target.pb" -Target $mine

            { $schema | Export-RpcSchema "$target.pb" -ErrorAction Stop } | Should -Throw -ErrorId 'FileExists,*'

            Get-Content $mine | Should -Be 'mine'
        }

        It 'takes a folder that you name, though it is a link' {
            $null = New-Item -ItemType SymbolicLink $target -Target $outside

            $schema | Export-RpcSchema $target -Format Proto

            Join-Path $outside greeter.proto | Should -Exist
        }
    }
}
