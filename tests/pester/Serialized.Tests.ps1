. (Join-Path $PSScriptRoot common.ps1)

# Replies, and values of messages, that crossed a job, a remote session or a file of Export-Clixml.
Describe 'Messages that the shell serialized' {
    BeforeAll {
        $proto = Join-Path $TestDrive crossing.proto
        Set-Content $proto @'
syntax = "proto3";
package crossing;
import "google/protobuf/any.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/field_mask.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
enum Day { SUNDAY = 0; MONDAY = 5; }
message All {
  string text = 1; bytes seal = 2; int64 number = 3; uint64 large = 4; double ratio = 5; Day day = 6;
  google.protobuf.Timestamp at = 7; google.protobuf.Duration took = 8; google.protobuf.Struct free = 9;
  google.protobuf.ListValue list = 10; google.protobuf.Int64Value maybe = 11; google.protobuf.BytesValue raw = 12;
  google.protobuf.Any any = 13; google.protobuf.FieldMask mask = 14; All inner = 15; repeated All inners = 16;
  map<string, All> by_name = 17; map<int64, bytes> by_number = 18; repeated bytes seals = 19;
  repeated google.protobuf.Timestamp times = 20; repeated Day days = 21; optional string note = 22;
  google.protobuf.Value value = 23; map<string, string> labels = 24;
}
service Crossing {
  rpc Echo(All) returns (All);
  rpc Twice(All) returns (stream All);
  rpc At(google.protobuf.Timestamp) returns (google.protobuf.Timestamp);
  rpc Fail(All) returns (All);
}
'@
        $schema = Import-RpcSchema $proto
        $listener = Start-RpcListener -Schema $schema -Service crossing.Crossing -Endpoint "inproc://$(New-TestName)", "ncalrpc:[$(New-TestName)]" -Handler @{
            Echo = { param($Request) Write-Warning 'seen'; $Request }
            Twice = { param($Request) $Request; $Request }
            At = { param($Request) $Request }
            Fail = { throw [ProtoRpc.RpcException]::new('NotFound', 'no') }
        }
        $address = "$($listener.Endpoint[1])"
        $rpc = Connect-RpcEndpoint $listener.Endpoint[0] -Schema $schema -Service crossing.Crossing
        $other = Connect-RpcEndpoint $listener.Endpoint[0] -Schema $schema -Service crossing.Crossing
        $deep = @{
            text = 'in'; at = '2024-02-29T12:30:00.1234567Z'; seal = [byte[]] (1, 2, 255)
            inner = @{ inner = @{ inner = @{ at = '2024-02-29T12:30:00.5Z' } } }
        }
        $request = @{
            text = 'x'; seal = [byte[]] (1, 2, 3); number = -5; large = [uint64]::MaxValue; ratio = 1.5; day = 'MONDAY'
            at = '2024-02-29T12:30:00.1234567Z'; took = '1.5s'; list = 1, @{ a = 2 }; maybe = 5; raw = [byte[]] (9, 8)
            free = @{ k = @{ l = @{ m = 1, 'a', @{ z = $true } } } }; value = @{ q = 1 }; mask = 'text,inner.text'
            any = @{ '@type' = 'crossing.All'; text = 'packed'; at = '2024-02-29T12:30:00.5Z' }
            inner = $deep; inners = $deep, $deep; by_name = @{ a = $deep }; labels = @{ env = 'test' }
            by_number = @{ 5 = [byte[]] (1, 2) }; seals = [byte[]] (1, 2), [byte[]] 3; days = 'SUNDAY', 'MONDAY'
            times = '2024-02-29T12:30:00.5Z', '2024-03-01'
        }
        $reply = Invoke-RpcMethod Echo $request -Connection $rpc
        $fields = $reply.PSObject.Properties.Name

        function Read-Json($Message) { ConvertTo-RpcMessage crossing.All $Message -Schema $schema -Format Json }
        $json = Read-Json $reply

        function Copy-Serialized($Value, [int] $Depth = 2) {
            $text = [System.Management.Automation.PSSerializer]::Serialize($Value, $Depth)
            , [System.Management.Automation.PSSerializer]::Deserialize($text)
        }

        $ways = @{
            'the serializer, depth 1' = { Copy-Serialized $reply 1 }
            'the serializer, depth 3' = { Copy-Serialized $reply 3 }
            'the serializer, twice' = { Copy-Serialized (Copy-Serialized $reply 1) 1 }
            'Export-Clixml' = {
                $file = Join-Path $TestDrive reply.xml
                $reply | Export-Clixml $file
                Import-Clixml $file
            }
            'a job without the module' = { Start-Job { $using:reply } | Complete-Job }
            'a job that calls' = {
                Start-Job {
                    Import-Module $using:ModuleManifest
                    $message = $using:reply
                    $rpc = Connect-RpcEndpoint $using:address -Schema $using:proto -Service crossing.Crossing
                    Invoke-RpcMethod Echo $message -Connection $rpc
                } | Complete-Job
            }
            'ForEach-Object -Parallel -AsJob' = {
                1 | ForEach-Object -AsJob -Parallel {
                    Import-Module $using:ModuleManifest
                    $rpc = Connect-RpcEndpoint $using:address -Schema $using:proto -Service crossing.Crossing
                    Invoke-RpcMethod Echo $using:request -Connection $rpc
                } | Complete-Job
            }
        }
        $copies = @{}
        foreach ($way in $ways.Keys) { $copies[$way] = & $ways[$way] }
    }

    AfterAll { Clear-Test }

    Context 'by <_>' -ForEach @(
        'the serializer, depth 1', 'the serializer, depth 3', 'the serializer, twice', 'Export-Clixml'
        'a job without the module', 'a job that calls', 'ForEach-Object -Parallel -AsJob'
    ) {
        BeforeAll { $copy = $copies[$_] }

        It 'are sent again as they were' {
            Read-Json $copy | Should -BeExactly $json
            Read-Json @{ inner = $copy } | Should -BeExactly "{`"inner`":$json}"
            Read-Json (Invoke-RpcMethod Echo $copy -Connection $rpc) | Should -BeExactly $json
            Read-Json ($copy | Invoke-RpcMethod Echo -Connection $rpc) | Should -BeExactly $json
            ($copy | ConvertTo-RpcMessage -Schema $schema -Format Json) | Should -BeExactly $json
        }

        It 'have their fields, and what the shell adds to objects of a job' {
            $shells = 'PSComputerName', 'RunspaceId', 'PSShowComputerName', 'PSSourceJobInstanceId'
            $copy.PSObject.Properties.Name.Where{ $_ -notin $shells } | Should -Be $fields
            (($copy | ConvertTo-Csv)[0] -replace '"' -split ',').Where{ $_ -notin $shells } | Should -Be $fields
        }

        It 'are sent again after Select-Object, and from a CSV file' {
            $selected = $copy | Select-Object * -ExcludeProperty RunspaceId, PSShowComputerName
            Read-Json $selected | Should -BeExactly $json
            $record = $copy | ConvertTo-RpcRecord crossing.All -Schema $schema | ConvertTo-Csv | ConvertFrom-Csv
            Read-Json $record | Should -BeExactly (Read-Json ($reply | ConvertTo-RpcRecord | ConvertTo-Csv | ConvertFrom-Csv))
            $row = $copy | Select-Object * -ExcludeProperty at, took, times, value | ConvertTo-Csv | ConvertFrom-Csv
            (Invoke-RpcMethod Echo $row -Connection $rpc).inner.inner.inner.inner.at.Millisecond | Should -Be 500
        }

        It 'have the text and the view of a reply' {
            "$copy" | Should -BeExactly "$reply"
            "$($copy.inner)" | Should -BeExactly "$($reply.inner)"
            Compare-Object $copy $reply | Should -BeNullOrEmpty
            $copy | Out-String | Should -Match '(?m)^seal +: 3 bytes: 01 02 03'
            $copy | Out-String | Should -Not -Match 'RunspaceId|PSComputerName'
        }
    }

    It 'show values that a script changed' {
        $copy = Copy-Serialized $reply
        $copy.text = 'changed'
        $copy.inner.text = 'changed, too'

        "$copy" | Should -Match '^{"text":"changed",.*"changed, too"'
        $copy | Out-String | Should -Match '(?m)^text +: changed'
        (Invoke-RpcMethod Echo $copy -Connection $rpc).inner.text | Should -Be 'changed, too'
    }

    It 'contain nothing that the module added' {
        $texts = foreach ($value in $reply, (Invoke-RpcMethod Twice $request -Connection $rpc), ($reply | ConvertTo-RpcRecord)) {
            [System.Management.Automation.PSSerializer]::Serialize($value, 2)
        }
        [regex]::Matches("$texts", 'N="(@\w+)"').ForEach{ $_.Groups[1].Value } | Sort-Object -Unique | Should -Be '@type'
    }

    It 'are read by every cmdlet that takes messages' {
        $copy = Copy-Serialized $reply
        $copy | ConvertTo-RpcRecord crossing.All -Schema $schema | ForEach-Object at | Should -Be '2024-02-29T12:30:00.123456700Z'
        [Convert]::ToHexString((ConvertTo-RpcMessage crossing.All $copy -Schema $schema)) |
            Should -Be ([Convert]::ToHexString((ConvertTo-RpcMessage crossing.All $reply -Schema $schema)))
        Read-Json (Invoke-RpcMethod Twice $copy -Connection $rpc)[1] | Should -BeExactly $json
        (Measure-RpcEndpoint Echo $copy -Connection $rpc -Count 2).Failed | Should -Be 0

        $mock = New-RpcMock -Schema $schema -Service crossing.Crossing -Reply @{ Echo = $copy; Twice = $copy, $copy }
        Read-Json (Invoke-RpcMethod Echo $copy -Connection $mock.Connection) | Should -BeExactly $json
        (Invoke-RpcMethod Twice $copy -Connection $mock.Connection).text | Should -Be 'x', 'x'
        Set-RpcMock $mock -Reply @{ Echo = @{ inner = $copy } }
        Read-Json (Invoke-RpcMethod Echo $copy -Connection $mock.Connection).inner | Should -BeExactly $json
        Assert-RpcMockCall Echo -Mock $mock -Where { $_.Request.inner.at -eq $reply.inner.at } -Times 2

        $handler = Start-RpcListener -Schema $schema -Service crossing.Crossing -Endpoint "inproc://$(New-TestName)" -Handler @{
            Echo = { [System.Management.Automation.PSSerializer]::Deserialize($env:SERIALIZED_REPLY) }
        }
        $env:SERIALIZED_REPLY = [System.Management.Automation.PSSerializer]::Serialize($reply, 1)
        try {
            $answered = Invoke-RpcMethod Echo -Connection (Connect-RpcEndpoint $handler.Endpoint[0] -Schema $schema)
        }
        finally {
            $env:SERIALIZED_REPLY = $null
        }
        Read-Json $answered | Should -BeExactly $json

        $module = Import-RpcService -Schema $schema -Service crossing.Crossing -Connection $rpc -PassThru
        try {
            $command = @($module.ExportedCommands.Values).Where{ $_.Name -like '*Echo*' }[0]
            Read-Json ($copy | & $command) | Should -BeExactly $json
            Read-Json (Copy-Serialized (Invoke-RpcMethod Echo $request -Connection $rpc -Raw) | & $command) |
                Should -BeExactly $json
            (& $command -At $copy.at -Seal $copy.seal -Took $copy.took).at.UtcTicks | Should -Be $reply.at.UtcTicks
            $command = @($module.ExportedCommands.Values).Where{ $_.Name -like '*At' }[0]
            ($copy.at | & $command).UtcTicks | Should -Be $reply.at.UtcTicks
        }
        finally {
            Remove-Module $module
        }
    }

    It 'are read as hashtables, records, raw messages and single values' {
        $hashtable = Copy-Serialized (Invoke-RpcMethod Echo $request -Connection $rpc -AsHashtable)
        Read-Json $hashtable | Should -BeExactly $json

        $record = Copy-Serialized ($reply | ConvertTo-RpcRecord)
        Read-Json $record | Should -BeExactly (Read-Json ($reply | ConvertTo-RpcRecord))

        foreach ($depth in 1, 3) {
            $raw = Copy-Serialized (Invoke-RpcMethod Echo $request -Connection $rpc -Raw) $depth
            Read-Json $raw | Should -BeExactly $json
            Read-Json @{ inner = $raw; inners = $raw, $raw } | Should -BeExactly "{`"inner`":$json,`"inners`":[$json,$json]}"
            $raw | ConvertTo-RpcMessage -Schema $schema -Format Json | Should -BeExactly $json
            Read-Json @{ any = $raw } |
                Should -BeExactly $json.Replace('{"text":"x"', '{"any":{"@type":"type.googleapis.com/crossing.All","text":"x"').Replace('"env":"test"}}', '"env":"test"}}}')
            { ConvertTo-RpcMessage google.protobuf.Timestamp $raw -Schema $schema -AllowUnknownField -ErrorAction Stop } |
                Should -Throw '*is a message crossing.All, where google.protobuf.Timestamp is needed*'
        }

        $time = Copy-Serialized (Invoke-RpcMethod At '2024-02-29T12:30:00.1234567Z' -Connection $rpc)
        (Invoke-RpcMethod At $time -Connection $rpc).UtcTicks | Should -Be 638448066001234567
        $template = Copy-Serialized (New-RpcMessage crossing.All -Schema $schema)
        Read-Json $template | Should -BeExactly (Read-Json (New-RpcMessage crossing.All -Schema $schema))
    }

    It 'may be nested in results of many calls, calls of mocks, and errors' {
        $mock = New-RpcMock -Schema $schema -Service crossing.Crossing -Reply @{ Echo = $request }
        $null = Invoke-RpcMethod Echo $request -Connection $mock.Connection
        $values = @(
            (Copy-Serialized (Get-RpcMockCall -Mock $mock) 1).Request
            (Copy-Serialized (Get-RpcMockCall -Mock $mock) 1).Reply
            (Copy-Serialized (Invoke-RpcMethod Echo $request -Connection $rpc, $other -PassThruResult) 1).Reply
            Copy-Serialized (Invoke-RpcMethod Echo $request -Connection $rpc, $other) 1 | ForEach-Object { $_ }
        )
        $values.Count | Should -Be 6
        foreach ($value in $values) { Read-Json $value | Should -BeExactly $json }
        ($values[5] | Select-Object * | Invoke-RpcMethod Echo -Connection $rpc).text | Should -Be 'x'
    }

    It 'are shown by their views: <Name>' -ForEach @(
        @{ Name = 'listener'; Pattern = 'Listening' }
        @{ Name = 'connection'; Pattern = 'Open' }
        @{ Name = 'mock'; Pattern = 'Listening' }
        @{ Name = 'call of a mock'; Pattern = '(?m)^\d\d:\d\d:\d\d Echo ' }
        @{ Name = 'result'; Pattern = 'OK.*"text":"x"' }
        @{ Name = 'ping'; Pattern = 'ProtoRpc' }
        @{ Name = 'load'; Pattern = 'calls' }
        @{ Name = 'error'; Pattern = 'no' }
        @{ Name = 'exception'; Pattern = 'NotFound' }
        @{ Name = 'schema'; Pattern = 'crossing.proto' }
        @{ Name = 'method'; Pattern = 'crossing.Crossing/Echo' }
        @{ Name = 'service'; Pattern = 'crossing.Crossing' }
        @{ Name = 'type'; Pattern = 'crossing.All' }
        @{ Name = 'raw message'; Pattern = 'crossing.All' }
        @{ Name = 'session'; Pattern = '^$' }
        @{ Name = 'records'; Pattern = 'seen' }
    ) {
        $value = switch ($Name) {
            'listener' { $listener }
            'connection' { $rpc }
            'mock' { New-RpcMock -Schema $schema -Service crossing.Crossing -Reply @{ Echo = $request } }
            'call of a mock' {
                $mock = New-RpcMock -Schema $schema -Service crossing.Crossing -Reply @{ Echo = $request }
                $null = Invoke-RpcMethod Echo $request -Connection $mock.Connection
                Get-RpcMockCall -Mock $mock
            }
            'result' { Invoke-RpcMethod Echo $request -Connection $rpc, $other -PassThruResult }
            'ping' { Test-RpcEndpoint -Connection $rpc }
            'load' { Measure-RpcEndpoint Echo $request -Connection $rpc -Count 2 }
            { $_ -in 'error', 'exception' } {
                Invoke-RpcMethod Fail -Connection $rpc -ErrorAction SilentlyContinue -ErrorVariable failed
                $Name -eq 'error' ? $failed[0] : $failed[0].Exception
            }
            'schema' { $schema }
            'method' { Get-RpcMethod Echo -Schema $schema }
            'service' { Get-RpcService -Schema $schema }
            'type' { Get-RpcMessageType All -Schema $schema }
            'raw message' { Invoke-RpcMethod Echo $request -Connection $rpc -Raw }
            'session' { Get-RpcSession -Listener $listener }
            'records' { $null = Invoke-RpcMethod Echo $request -Connection $rpc; $listener | Receive-RpcListener *>&1 }
        }

        $shown = Copy-Serialized $value 1 | Out-String -Width 200
        $shown.Trim() -replace '\e\[[\d;]*m' | Should -Match $Pattern
    }
}

Describe 'Values that the shell serialized' {
    BeforeAll {
        $proto = Join-Path $TestDrive values.proto
        Set-Content $proto @'
syntax = "proto3";
package values;
import "google/protobuf/any.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/field_mask.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
enum Day { SUNDAY = 0; Monday = 5; }
message Values {
  string text = 1; bytes seal = 2; int64 number = 3; uint64 large = 4; double ratio = 5; Day day = 6;
  google.protobuf.Timestamp at = 7; google.protobuf.Duration took = 8; google.protobuf.Value value = 9;
  repeated string texts = 10; repeated bytes seals = 11; map<string, string> labels = 12; bool flag = 13;
  google.protobuf.Int64Value maybe = 14; google.protobuf.Any any = 15; google.protobuf.FieldMask mask = 16;
  google.protobuf.Struct free = 17; map<string, Values> by_name = 18; repeated int32 numbers = 19;
}
'@
        $schema = Import-RpcSchema $proto
        function Read-Json($Message, [switch] $AllowUnknownField) {
            ConvertTo-RpcMessage values.Values $Message -Schema $schema -Format Json -AllowUnknownField:$AllowUnknownField -ErrorAction Stop
        }
        function Copy-Serialized($Value) {
            $text = [System.Management.Automation.PSSerializer]::Serialize($Value, 1)
            , [System.Management.Automation.PSSerializer]::Deserialize($text)
        }
    }

    It 'are what they were: <Name>' -ForEach @(
        @{ Name = 'a DateTimeOffset'; Field = 'at'; Value = [datetimeoffset]::new(2024, 2, 29, 12, 30, 0, 123, [timespan]::FromHours(1)) }
        @{ Name = 'a DateTimeOffset as text'; Field = 'text'; Value = [datetimeoffset]::new(2024, 2, 29, 12, 30, 0, 123, [timespan]::FromHours(1)) }
        @{ Name = 'the first DateTimeOffset'; Field = 'at'; Value = [datetimeoffset]::MinValue }
        @{ Name = 'the last DateTimeOffset'; Field = 'at'; Value = [datetimeoffset]::MaxValue }
        @{ Name = 'a DateTime'; Field = 'at'; Value = [datetime]::new(638448066001234567, 'Utc') }
        @{ Name = 'a DateOnly'; Field = 'at'; Value = [dateonly]::new(2024, 2, 29) }
        @{ Name = 'a DateOnly as text'; Field = 'text'; Value = [dateonly]::new(2024, 2, 29) }
        @{ Name = 'a TimeOnly as text'; Field = 'text'; Value = [timeonly]::new(1, 2, 3, 4) }
        @{ Name = 'a TimeSpan'; Field = 'took'; Value = [timespan]::FromTicks(12345678) }
        @{ Name = 'a BigInteger'; Field = 'large'; Value = [bigint] [uint64]::MaxValue }
        @{ Name = 'a large BigInteger as text'; Field = 'text'; Value = [bigint]::Pow(10, 40) }
        @{ Name = 'a BigInteger in a double'; Field = 'ratio'; Value = [bigint]::Pow(10, 20) }
        @{ Name = 'an Int128'; Field = 'number'; Value = [int128] -5 }
        @{ Name = 'a Half'; Field = 'ratio'; Value = [half] 1.5 }
        @{ Name = 'an IntPtr'; Field = 'number'; Value = [IntPtr] 5 }
        @{ Name = 'bytes'; Field = 'seal'; Value = [byte[]] (1, 2, 255) }
        @{ Name = 'a list of bytes'; Field = 'seal'; Value = [Collections.Generic.List[byte]] (1, 2, 255) }
        @{ Name = 'a segment of bytes'; Field = 'seal'; Value = [ArraySegment[byte]]::new([byte[]] (0, 1, 2), 1, 2) }
        @{ Name = 'a list of bytes among several'; Field = 'seals'; Value = [Collections.Generic.List[byte]] (1, 2, 255) }
        @{ Name = 'several bytes'; Field = 'seals'; Value = [byte[]] (1, 2), [byte[]] 3 }
        @{ Name = 'an enum by name'; Field = 'day'; Value = [dayofweek]::Monday }
        @{ Name = 'an enum by number'; Field = 'number'; Value = [dayofweek]::Monday }
        @{ Name = 'an enum as text'; Field = 'text'; Value = [dayofweek]::Friday }
        @{ Name = 'flags as text'; Field = 'text'; Value = [Reflection.BindingFlags] 'Public, Static' }
        @{ Name = 'an enum of bytes'; Field = 'number'; Value = [System.Security.AccessControl.AceType] 'AccessDenied' }
        @{ Name = 'an enum as bool'; Field = 'flag'; Value = [dayofweek]::Monday }
        @{ Name = 'enums in texts'; Field = 'texts'; Value = [dayofweek]::Friday, [dayofweek]::Monday }
        @{ Name = 'an enum in a value'; Field = 'value'; Value = [dayofweek]::Friday }
        @{ Name = 'an enum in a wrapper'; Field = 'maybe'; Value = [dayofweek]::Friday }
        @{ Name = 'chars'; Field = 'text'; Value = [char[]] 'abc' }
        @{ Name = 'a char'; Field = 'text'; Value = [char] 'a' }
        @{ Name = 'a StringBuilder'; Field = 'text'; Value = [Text.StringBuilder]::new('abc') }
        @{ Name = 'an address'; Field = 'text'; Value = [ipaddress] '::1' }
        @{ Name = 'a guid'; Field = 'text'; Value = [guid] '01234567-89ab-cdef-0123-456789abcdef' }
        @{ Name = 'a version'; Field = 'text'; Value = [version] '1.2.3' }
        @{ Name = 'an ordered hashtable'; Field = 'labels'; Value = [ordered] @{ b = '1'; a = [dayofweek]::Friday } }
        @{ Name = 'a time in a value'; Field = 'value'; Value = [ordered] @{ a = [datetimeoffset]::UnixEpoch; b = , [dateonly]::MinValue } }
        @{ Name = 'a time in a struct'; Field = 'free'; Value = [ordered] @{ a = [datetimeoffset]::UnixEpoch; b = [bigint] 5 } }
    ) {
        $expected = Read-Json @{ $Field = $Value }
        Read-Json @{ $Field = (Copy-Serialized $Value) } | Should -BeExactly $expected
        Read-Json (Copy-Serialized ([pscustomobject] @{ $Field = $Value })) | Should -BeExactly $expected
        Read-Json (Copy-Serialized @{ $Field = $Value }) | Should -BeExactly $expected
        Read-Json @{ by_name = Copy-Serialized @{ a = [pscustomobject] @{ $Field = $Value } } } |
            Should -BeExactly "{`"by_name`":{`"a`":$expected}}".Replace('by_name', 'byName')
    }

    It 'never become zero with -AllowUnknownField: <Field> of <Value>' -ForEach @(
        @{ Field = 'at'; Value = [pscustomobject] @{ Year = 2024; Month = 2 } }
        @{ Field = 'at'; Value = @{ DateTime = '2024-02-29' } }
        @{ Field = 'took'; Value = [pscustomobject] @{ Minutes = 5; Seconds = 3 } }
        @{ Field = 'took'; Value = @{ hours = 5 } }
        @{ Field = 'maybe'; Value = [pscustomobject] @{ Number = 5 } }
        @{ Field = 'mask'; Value = @{ names = 'text' } }
        @{ Field = 'any'; Value = @{ type = 'values.Values'; text = 'x' } }
    ) {
        { Read-Json @{ $Field = $Value } -AllowUnknownField } | Should -Throw -ErrorId 'UnknownField,*'
        { Read-Json @{ $Field = Copy-Serialized $Value } -AllowUnknownField } | Should -Throw -ErrorId 'UnknownField,*'
    }

    It 'are no other values if a file is damaged' {
        $text = [System.Management.Automation.PSSerializer]::Serialize([pscustomobject] @{ at = [datetimeoffset]::MaxValue }, 2)
        foreach ($damage in '9223372036854775807', '-1') {
            $copy = [System.Management.Automation.PSSerializer]::Deserialize(
                ($text -replace '(?<=N="UtcTicks">)\d+', $damage))
            { Read-Json $copy -AllowUnknownField } | Should -Throw -ErrorId 'UnknownField,*'
        }
    }

    It 'keep properties named as those of a job' {
        $own = [pscustomobject] @{ RunspaceId = 'a'; PSComputerName = 'b' }
        Read-Json @{ labels = Copy-Serialized $own } | Should -BeExactly '{"labels":{"RunspaceId":"a","PSComputerName":"b"}}'
    }
}
