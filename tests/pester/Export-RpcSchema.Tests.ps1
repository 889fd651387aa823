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

    It 'takes a schema by path and gives the file with -PassThru' {
        $file = Export-RpcSchema "$target.pb" (Join-Path $TestProtos greeter.proto) -PassThru

        $file.FullName | Should -Be "$target.pb"
        $file.Length | Should -BeGreaterThan 100
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
}
