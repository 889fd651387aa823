. (Join-Path $PSScriptRoot common.ps1)

Describe 'ConvertTo-RpcMessage' {
    BeforeAll { $schema = Import-RpcSchema (Join-Path $TestProtos greeter.proto) }

    It 'gives the bytes of a message as one array' {
        $bytes = ConvertTo-RpcMessage demo.HelloReply @{ text = 'A'; number = 5 } -Schema $schema

        , $bytes | Should -BeOfType byte[]
        $bytes | Should -Be 0x0A, 1, 0x41, 0x10, 5
    }

    It 'converts each object of the pipeline' {
        $sizes = @{ text = 'A' }, [pscustomobject]@{ text = 'AB' } |
            ConvertTo-RpcMessage demo.HelloReply -Schema $schema | ForEach-Object Length

        $sizes | Should -Be 3, 4
    }

    It 'unwraps what the shell wraps' {
        $wrapped = [pscustomobject]@{ tags = 'a', 'b' | Write-Output; counts = [ordered]@{ x = 1 }; mood = 'mood_glad' }

        $bytes = ConvertTo-RpcMessage demo.HelloRequest $wrapped -Schema $schema

        $back = ConvertFrom-RpcMessage demo.HelloRequest $bytes -Schema $schema
        $back.tags | Should -Be 'a', 'b'
        $back.counts['x'] | Should -Be 1
        $back.mood | Should -Be 'MOOD_GLAD'
    }

    It 'refuses an object that contains itself' {
        $loop = @{ name = 'x' }
        $loop.nested = $loop

        { ConvertTo-RpcMessage demo.HelloRequest $loop -Schema $schema -ErrorAction Stop } |
            Should -Throw -ErrorId 'TooDeep,*'
    }

    It 'names the path, the value and the remedy' {
        { ConvertTo-RpcMessage demo.HelloRequest @{ nested = @{ mood = 'sad' } } -Schema $schema -ErrorAction Stop } |
            Should -Throw -ErrorId 'InvalidFieldValue,*' -ExpectedMessage "HelloRequest.nested.mood: *'sad'*MOOD_GLAD*"
    }

    Context 'formats of text' {
        It 'writes <Format>' -ForEach @(
            @{ Format = 'Json'; Text = '{"text":"A&B","number":5}' }
            @{ Format = 'Xml'; Text = '<root><text>A&amp;B</text><number>5</number></root>' }
            @{ Format = 'Form'; Text = 'text=A%26B&number=5' }
            @{ Format = 'Text'; Text = "text: `"A&B`"`nnumber: 5`n" }
        ) {
            $written = ConvertTo-RpcMessage demo.HelloReply @{ text = 'A&B'; number = 5 } `
                -Schema $schema -Format $Format

            $written | Should -BeOfType string
            $written | Should -BeExactly $Text
            (ConvertFrom-RpcMessage demo.HelloReply $written -Schema $schema -Format $Format).text | Should -Be 'A&B'
        }

        It 'writes XML with another root and lists in one element, and reads it back' {
            $with = @{ Schema = $schema; Format = 'Xml'; NestRepeated = $true }
            $written = ConvertTo-RpcMessage demo.HelloRequest @{ name = 'A'; tags = 'x', 'y' } @with -XmlRoot greeting

            $written | Should -BeExactly '<greeting><name>A</name><tags><item>x</item><item>y</item></tags></greeting>'
            (ConvertFrom-RpcMessage demo.HelloRequest $written @with).tags | Should -Be 'x', 'y'
        }

        It 'writes an Any as the message in it when told so' {
            $proto = @'
                syntax = "proto3";
                import "google/protobuf/any.proto";
                message Box { google.protobuf.Any what = 1; }
                message Thing { string name = 1; }
'@
            Set-Content TestDrive:/box.proto $proto
            $in = @{ Schema = (Resolve-Path TestDrive:/box.proto).ProviderPath; Format = 'Text' }
            $box = @{ what = @{ '@type' = 'type.googleapis.com/Thing'; name = 'A' } }

            ConvertTo-RpcMessage Box $box @in | Should -BeLike '*type_url: "type.googleapis.com/Thing"*'
            $written = ConvertTo-RpcMessage Box $box @in -ExpandAny
            $written | Should -BeLike '*`[type.googleapis.com/Thing`] {*name: "A"*'
            (ConvertFrom-RpcMessage Box $written @in).what.name | Should -Be 'A'
        }

        It 'writes line breaks, defaults and original names when told so' {
            ConvertTo-RpcMessage demo.HelloReply @{ text = 'A' } -Schema $schema -Format Json -Indented |
                Should -BeExactly "{`n  `"text`": `"A`"`n}"
            ConvertTo-RpcMessage demo.HelloReply @{ } -Schema $schema -Format Json -IncludeDefault |
                Should -Match '"text":""'
        }

        It 'says that a form cannot hold a nested message' {
            { ConvertTo-RpcMessage demo.HelloRequest @{ nested = @{ } } -Schema $schema `
                -Format Form -ErrorAction Stop } |
                Should -Throw -ErrorId 'InvalidFieldValue,*' -ExpectedMessage 'HelloRequest.nested: *Use JSON*'
        }
    }
}
