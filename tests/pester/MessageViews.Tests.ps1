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

    It 'is a table of the replies of a stream, with scalar fields first' {
        $lines = (Show (Invoke-RpcMethod List @{ count = 2 } @call)) -split '\n'

        $lines.Count | Should -Be 6
        $lines[0].Trim() | Should -Be 'parcels.Line'
        $lines[2] | Should -Match '^id +number ok +state +at +to +sizes$'
        $lines[3] | Should -Match '^-- +------ -- +----- +-- +-- +-----$'
        $lines[4] | Should -Match '^R-1 +1000 false SENT +{ city: "Rom" } +\[1\]$'
        $lines[5] | Should -Match '^R-2 +2000 true  DELIVERED +{ city: "Rom" } +\[1, 2\]$'
    }

    It 'is a table of what messages of the pipeline give, of the elements of a list, and of several connections' {
        $asked = 1..2 | ForEach-Object { @{ id = "x$_"; count = $_ } } | Invoke-RpcMethod One @call
        Show $asked | Should -Match '(?m)^id +number ok'
        Show (Invoke-RpcMethod Get @call).via | Should -Match '(?m)^street +city +geo$'
        Show (Invoke-RpcMethod One @{ id = 'x' } -Connection $rpc, $other) | Should -Match '(?m)^id .* sizes'
        Show (Invoke-RpcMethod One @{ id = 'x' } @call) | Should -Match '(?m)^id +: x$'
    }

    It 'begins a new table where the type changes, and goes on after other objects' {
        $reply = Invoke-RpcMethod Get @call
        $lines = Invoke-RpcMethod List @{ count = 2 } @call

        $text = Show @($lines; $reply.via; $reply; $lines[0]; 'text'; $lines[1])

        [regex]::Matches($text, '(?m)^   parcels\.Line$|^parcels\.Line$').Count | Should -Be 2
        [regex]::Matches($text, '(?m)^   parcels\.Address$').Count | Should -Be 1
        $text | Should -Match '(?m)^text$'
        $text | Should -Match '(?m)^id      : P-1$'
    }

    It 'shows a message without fields' {
        Show (Invoke-RpcMethod Empty @call) | Should -Be '# an empty parcels.Nothing'
    }

    It 'shows raw messages as the others' {
        Show (Invoke-RpcMethod Get @call -Raw) | Should -Be (Show (Invoke-RpcMethod Get @call))
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
            Invoke-RpcMethod List @{ count = 1 } @call | Out-String | Should -Match "${header}id "
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
}
