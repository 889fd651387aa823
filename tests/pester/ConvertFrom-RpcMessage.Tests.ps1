. (Join-Path $PSScriptRoot common.ps1)

Describe 'ConvertFrom-RpcMessage' {
    BeforeAll {
        $schema = Import-RpcSchema (Join-Path $TestProtos greeter.proto)
        $bytes = [byte[]](0x0A, 1, 0x41, 0x10, 5)
    }

    It 'gives an object of bytes, by parameter and by pipeline' {
        (ConvertFrom-RpcMessage demo.HelloReply $bytes -Schema $schema).text | Should -Be 'A'
        ($bytes | ConvertFrom-RpcMessage demo.HelloReply -Schema $schema).number | Should -Be 5
        ($bytes, $bytes | ConvertFrom-RpcMessage demo.HelloReply -Schema $schema).text | Should -Be 'A', 'A'
    }

    It 'gives fields in declared order, absent ones as null' {
        $message = ConvertFrom-RpcMessage demo.HelloReply ([byte[]]@()) -Schema $schema

        $message.PSObject.Properties.Name | Should -Be 'text', 'number'
        $message.text | Should -Be ''
        $message.number | Should -BeNullOrEmpty
    }

    It 'gives each object type names of its own, with the message first' {
        $one, $other = $bytes, $bytes | ConvertFrom-RpcMessage demo.HelloReply -Schema $schema

        $one.PSTypeNames.Insert(0, 'Mine')

        $one.PSTypeNames |
            Should -Be 'Mine', 'ProtoRpc.Message#demo.HelloReply', 'ProtoRpc.Message',
                'System.Management.Automation.PSCustomObject', 'System.Object'
        $other.PSTypeNames[0] | Should -Be 'ProtoRpc.Message#demo.HelloReply'
        $other.PSObject.Copy().PSTypeNames[0] | Should -Be 'ProtoRpc.Message#demo.HelloReply'
        & { param([PSTypeName('ProtoRpc.Message#demo.HelloReply')] $Reply) $Reply.text } $other | Should -Be 'A'
    }

    It 'keeps unknown fields for the way back' {
        [byte[]] $unknown = $bytes + 0xF8, 0xFF, 1, 1

        $message = ConvertFrom-RpcMessage demo.HelloReply $unknown -Schema $schema
        $message.text = 'B'

        $back = ConvertTo-RpcMessage demo.HelloReply $message -Schema $schema
        $back | Should -Be 0x0A, 1, 0x42, 0x10, 5, 0xF8, 0xFF, 1, 1
    }

    It 'gives an ordered hashtable with -AsHashtable and the message with -Raw' {
        (ConvertFrom-RpcMessage demo.HelloReply $bytes -Schema $schema -AsHashtable).Keys | Should -Be 'text', 'number'
        (ConvertFrom-RpcMessage demo.HelloReply $bytes -Schema $schema -Raw).Type.FullName |
            Should -Be 'demo.HelloReply'
    }

    It 'takes base64 text and a stream' {
        (ConvertFrom-RpcMessage demo.HelloReply 'CgFBEAU=' -Schema $schema).text | Should -Be 'A'
        (ConvertFrom-RpcMessage demo.HelloReply ([IO.MemoryStream]::new($bytes)) -Schema $schema).number | Should -Be 5
    }

    It 'says what it takes instead of <Value>' -ForEach @(
        @{ Value = 'abc!' }, @{ Value = 1.5 }, @{ Value = 300 }, @{ Value = @{ a = 1 } }
    ) {
        { ConvertFrom-RpcMessage demo.HelloReply $Value -Schema $schema -ErrorAction Stop } |
            Should -Throw -ErrorId 'InvalidInputObject,*' -ExpectedMessage '*give a byte array*'
    }

    It 'refuses bytes that are no such message' {
        { ConvertFrom-RpcMessage demo.HelloReply ([byte[]](0x0A, 9, 1)) -Schema $schema -ErrorAction Stop } |
            Should -Throw -ExceptionType ([ProtoRpc.RpcException]) -ExpectedMessage '*demo.HelloReply*'
    }

    Context 'formats of text' {
        It 'reads each string of the pipeline, and bytes' {
            $read = '{"text":"A"}', '{"text":"B"}' |
                ConvertFrom-RpcMessage demo.HelloReply -Schema $schema -Format Json
            $read.text | Should -Be 'A', 'B'
            $utf8 = [Text.Encoding]::UTF8.GetBytes('{"text":"C"}')
            (ConvertFrom-RpcMessage demo.HelloReply $utf8 -Schema $schema -Format Json).text | Should -Be 'C'
        }

        It 'names the field, the line and the column, and goes on with the next string' {
            $read = "{`"text`":`"A`",`n`"number`":`"x`"}", '{"text":"B"}' |
                ConvertFrom-RpcMessage demo.HelloReply -Schema $schema -Format Json `
                    -ErrorAction SilentlyContinue -ErrorVariable failed

            $read.text | Should -Be 'B'
            $failed.FullyQualifiedErrorId | Should -BeLike 'InvalidFieldValue,*'
            $failed.Exception.Message | Should -BeLike 'HelloReply.number: *line 2, column 10*'
        }

        It 'passes over unknown fields with -AllowUnknownField' {
            $xml = '<root><text>A</text><nope/></root>'

            { ConvertFrom-RpcMessage demo.HelloReply $xml -Schema $schema -Format Xml -ErrorAction Stop } |
                Should -Throw -ErrorId 'UnknownField,*'
            (ConvertFrom-RpcMessage demo.HelloReply $xml -Schema $schema -Format Xml -AllowUnknownField).text |
                Should -Be 'A'
        }
    }
}
