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
        $schema | Export-RpcSchema $target -As Proto

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
            Should -Throw -ErrorId 'WrongFileEnding,*' -ExpectedMessage '*-As Proto*'
    }
}
