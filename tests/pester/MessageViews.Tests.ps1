. (Join-Path $PSScriptRoot common.ps1)

# What the shell shows of replies by itself. The layout itself has its tests in tests/unit/Views.
Describe 'The view of messages' {
    BeforeAll {
        $file = Join-Path $RepositoryRoot tests unit Schema protos parcels.proto
        $schema = Import-RpcSchema $file
        $listener = Start-RpcListener -Schema $schema -Service parcels.Post -Endpoint "inproc://$(New-TestName)" -Handler @{
            Get = {
                @{
                    id = 'P-1'; weight = 1.5; state = 'SENT'; took = '1.5s'; seal = [byte[]] (1..20)
                    sent = [datetimeoffset]::new(2026, 11, 22, 12, 0, 0, [timespan]::Zero)
                    to = @{ street = 'Main 1'; city = 'Berlin'; geo = @{ lat = 52.5; lon = 13.4 } }
                    tags = 'a', 'b'; counts = @{ x = 1 }; via = @{ city = 'Rom' }, @{ city = 'Wien' }
                }
            }
            List = {
                param($Request)
                for ($i = 1; $i -le $Request.count; $i++) {
                    @{ id = "R-$i"; number = $i * 1000; ok = $i % 2 -eq 0; state = $i % 3; to = @{ city = 'Rom' }; sizes = 1..$i }
                }
            }
            One = { param($Request) @{ id = $Request.id; number = $Request.count } }
            Empty = { }
        }
        $rpc = Connect-RpcEndpoint $listener.Endpoint[0] -Schema $schema
        $other = Connect-RpcEndpoint $listener.Endpoint[0] -Schema $schema
        $call = @{ Connection = $rpc }
        $rendering = $PSStyle.OutputRendering
        $PSStyle.OutputRendering = 'PlainText'

        function Show($Value) { ($Value | Out-String -Width 500).Trim() -replace '\r' }
        function Read-Ask($Json = '{"id":"a","count":1}') { $Json | ConvertFrom-RpcMessage parcels.Ask -Format Json -Schema $schema }
    }

    AfterAll {
        $PSStyle.OutputRendering = $rendering
        Clear-Test
    }

    It 'is a list of the fields of one reply' {
        $local = [datetimeoffset]::new(2026, 11, 22, 12, 0, 0, [timespan]::Zero).ToLocalTime().ToString('yyyy-MM-dd HH:mm:ss')

        Show (Invoke-RpcMethod Get @call) | Should -BeExactly @"
id      : P-1
weight  : 1.5
state   : SENT
express : false
sent    : $local
took    : 00:00:01.5
seal    : 20 bytes: 01 02 03 04 05 06 07 08 …
to      : { street: "Main 1", city: "Berlin", geo { lat: 52.5, lon: 13.4 } }
tags    : ["a", "b"]
counts  : {"x": 1}
via     : [{ city: "Rom" }, { city: "Wien" }]
cents   : 0
# not set: note, extra, plane, ship, inside
"@
    }

    It 'is the same by itself, from a stream, after Select-Object, from the pipeline and from a list' {
        $shown = Show (Invoke-RpcMethod List @{ count = 1 } @call)
        $shown | Should -Match '(?m)^id +: R-1$'
        $shown | Should -Match '(?m)^to +: { city: "Rom" }$'
        $replies = Invoke-RpcMethod List @{ count = 3 } @call
        Show $replies | Should -BeLike "$([WildcardPattern]::Escape($shown))*"
        Show $replies[0] | Should -BeExactly $shown
        Show ($replies | Select-Object -First 1) | Should -BeExactly $shown
        Show (Invoke-RpcMethod List @{ count = 3 } @call | Select-Object -First 1) | Should -BeExactly $shown
        Show (Invoke-RpcMethod List @{ count = 1 } -Connection $rpc, $other) | Should -Match '(?m)^id +: R-1$'

        $asks = '{"asks":[{"id":"a","count":1},{"id":"b","count":2}]}' |
            ConvertFrom-RpcMessage parcels.Round -Format Json -Schema $schema
        $first = Invoke-RpcMethod List @{ count = 3 } @call | Select-Object -First 1
        $first | ConvertTo-RpcMessage -Format Json | Should -BeExactly ($replies[0] | ConvertTo-RpcMessage -Format Json)
        $row = Show (Read-Ask)
        $row | Should -Match '(?m)^id +count$'
        Show $asks.asks[0] | Should -BeExactly $row
        Show ($asks.asks | Select-Object -First 1) | Should -BeExactly $row
        Show $asks.asks | Should -BeLike "$row*"
    }

    It 'is a table for messages without nested values' {
        $lines = (Show ((Read-Ask '{"id":"R-1","count":1000}'), (Read-Ask '{"id":"R-2","count":2}'))) -split '\n'

        $lines.Count | Should -Be 6
        $lines[0].Trim() | Should -Be 'parcels.Ask'
        $lines[2] | Should -Match '^id +count$'
        $lines[3] | Should -Match '^-- +-----$'
        $lines[4] | Should -Match '^R-1 +1000$'
        $lines[5] | Should -Match '^R-2 +2$'
    }

    It 'is cut after the first messages of a long list' {
        $asks = 1..45 | ForEach-Object { "{`"id`":`"number $_`",`"count`":$_}" }
        $round = "{`"asks`":[$($asks -join ',')]}" | ConvertFrom-RpcMessage parcels.Round -Format Json -Schema $schema

        $lines = (Show $round) -split '\n'
        $lines | Should -HaveCount 23
        $lines[0] | Should -Match '^asks : id +count$'
        $lines[2] | Should -Match '^ {7}number 1 +1$'
        $lines[22] | Should -Match '^ {7}# … 25 more$'
    }

    It 'begins a new table where the type changes, and goes on after other objects' {
        $reply = Invoke-RpcMethod Get @call
        $ask = Read-Ask
        $geo = '{"lat":1}' | ConvertFrom-RpcMessage parcels.Geo -Format Json -Schema $schema

        $text = Show @($ask; $ask; $geo; $reply; $ask; 'text'; $ask)

        [regex]::Matches($text, '(?m)^   parcels\.Ask$|^parcels\.Ask$').Count | Should -Be 2
        [regex]::Matches($text, '(?m)^   parcels\.Geo$').Count | Should -Be 1
        $text | Should -Match '(?m)^text$'
        $text | Should -Match '(?m)^id      : P-1$'
    }

    It 'shows a message without fields' {
        Show (Invoke-RpcMethod Empty @call) | Should -Be '# an empty parcels.Nothing'
    }

    It 'shows raw messages as the others' {
        Show (Invoke-RpcMethod Get @call -Raw) | Should -Be (Show (Invoke-RpcMethod Get @call))
        $raw = '{"id":"a","count":1}' | ConvertFrom-RpcMessage parcels.Ask -Format Json -Schema $schema -Raw
        Show $raw | Should -Be (Show (Read-Ask))
    }

    It 'shows replies that came from a job or another process' {
        $reply = Invoke-RpcMethod Get @call
        $copy = [System.Management.Automation.PSSerializer]::Deserialize([System.Management.Automation.PSSerializer]::Serialize($reply, 4))

        Show $copy | Should -Match '(?m)^state +: SENT$'
        Show $copy | Should -Match 'city: "Berlin"'
    }

    It 'shows members that a script added, also those that fail' {
        $reply = Invoke-RpcMethod One @{ id = 'x' } @call
        $reply | Add-Member -NotePropertyName added -NotePropertyValue 'by a script'
        $reply | Add-Member -MemberType ScriptProperty -Name failing -Value { throw 'no' }

        Show $reply | Should -Match '(?m)^added +: by a script$'
        Show $reply | Should -Match '# not set:.*failing'
    }

    It 'has colours where the shell has, and none else' {
        $reply = Invoke-RpcMethod One @{ id = 'x' } @call
        try {
            $PSStyle.OutputRendering = 'Ansi'
            $accent = [regex]::Escape($PSStyle.Formatting.FormatAccent)
            $reply | Out-String | Should -Match "$accent`id "
            $header = [regex]::Escape($PSStyle.Formatting.TableHeader)
            Read-Ask | Out-String | Should -Match "${header}id "
            $PSStyle.OutputRendering = 'Host'
            $reply | Out-String | Should -Not -Match '\e'
            $PSStyle.OutputRendering = 'PlainText'
            $reply | Out-String | Should -Not -Match '\e'
        }
        finally {
            $PSStyle.OutputRendering = 'PlainText'
        }
    }

    It 'controls no terminal, whatever a server says' {
        $evil = "`e]0;title`a`u{9b}2J`r`u{202e}x`u{200b}y`u{2028}"
        try {
            $PSStyle.OutputRendering = 'Ansi'
            $reply = Invoke-RpcMethod One @{ id = $evil } @call
            $rows = @{ id = $evil }, @{ id = $evil } | Invoke-RpcMethod One @call
            foreach ($text in ($reply | Out-String), ($rows | Out-String), "$reply", "$($rows[0])") {
                $text -replace '\e\[[\d;]*m' | Should -Not -Match '[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u2028-\u202e]|\r(?!\n)'
            }
        }
        finally {
            $PSStyle.OutputRendering = 'PlainText'
        }
    }

    It 'works in a shell without a console, a host without a window and under StrictMode' {
        $result = Invoke-Pwsh @"
Set-StrictMode -Version Latest
`$ErrorActionPreference = 'Stop'
Import-Module '$ModuleManifest'
`$reply = '{"id":"x","to":{"city":"Rom"}}' | ConvertFrom-RpcMessage parcels.Line -Format Json -Schema '$file'
`$reply
`$shell = [powershell]::Create()
`$null = `$shell.AddScript('param(`$module, `$reply) Import-Module `$module; `$reply | Out-String').AddArgument('$ModuleManifest').AddArgument(`$reply)
`$shell.Invoke()
`$shell.Streams.Error
"@
        $result.Error | Should -BeNullOrEmpty
        [regex]::Matches($result.Output, '(?m)^id +: x\r?$').Count | Should -Be 2
        $result.Output | Should -Match 'to +: { city: "Rom" }'
        $result.Output | Should -Not -Match '\e'
    }
}

Describe 'Messages in the commands of the shell' {
    BeforeAll {
        $schema = Import-RpcSchema (Join-Path $RepositoryRoot tests unit Schema protos parcels.proto)
        function Read-Line([string] $Json) { $Json | ConvertFrom-RpcMessage parcels.Line -Format Json -Schema $schema }
        $line = Read-Line '{"id":"x","number":5,"to":{"street":"s","city":"Rom","geo":{"lat":1.5}}}'
    }

    It 'are JSON as text' {
        "$($line.to)" | Should -BeExactly '{"street":"s","city":"Rom","geo":{"lat":1.5,"lon":0}}'
        [pscustomobject] @{ inner = $line.to } | Format-List | Out-String | Should -Match '"city":"Rom"'
        $line | Format-Table id, to | Out-String | Should -Match '"city":"Rom"'
    }

    It 'are text in Export-Csv, which is read again' {
        $row = $line | ConvertTo-Csv | ConvertFrom-Csv

        $row.to | Should -BeExactly "$($line.to)"
        $again = $row | Select-Object id, number, to |
            ConvertTo-RpcMessage parcels.Line -Schema $schema -Format Json
        $again | Should -BeExactly ($line | ConvertTo-RpcMessage -Format Json)
    }

    # Named properties are compared by their own values, and nested messages then look the same.
    It 'are compared as text or as records' {
        $same = Read-Line '{"id":"x","number":5,"to":{"street":"s","city":"Rom","geo":{"lat":1.5}}}'
        $different = Read-Line '{"id":"x","number":5,"to":{"street":"s","city":"Wien"}}'

        Compare-Object "$line" "$same" | Should -BeNullOrEmpty
        Compare-Object "$line" "$different" | Should -HaveCount 2
        Compare-Object $line $different -Property id, number | Should -BeNullOrEmpty
        $records = $line, $different | ConvertTo-RpcRecord
        Compare-Object $records[0] $records[1] -Property id, to.city | Should -HaveCount 2
    }

    It 'are objects in Select-Object, Where-Object, Sort-Object and Group-Object' {
        $lines = Read-Line '{"id":"b","to":{"city":"Rom"}}'
        $lines = @($lines; Read-Line '{"id":"a","to":{"city":"Wien"}}'; Read-Line '{"id":"c","to":{"city":"Rom"}}')

        ($lines | Sort-Object { $_.to.city }, id).id | Should -Be 'b', 'c', 'a'
        ($lines | Group-Object { $_.to.city }).Name | Should -Be 'Rom', 'Wien'
        ($lines | Where-Object { $_.to.city -eq 'Wien' }).id | Should -Be 'a'
        ($lines | Select-Object id, @{ n = 'city'; e = { $_.to.city } })[1].city | Should -Be 'Wien'
        ($lines | ConvertTo-RpcRecord | Sort-Object to.city, id).id | Should -Be 'b', 'c', 'a'
        ($lines | Select-Object -ExpandProperty to).city | Should -Be 'Rom', 'Wien', 'Rom'
    }

    It 'have nothing but their fields in ConvertTo-Json and Get-Member' {
        ($line | ConvertTo-Json -Depth 5 | ConvertFrom-Json).psobject.Properties.Name |
            Should -Be 'id', 'number', 'to', 'ok', 'state', 'at', 'sizes'
        ($line | Get-Member -MemberType Properties).Name |
            Should -Be 'at', 'id', 'number', 'ok', 'sizes', 'state', 'to'
    }

    It 'are what they were for ConvertTo-Json: numbers, names of enums, times, maps' {
        $parcel = '{"id":"x","state":"SENT","counts":{"a":1},"sent":"2026-11-22T12:00:00Z","cents":"7"}' |
            ConvertFrom-RpcMessage parcels.Parcel -Format Json -Schema $schema

        $json = $parcel | Select-Object id, state, counts, sent, cents | ConvertTo-Json -Compress
        $json | Should -BeExactly '{"id":"x","state":"SENT","counts":{"a":1},"sent":"2026-11-22T12:00:00+00:00","cents":7}'
    }

    It 'are read again from Export-Csv under <_>' -ForEach 'de-DE', 'fr-FR', 'sv-SE', 'ar-SA', '' {
        $proto = Join-Path $TestDrive numbers.proto
        Set-Content $proto @'
syntax = "proto3";
package numbers;
import "google/protobuf/wrappers.proto";
message Numbers { double price = 1; float share = 2; sint64 big = 3; repeated double all = 4; google.protobuf.DoubleValue maybe = 5; }
'@
        $numbers = Import-RpcSchema $proto
        $json = '{"price":-1234.5,"share":0.25,"big":"-1234567","all":[1.5,-2.25],"maybe":-0.5}'
        $message = $json | ConvertFrom-RpcMessage numbers.Numbers -Format Json -Schema $numbers
        $before = [cultureinfo]::CurrentCulture
        try {
            [cultureinfo]::CurrentCulture = $_
            $again = $message | ConvertTo-Csv | ConvertFrom-Csv |
                ConvertTo-RpcMessage numbers.Numbers -Schema $numbers -Format Json
            $local = $message | ConvertTo-Csv -UseCulture | ConvertFrom-Csv -UseCulture |
                ConvertTo-RpcMessage numbers.Numbers -Schema $numbers -Format Json
            $record = $message | ConvertTo-RpcRecord | ConvertTo-Csv | ConvertFrom-Csv |
                ConvertTo-RpcMessage numbers.Numbers -Schema $numbers -Format Json
            $point = [pscustomobject]@{ price = '1.5' } | ConvertTo-RpcMessage numbers.Numbers -Schema $numbers -Format Json
            [pscustomobject]@{ price = '1.2.3,5'; big = 'x' } |
                ConvertTo-RpcMessage numbers.Numbers -Schema $numbers -ErrorAction SilentlyContinue -ErrorVariable failed
            [pscustomobject]@{ big = 'x' } |
                ConvertTo-RpcMessage numbers.Numbers -Schema $numbers -ErrorAction SilentlyContinue -ErrorVariable +failed
        }
        finally {
            [cultureinfo]::CurrentCulture = $before
        }

        foreach ($text in $again, $local, $record) { $text | Should -BeExactly $json }
        $point | Should -BeExactly '{"price":1.5}'
        $failed.FullyQualifiedErrorId | Should -Match '^InvalidFieldValue,'
        "$($failed[1])" | Should -BeLike '*from -9223372036854775808 to*'
    }

    It 'have fields with names of members that every object has' {
        $proto = Join-Path $TestDrive reserved.proto
        Set-Content $proto @'
syntax = "proto3";
package reserved;
message Odd { string PSObject = 1; string name = 2; string pstypenames = 3; string psbase = 4; }
service Echo { rpc Send (Odd) returns (Odd); }
'@
        $listener = Start-RpcListener "inproc://$(New-TestName)" -Schema $proto -Handler @{ Send = { param($Request) $Request } }
        $rpc = Connect-RpcEndpoint $listener.Endpoint[0] -Schema $listener.Schema
        $json = '{"PSObject":"x","name":"n","pstypenames":"p","psbase":"b"}'
        $odd = Invoke-RpcMethod Send ($json | ConvertFrom-Json -AsHashtable) -Connection $rpc

        function Read-Json($Message) { ConvertTo-RpcMessage reserved.Odd $Message -Schema $listener.Schema -Format Json }
        $odd['PSObject'], $odd['pstypenames'], $odd['psbase'], $odd.name | Should -Be x, p, b, n
        $odd.PSObject.Properties.Name | Should -Contain Count
        $odd | Out-String | Should -Match '(?m)^PSObject +x'
        Read-Json $odd | Should -BeExactly $json
        Read-Json (Invoke-RpcMethod Send $odd -Connection $rpc) | Should -BeExactly $json
        { ConvertTo-RpcRecord reserved.Odd $odd -Schema $listener.Schema -ErrorAction Stop } |
            Should -Throw -ErrorId 'AmbiguousColumn,*' -ExpectedMessage "*'PSObject'*-Format Json*"
        $rpc | Import-RpcService -Prefix Reserved
        try {
            Read-Json (Send-Reserved -PSObject x -Name n -Pstypenames p -Psbase b) | Should -BeExactly $json
        }
        finally {
            Remove-Module Reserved
            Disconnect-RpcEndpoint $rpc
            Stop-RpcListener $listener
        }
    }
}
