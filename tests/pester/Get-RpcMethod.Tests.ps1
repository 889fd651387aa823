. (Join-Path $PSScriptRoot common.ps1)

Describe 'Get-RpcMethod' {
    BeforeAll { $schema = Import-RpcSchema (Join-Path $TestProtos greeter.proto) }

    It 'gives methods with their types and comments' {
        $method = Get-RpcMethod SayHello -Schema $schema

        $method.FullName | Should -Be 'demo.Greeter/SayHello'
        $method.RequestType.FullName | Should -Be 'demo.HelloRequest'
        $method.ReplyType.FullName | Should -Be 'demo.HelloReply'
        $method.Comment | Should -Be 'Says hello.'
    }

    It 'finds methods by wildcards and by service' {
        (Get-RpcMethod Say* -Schema $schema).Name | Should -Be 'SayHello', 'SayGoodbye'
        (Get-RpcMethod -Service Parting -Schema $schema).Name | Should -Be 'SayGoodbye'
        (Get-RpcMethod demo.Greeter/* -Schema $schema).Count | Should -Be 3
    }

    It 'names the nearest method' {
        { Get-RpcMethod SayHelo -Schema $schema -ErrorAction Stop } |
            Should -Throw -ErrorId 'MethodNotFound,*' -ExpectedMessage '*demo.Greeter/SayHello*'
    }

    It 'prints methods as the .proto has them, under their services' {
        (Get-RpcMethod demo.Greeter/* -Schema $schema | Out-String -Width 200).Trim() -replace '\r' | Should -BeExactly @'
service demo.Greeter

// Says hello.
rpc SayHello (HelloRequest) returns (HelloReply);

rpc Fail (HelloRequest) returns (HelloReply);

rpc Watch (HelloRequest) returns (stream HelloReply);
'@
    }

    It 'prints a table where one is asked for, and marks streams' {
        Get-RpcMethod Watch -Schema $schema | Format-Table | Out-String -Width 200 |
            Should -Match 'demo.Greeter/Watch\s+demo.HelloRequest\s+stream demo.HelloReply'
    }

    It 'offers methods' {
        (Complete 'Get-RpcMethod -Schema $schema -Name Say').CompletionText | Should -Be 'SayHello', 'SayGoodbye'
    }
}
