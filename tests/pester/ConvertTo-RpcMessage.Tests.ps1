. (Join-Path $PSScriptRoot common.ps1)

Describe 'ConvertTo-RpcMessage' {
    BeforeAll { $schema = Import-RpcSchema (Join-Path $TestProtos greeter.proto) }

    It 'keeps nanoseconds of values that a script does not change' {
        $proto = Join-Path $TestDrive times.proto
        Set-Content $proto @'
            syntax = "proto3"; package times;
            import "google/protobuf/timestamp.proto"; import "google/protobuf/duration.proto";
            message Times {
              google.protobuf.Timestamp at = 1; google.protobuf.Duration took = 2; repeated google.protobuf.Timestamp all = 3;
              map<string, google.protobuf.Duration> named = 4; Times inner = 5;
            }
            service Clock { rpc Same(Times) returns (Times); rpc Parts(Times) returns (Times); rpc At(google.protobuf.Timestamp) returns (google.protobuf.Timestamp); }
'@
        $times = Import-RpcSchema $proto
        $inner = '{"at":"2024-02-29T12:30:00.123456789Z","took":"-1.000000001s","all":["1970-01-01T00:00:00.000000001Z"],"named":{"a":"0.000000099s"}}'
        $json = "$($inner.Substring(0, $inner.Length - 1)),`"inner`":$inner}"
        $message = $json | ConvertFrom-RpcMessage times.Times -Schema $times -Format Json
        function Read-Times($Value) { ConvertTo-RpcMessage times.Times $Value -Schema $times -Format Json -ErrorAction Stop }

        Read-Times $message | Should -BeExactly $json
        Read-Times ($json | ConvertFrom-RpcMessage times.Times -Schema $times -Format Json -AsHashtable) | Should -BeExactly $json
        Read-Times @{ at = $message.at } | Should -BeExactly '{"at":"2024-02-29T12:30:00.123456789Z"}'
        Read-Times @{ all = $message.at, $message.inner.all[0] } |
            Should -BeExactly '{"all":["2024-02-29T12:30:00.123456789Z","1970-01-01T00:00:00.000000001Z"]}'
        Read-Times ($message | Select-Object took) | Should -BeExactly '{"took":"-1.000000001s"}'
        Read-Times ($message | ConvertTo-RpcRecord | ConvertTo-Csv | ConvertFrom-Csv) | Should -BeExactly $json
        "$message" | Should -BeExactly $json
        Read-Times @{ at = $message.at.AddSeconds(1) } | Should -BeExactly '{"at":"2024-02-29T12:30:01.123456700Z"}'

        foreach ($endpoint in "ncalrpc:[$(New-TestName)]", "inproc://$(New-TestName)") {
            $listener = Start-RpcListener -Schema $times -Service times.Clock -Endpoint $endpoint -Handler @{
                Same = { param($Request) $Request }
                Parts = { param($Request) @{ at = $Request.at; took = $Request.took; all = $Request.all; named = $Request.named; inner = $Request.inner } }
                At = { param($Request) $Request }
            }
            $rpc = Connect-RpcEndpoint $listener.Endpoint[0] -Schema $times
            Read-Times (Invoke-RpcMethod Same $message -Connection $rpc) | Should -BeExactly $json
            Read-Times (Invoke-RpcMethod Parts $message -Connection $rpc) | Should -BeExactly $json
            $at = Invoke-RpcMethod At $message.at -Connection $rpc
            Read-Times @{ at = $at } | Should -BeExactly '{"at":"2024-02-29T12:30:00.123456789Z"}'
            $module = Import-RpcService -Schema $times -Service times.Clock -Connection $rpc -PassThru
            try {
                $same = @($module.ExportedCommands.Values).Where{ $_.Name -like '*Same*' }[0]
                Read-Times ($message | & $same) | Should -BeExactly $json
                Read-Times (& $same -At $message.at) | Should -BeExactly '{"at":"2024-02-29T12:30:00.123456789Z"}'
            }
            finally {
                Remove-Module $module
            }
            $rpc | Disconnect-RpcEndpoint
            $listener | Stop-RpcListener
        }
    }

    It 'takes text for bytes only with a prefix, in hashtables, objects and rows' {
        $proto = Join-Path $TestDrive keys.proto
        Set-Content $proto @'
            syntax = "proto3"; package keys;
            import "google/protobuf/any.proto"; import "google/protobuf/wrappers.proto";
            message Key {
              bytes key = 1; repeated bytes more = 2; map<string, bytes> named = 3; google.protobuf.BytesValue maybe = 4;
              Key inner = 5; google.protobuf.Any any = 6; optional bytes set = 7;
            }
'@
        $keys = Import-RpcSchema $proto
        function Read-Key($Message) { ConvertTo-RpcMessage keys.Key $Message -Schema $keys -Format Json -ErrorAction Stop }

        $forms = "*Give a byte array, 'utf8:foo', or 'base64:Zm9v'."
        foreach ($bare in @(
                @{ key = 'foo' }, @{ more = 'foo' }, @{ more = 'foo', 'foo' }, @{ named = @{ a = 'foo' } }, @{ maybe = 'foo' }
                @{ inner = @{ key = 'foo' } }, @{ any = @{ '@type' = 'other.Type'; value = 'foo' } }
                [pscustomobject] @{ key = 'foo' }, ("key`nfoo" | ConvertFrom-Csv), ("inner.key`nfoo" | ConvertFrom-Csv)
            )) {
            { Read-Key $bare } | Should -Throw -ErrorId 'InvalidFieldValue,*' -ExpectedMessage $forms
        }
        Read-Key @{
            key = 'utf8:foo'; more = 'base64:Zm9v', [byte[]] 1; named = @{ a = 'utf8:ö' }; maybe = 'base64:AQ'; set = 'utf8:'
        } | Should -BeExactly '{"key":"Zm9v","more":["Zm9v","AQ=="],"named":{"a":"w7Y="},"maybe":"AQ==","set":""}'
        # JSON is ProtoJSON, also in the cell of a row.
        Read-Key @{ inner = '{"key":"Zm9v"}'; named = '{"a":"Zm9v"}'; more = '["Zm9v"]' } |
            Should -BeExactly '{"more":["Zm9v"],"named":{"a":"Zm9v"},"inner":{"key":"Zm9v"}}'
        { Read-Key @{ inner = '{"key":"utf8:foo"}' } } | Should -Throw '*is not base64*'
        { Read-Key @{ inner = '{"inner":{}}'; key = 'Zm9v' } } | Should -Throw "*'utf8:Zm9v'*"

        # What is written to be read back has the prefix.
        $message = '{"key":"Zm9v","more":["AQI="],"maybe":"","set":"","inner":{"key":"AQI="}}' |
            ConvertFrom-RpcMessage keys.Key -Schema $keys -Format Json
        $record = $message | ConvertTo-RpcRecord | ConvertTo-Csv | ConvertFrom-Csv
        $record.key, $record.more, $record.maybe, $record.set | Should -Be 'base64:Zm9v', '["AQI="]', 'base64:', 'base64:'
        Read-Key $record | Should -BeExactly (Read-Key $message)
        Read-Key ($message | Select-Object key, more, inner | ConvertTo-Csv | ConvertFrom-Csv) |
            Should -BeExactly '{"key":"Zm9v","more":["AQI="],"inner":{"key":"AQI="}}'
        Read-Key (New-RpcMessage keys.Key -Schema $keys) | Should -Not -BeNullOrEmpty
    }

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

    It 'names the @ that a script block lacks' {
        { ConvertTo-RpcMessage demo.HelloRequest { name = 'x' } -Schema $schema -ErrorAction Stop } |
            Should -Throw -ErrorId 'InvalidFieldValue,*' -ExpectedMessage '*Write @{ instead of {*'
        { ConvertTo-RpcMessage demo.HelloRequest @{ nested = { name = 'x' } } -Schema $schema -ErrorAction Stop } |
            Should -Throw -ErrorId 'InvalidFieldValue,*' -ExpectedMessage '*Write @{ instead of {*'
    }

    It 'says which row of the pipeline is wrong, and gives the row' {
        $rows = "text,number`nA,1`nB,x`nC," | ConvertFrom-Csv

        $written = $rows | ConvertTo-RpcMessage demo.HelloReply -Schema $schema -Format Json `
            -ErrorAction SilentlyContinue -ErrorVariable errors

        $written | Should -BeExactly '{"text":"A","number":1}', '{"text":"C"}'
        $errors | Should -HaveCount 1
        "$($errors[0])" | Should -BeLike "Row 2: HelloReply.number: 'x'*whole number*"
        $errors[0].Exception.Message | Should -Be "$($errors[0])"
        $errors[0].Exception.FieldPath | Should -Be 'HelloReply.number'
        [object]::ReferenceEquals($errors[0].TargetObject, $rows[1]) | Should -BeTrue
    }

    It 'fills nested fields and maps from dotted columns' {
        $row = "name,nested.name,nested.nested.times,counts.a,counts.b`nA,B,3,1," | ConvertFrom-Csv

        $row | ConvertTo-RpcMessage demo.HelloRequest -Schema $schema -Format Json |
            Should -BeExactly '{"name":"A","counts":{"a":1},"nested":{"name":"B","nested":{"times":3}}}'
    }

    It 'does not take for fields what Update-TypeData added' {
        $name = "test.$(New-TestName)"
        try {
            Update-TypeData -TypeName $name -MemberType ScriptProperty -MemberName Loud -Value { throw 'not read' }
            Update-TypeData -TypeName $name -MemberType AliasProperty -MemberName Other -Value text
            Update-TypeData -TypeName $name -MemberType AliasProperty -MemberName Dangling -Value nowhere
            Update-TypeData -TypeName $name -MemberType NoteProperty -MemberName Noted -Value 5
            $object = [pscustomobject]@{ PSTypeName = $name; text = 'A' }

            ConvertTo-RpcMessage demo.HelloReply $object -Schema $schema -Format Json |
                Should -BeExactly '{"text":"A"}'
            { $object | Add-Member Own 1 -PassThru |
                ConvertTo-RpcMessage demo.HelloReply -Schema $schema -ErrorAction Stop } |
                Should -Throw -ErrorId 'UnknownField,*' -ExpectedMessage "*'Own'*"
            $object = [pscustomobject]@{ } | Add-Member ScriptProperty text { 'made' } -PassThru
            ConvertTo-RpcMessage demo.HelloReply $object -Schema $schema -Format Json |
                Should -BeExactly '{"text":"made"}'
        }
        finally {
            Remove-TypeData $name
        }
    }

    It 'reports an alias of an object whose member is missing as the error of its row' {
        $rows = ([pscustomobject]@{ } | Add-Member AliasProperty text nowhere -PassThru), @{ text = 'B' }

        $json = $rows | ConvertTo-RpcMessage demo.HelloReply -Schema $schema -Format Json `
            -ErrorVariable errors -ErrorAction SilentlyContinue

        $json | Should -BeExactly '{"text":"B"}'
        $errors.Count | Should -Be 1
        $errors[0].FullyQualifiedErrorId | Should -BeLike 'InvalidFieldValue,*'
        "$($errors[0])" | Should -Match "'text' cannot be read"
    }

    Context 'without type or schema' {
        BeforeAll {
            $listener = Start-TestListener @{ SayHello = { param($Request) @{ text = "hi $($Request.name)" } } }
            $rpc = Connect-Test $listener
        }

        AfterAll { Clear-Test }

        It 'finds the type of a reply' {
            $reply = Invoke-RpcMethod SayHello @{ name = 'A' } -Connection $rpc
            $raw = Invoke-RpcMethod SayHello @{ name = 'A' } -Connection $rpc -Raw

            $reply | ConvertTo-RpcMessage -Format Json | Should -BeExactly '{"text":"hi A"}'
            ConvertTo-RpcMessage -InputObject $reply -Format Json | Should -BeExactly '{"text":"hi A"}'
            $raw | ConvertTo-RpcMessage -Format Json | Should -BeExactly '{"text":"hi A"}'
            $reply | ConvertTo-RpcMessage -Schema $schema -Format Json | Should -BeExactly '{"text":"hi A"}'
            $reply | ConvertTo-RpcMessage HelloReply -Connection $rpc -Format Json |
                Should -BeExactly '{"text":"hi A"}'
        }

        It 'finds the type of a nested message, and of an object that is named so' {
            $request = ConvertTo-RpcMessage demo.HelloRequest @{ nested = @{ name = 'N' } } -Connection $rpc |
                ForEach-Object { , $_ } | ConvertFrom-RpcMessage demo.HelloRequest -Connection $rpc
            $named = [pscustomobject]@{ PSTypeName = 'ProtoRpc.Message#demo.HelloReply'; text = 'A' }

            $request.nested | ConvertTo-RpcMessage -Format Json | Should -BeExactly '{"name":"N"}'
            $named | ConvertTo-RpcMessage -Format Json -Connection $rpc | Should -BeExactly '{"text":"A"}'
        }

        It 'takes the schema of the only open connection' {
            ConvertTo-RpcMessage demo.HelloReply @{ text = 'A' } -Format Json | Should -BeExactly '{"text":"A"}'
            ('{"text":"A"}' | ConvertFrom-RpcMessage demo.HelloReply -Format Json).text | Should -Be 'A'
        }

        It 'asks for the type of what has none' {
            { ConvertTo-RpcMessage -InputObject @{ text = 'A' } -ErrorAction Stop } |
                Should -Throw -ErrorId 'UnknownMessageType,*' -ExpectedMessage '*Hashtable*-Type*'
        }
    }

    Context 'formats of text' {
        It 'names the formats that there are' {
            { ConvertTo-RpcMessage demo.HelloReply @{ } -Schema $schema -Format Yaml } |
                Should -Throw -ExpectedMessage '*"Yaml"*Binary,Json,Xml,Form,Text*'
            (Complete 'ConvertTo-RpcMessage -Format ').CompletionText |
                Should -Be 'Binary', 'Form', 'Json', 'Text', 'Xml'
            (Complete 'New-RpcConnectionOption -Format ').CompletionText |
                Should -Be 'Binary', 'Form', 'GrpcWebText', 'Json', 'Xml'
        }

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
