. (Join-Path $PSScriptRoot common.ps1)

Describe 'Get-RpcMessageType' {
    BeforeAll {
        $schema = Import-RpcSchema @(
            Join-Path $TestProtos greeter.proto
            Join-Path $RepositoryRoot protos search.proto
        )
    }

    It 'gives the fields with type, label, number, default and comment' {
        $type = Get-RpcMessageType SearchRequest -Schema $schema

        $type.Comment | Should -Be 'What to look for.'
        $type.Fields.Name | Should -Be 'query', 'page_number', 'result_per_page'
        $type.Fields.Number | Should -Be 1, 2, 3
        $type.Fields.Label | Should -Be 'required', 'optional', 'optional'
        $type.Fields.TypeName | Should -Be 'string', 'int32', 'int32'
        $type.Fields[1].DefaultValue | Should -Be 0
        $type.Fields[0].Comment | Should -Be 'The words to look for.'
    }

    It 'finds types by wildcards' {
        (Get-RpcMessageType demo.* -Schema $schema).Name | Should -Be 'HelloRequest', 'HelloReply'
    }

    It 'names the nearest type' {
        { Get-RpcMessageType HeloReply -Schema $schema -ErrorAction Stop } |
            Should -Throw -ErrorId 'MessageNotFound,*' -ExpectedMessage '*demo.HelloReply*'
    }

    It 'tells the names of an enum, which is no message' {
        { Get-RpcMessageType mood -Schema $schema -ErrorAction Stop } |
            Should -Throw -ErrorId 'MessageNotFound,*' -ExpectedMessage (
                "'demo.Mood' is an enum, not a message. Its names are MOOD_UNSPECIFIED, MOOD_GLAD.")
    }

    It 'shows the default of an enum by its name' {
        $proto = Join-Path $TestDrive defaults.proto
        Set-Content $proto @(
            'syntax = "proto2"; enum Light { OFF = 0; ON = 1; }'
            'message Lamp { optional Light light = 1 [default = ON]; }'
        )
        $type = Get-RpcMessageType Lamp -Schema $proto

        $type | Out-String | Should -Match 'optional Light light = 1 \[default = ON\]'
        $type.Fields | Out-String | Should -Match 'light\s.*\sON'
    }

    It 'prints a type as the .proto has it, under its package, and fields as a table' {
        $type = Get-RpcMessageType HelloReply -Schema $schema

        ($type | Out-String -Width 200).Trim() -replace '\r' | Should -BeExactly @'
package demo

// The greeting.
message HelloReply {
  string text = 1;
  optional int32 number = 2;
}
'@
        $type.Fields | Out-String -Width 200 | Should -Match 'Number\s+Label\s+Type\s+Name\s+Default\s+Comment'
    }

    It 'has colours where the shell has' {
        $rendering = $PSStyle.OutputRendering
        try {
            $PSStyle.OutputRendering = 'Ansi'
            $text = Get-RpcMessageType HelloRequest -Schema $schema | Out-String
            $text | Should -Match "$([regex]::Escape($PSStyle.Foreground.Green))// Whom to greet"
            $text | Should -Match "$([regex]::Escape($PSStyle.Foreground.BrightBlue))message"
            $PSStyle.OutputRendering = 'PlainText'
            Get-RpcMessageType HelloRequest -Schema $schema | Out-String | Should -Not -Match '\e'
        }
        finally {
            $PSStyle.OutputRendering = $rendering
        }
    }

    It 'gives the well-known types of imports last' {
        $schema = Import-RpcSchema (Join-Path $RepositoryRoot tests unit Schema protos parcels.proto)

        $names = (Get-RpcMessageType -Schema $schema).FullName
        $names[0] | Should -BeLike 'parcels.*'
        $names[-1] | Should -BeLike 'google.protobuf.*'
        $names.Where({ $_ -like 'google.protobuf.*' }, 'SkipUntil') | Should -Not -Match '^parcels'
    }
}
