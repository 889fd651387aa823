. (Join-Path $PSScriptRoot common.ps1)

Describe 'New-RpcMessage' {
    BeforeAll { $schema = Import-RpcSchema (Join-Path $TestProtos greeter.proto) }

    It 'gives an ordered hashtable with every field, recursion cut' {
        $message = New-RpcMessage demo.HelloRequest -Schema $schema

        $message | Should -BeOfType System.Collections.Specialized.OrderedDictionary
        $message.Keys | Should -Be 'name', 'times', 'tags', 'mood', 'counts', 'nested'
        $message.mood | Should -Be 'MOOD_UNSPECIFIED'
        $message.nested | Should -BeNullOrEmpty
    }

    It 'gives what ConvertTo-RpcMessage takes' {
        $message = New-RpcMessage HelloRequest -Schema $schema
        $message.name = 'Ann'

        $bytes = ConvertTo-RpcMessage HelloRequest $message -Schema $schema
        (ConvertFrom-RpcMessage HelloRequest $bytes -Schema $schema).name | Should -Be 'Ann'
    }

    It 'names the nearest type, and offers types' {
        { New-RpcMessage HeloRequest -Schema $schema -ErrorAction Stop } | Should -Throw -ErrorId 'MessageNotFound,*'
        (Complete 'New-RpcMessage -Schema $schema -Type Hello').CompletionText | Should -Contain 'demo.HelloReply'
    }
}
