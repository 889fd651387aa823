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

    It 'gives the request of a method' -ForEach 'SayHello', 'demo.Greeter/SayHello', 'Greeter.SayHello' {
        (New-RpcMessage $_ -Schema $schema).Keys | Should -Contain 'times'
        (New-RpcMessage -Method $_ -Schema $schema).Keys | Should -Contain 'times'
    }

    It 'gives a template that can be sent unchanged' {
        $template = New-RpcMessage SayHello -Schema $schema

        $template.counts.Count | Should -Be 0
        ConvertTo-RpcMessage demo.HelloRequest $template -Schema $schema -Format Json |
            Should -BeExactly '{"times":0,"tags":[""]}'
    }

    It 'names the nearest method' {
        { New-RpcMessage SayHelo -Schema $schema -ErrorAction Stop } |
            Should -Throw -ErrorId 'MessageNotFound,*' -ExpectedMessage "*'demo.Greeter/SayHello'*"
        (Complete 'New-RpcMessage -Schema $schema -Type SayH').CompletionText | Should -Contain 'SayHello'
    }

    It 'names the nearest type, and offers types' {
        { New-RpcMessage HeloRequest -Schema $schema -ErrorAction Stop } | Should -Throw -ErrorId 'MessageNotFound,*'
        (Complete 'New-RpcMessage -Schema $schema -Type Hello').CompletionText | Should -Contain 'demo.HelloReply'
    }
}
