. (Join-Path $PSScriptRoot common.ps1)

Describe 'Get-RpcService' {
    BeforeAll { $schema = Import-RpcSchema (Join-Path $TestProtos greeter.proto) }

    AfterEach { Clear-Test }

    It 'gives the services of a schema, by object, path and pipeline' {
        (Get-RpcService -Schema $schema).FullName | Should -Be 'demo.Greeter', 'demo.Parting'
        (Get-RpcService -Schema (Join-Path $TestProtos greeter.proto)).Count | Should -Be 2
        ($schema | Get-RpcService).Count | Should -Be 2
    }

    It 'finds services by full name, bare name and wildcards' {
        (Get-RpcService demo.Greeter -Schema $schema).Name | Should -Be 'Greeter'
        (Get-RpcService greeter -Schema $schema).Name | Should -Be 'Greeter'
        (Get-RpcService *.P* -Schema $schema).Name | Should -Be 'Parting'
    }

    It 'shows the services of a connection' {
        $listener = Start-TestListener { }
        $rpc = Connect-Test $listener

        ($rpc | Get-RpcService).FullName | Should -Contain 'demo.Greeter'
        (Get-RpcService).FullName | Should -Contain 'demo.Greeter'
    }

    It 'names the nearest service' {
        { Get-RpcService Greter -Schema $schema -ErrorAction Stop } |
            Should -Throw -ErrorId 'ServiceNotFound,*' -ExpectedMessage '*demo.Greeter*'
    }

    It 'says what to do when there is neither schema nor connection' {
        { Get-RpcService -ErrorAction Stop } | Should -Throw -ErrorId 'NoConnection,*' -ExpectedMessage '*-Schema*'
    }

    It 'prints services as the .proto has them, with the ids of their interfaces' {
        $service = Get-RpcService demo.Parting -Schema $schema
        ($service | Out-String -Width 200).Trim() -replace '\r' | Should -BeExactly @"
package demo

// Says goodbye.
service Parting {
  rpc SayGoodbye (HelloRequest) returns (HelloReply);
}
// interface $($service.InterfaceId)
"@
    }

    It 'prints as a table where one is asked for, and offers services' {
        Get-RpcService -Schema $schema | Format-Table | Out-String -Width 200 | Should -Match 'Service\s+Methods\s+InterfaceId'
        (Complete 'Get-RpcService -Schema $schema -Name p').CompletionText | Should -Be 'demo.Parting'
    }
}
