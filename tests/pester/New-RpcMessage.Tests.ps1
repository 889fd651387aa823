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

    It 'gives an empty message if it is sent unchanged' {
        $template = New-RpcMessage SayHello -Schema $schema

        $template.counts.Count | Should -Be 0
        ConvertTo-RpcMessage demo.HelloRequest $template -Schema $schema -Format Json | Should -BeExactly '{}'
    }

    Context 'with nested messages, lists and oneofs' {
        BeforeAll {
            $parcels = Import-RpcSchema (Join-Path $RepositoryRoot tests unit Schema protos parcels.proto)
            function Read-Json($Message) { ConvertTo-RpcMessage parcels.Parcel $Message -Schema $parcels -Format Json }
            function Show($Value) { ($Value | Out-String -Width 80) -replace '\e\[[\d;]*m' -replace '\r' }
        }

        It 'sends the fields, elements and nested messages in which something was set' {
            $parcel = New-RpcMessage Parcel -Schema $parcels
            Read-Json $parcel | Should -BeExactly '{}'

            $parcel.to.geo.lat = 1.5
            $parcel.via[0].city = 'Rom'
            $parcel.via += @{ city = 'Wien' }
            $parcel.tags = 'a', 'b'
            $parcel.counts.x = 1
            Read-Json $parcel | Should -BeExactly (
                '{"to":{"geo":{"lat":1.5}},"tags":["a","b"],"counts":{"x":1},"via":[{"city":"Rom"},{"city":"Wien"}]}')

            $parcel.to = @{ }
            Read-Json $parcel | Should -BeLike '{"to":{},*' -Because 'an empty message was set'
        }

        It 'is sent to several servers, by jobs and by commands of services as to one' {
            $proto = Join-Path $TestDrive outer.proto
            Set-Content $proto @'
syntax = "proto3";
package outer;
message Inner { string a = 1; }
message Outer { Inner inner = 1; repeated Inner inners = 2; optional string note = 3; }
service Echo { rpc Send (Outer) returns (Outer); }
'@
            $listener = Start-RpcListener "inproc://$(New-TestName)" -Schema $proto -Handler @{ Send = { param($Request) $Request } }
            $rpc = Connect-RpcEndpoint $listener.Endpoint[0] -Schema $listener.Schema
            $rpc | Import-RpcService -Prefix Outer
            try {
                $message = New-RpcMessage Send -Connection $rpc
                $message.inners[0].a = 'x'
                $expected = '{"inners":[{"a":"x"}]}'

                "$(Invoke-RpcMethod Send $message -Connection $rpc)" | Should -BeExactly $expected
                Invoke-RpcMethod Send $message -Connection $rpc, $rpc | ForEach-Object { "$_" } | Should -BeExactly $expected, $expected
                "$(Invoke-RpcMethod Send $message -Connection $rpc -AsJob | Complete-Job)" | Should -BeExactly $expected
                "$($message | Send-Outer)" | Should -BeExactly $expected
                "$($message | Send-Outer -Note n)" | Should -BeExactly $expected.Replace('}]}', '}],"note":"n"}')
            }
            finally {
                Remove-Module Outer
                Disconnect-RpcEndpoint $rpc
                Stop-RpcListener $listener
            }
        }

        It 'sends the same after a job' {
            $text = [System.Management.Automation.PSSerializer]::Serialize((New-RpcMessage Parcel -Schema $parcels), 1)
            $copy = [System.Management.Automation.PSSerializer]::Deserialize($text)
            Read-Json $copy | Should -BeExactly '{}'
            $copy.via[0].city = 'Rom'
            Read-Json $copy | Should -BeExactly '{"via":[{"city":"Rom"}]}'
        }

        It 'shows the tree of fields, values and types' {
            $parcel = New-RpcMessage Parcel -Schema $parcels
            $parcel.id = "P`e[31m"
            $lines = (Show $parcel) -split "`n"

            $lines.ForEach('Length') | ForEach-Object { $_ | Should -BeLessOrEqual 80 }
            "$($lines -join "`n")" | Should -Match '(?m)^to +: # parcels\.Address$'
            "$($lines -join "`n")" | Should -Match '(?m)^  geo +: # parcels\.Geo$'
            "$($lines -join "`n")" | Should -Match '(?m)^    lat +: 0 # double$'
            "$($lines -join "`n")" | Should -Match '(?m)^via\[0\] +: # list of parcels\.Address$'
            "$($lines -join "`n")" | Should -Match '(?m)^id +: "P\\u001B\[31m" # string$'
            "$($lines -join "`n")" | Should -Match '(?m)^counts +: \{\} # map<string, int32>$'
        }

        It 'shows the tree with Format-List, too' {
            Show (New-RpcMessage Ask -Schema $parcels | Format-List) |
                Should -Match '(?s)Fields : id +: "" # string\s+count : 0 # int32'
        }

        It 'gives a text to edit with -Json' {
            $json = New-RpcMessage Parcel -Schema $parcels -Json

            $json | Should -BeOfType string
            $fields = $json | ConvertFrom-Json
            $fields.to.geo.lat | Should -Be 0
            $fields.via | Should -HaveCount 0
            $fields.psobject.Properties.Name | Should -Contain sent
            $json | ConvertFrom-RpcMessage parcels.Parcel -Format Json -Schema $parcels | ForEach-Object { $_.via.Count } | Should -Be 0
            New-RpcMessage SayHello -Schema $schema -Json |
                ConvertFrom-RpcMessage demo.HelloRequest -Format Json -Schema $schema |
                ConvertTo-RpcMessage -Format Json | Should -BeExactly '{}'
        }
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
