. (Join-Path $PSScriptRoot common.ps1)

Describe 'ConvertTo-RpcRecord' {
    BeforeAll {
        $proto = Join-Path $TestDrive rows.proto
        Set-Content $proto @'
            syntax = "proto3";
            package rows;
            import "google/protobuf/timestamp.proto";
            import "google/protobuf/duration.proto";
            enum Color { NONE = 0; RED = 1; }
            message Point { double x = 1; double y = 2; }
            message Place { string site = 1; Point at = 2; }
            message Order {
              string id = 1;
              optional int32 count = 2;
              Color color = 3;
              bytes data = 4;
              google.protobuf.Timestamp when = 5;
              google.protobuf.Duration took = 6;
              Place location = 7;
              repeated string tags = 8;
              repeated Place stops = 9;
              map<string, int64> stock = 10;
              bool done = 11;
              oneof payment { string card = 12; int32 cash = 13; }
              Order parent = 14;
            }
            message Twins { string name = 1; string Name = 2; }
            service Orders { rpc Put (Order) returns (Order); }
'@
        $schema = Import-RpcSchema $proto
        $full = @{
            id = '=1+1 "quoted", with a comma'; count = 7; color = 'RED'; data = [byte[]] (0, 255)
            when = [DateTimeOffset]::new(2024, 2, 29, 12, 30, 0, 500, [TimeSpan]::FromHours(2)); took = '1.5s'
            location = @{ site = 'A'; at = @{ x = 1.5; y = -2 } }; tags = 'x', 'y,z'
            stops = @{ site = 'S1' }, @{ at = @{ x = 1 } }; stock = @{ 'a.b' = [long]::MaxValue; c = 2 }
            done = $true; cash = 5; parent = @{ id = 'p'; parent = @{ id = 'pp' } }
        }
        $listener = Start-RpcListener -Schema $schema -Service rows.Orders -Endpoint "ncalrpc:[$(New-TestName)]" `
            -Handler @{ Put = { param($Request) $Request } }
        $all = @{ }, $full, @{ id = 'last'; card = 'c'; location = @{ site = 'B' } }
        $rpc = Connect-RpcEndpoint $listener.Endpoint[0] -Schema $schema

        function ConvertTo-OrderJson($Order) {
            ConvertTo-RpcMessage rows.Order $Order -Schema $schema -Format Json
        }
    }

    AfterAll { Clear-Test }

    It 'gives flat columns with dotted names, the same for each message' {
        $records = $all | Invoke-RpcMethod Put -Connection $rpc | ConvertTo-RpcRecord

        $names = 'id', 'count', 'color', 'data', 'when', 'took', 'location.site', 'location.at.x', 'location.at.y',
            'tags', 'stops', 'stock', 'done', 'card', 'cash', 'parent'
        $records | Should -HaveCount 3
        foreach ($record in $records) {
            $record.PSObject.Properties.Name | Should -Be $names
        }
        $records[1].'location.at.x' | Should -Be '1.5'
        $records[1].when | Should -Be '2024-02-29T10:30:00.500Z'
        $records[1].tags | Should -BeExactly '["x","y,z"]'
        $records[0].'location.site' | Should -BeNullOrEmpty
        $records[0].count | Should -BeNullOrEmpty
    }

    It 'comes back from a CSV file as it was, in <_>' -ForEach 'en-US', 'de-DE', 'fa-IR' {
        $file = Join-Path $TestDrive "$_.csv"
        $before = [cultureinfo]::CurrentCulture
        $replies = $all | Invoke-RpcMethod Put -Connection $rpc
        try {
            [cultureinfo]::CurrentCulture = $_
            $replies | ConvertTo-RpcRecord | Export-Csv $file
            $again = Import-Csv $file | ConvertTo-RpcMessage rows.Order -Schema $schema -Format Json
            $sent = Import-Csv $file | Invoke-RpcMethod Put -Connection $rpc
        }
        finally {
            [cultureinfo]::CurrentCulture = $before
        }

        Get-Content $file -Raw | Should -Not -Match 'System\.|@\{'
        $again | Should -BeExactly ($replies | ForEach-Object { ConvertTo-OrderJson $_ })
        ($sent | ForEach-Object { ConvertTo-OrderJson $_ }) | Should -BeExactly $again
    }

    It 'takes the type and schema of a reply from the reply, and else from parameters' {
        $reply = Invoke-RpcMethod Put $full -Connection $rpc
        $object = [pscustomobject]@{ id = 'x' }

        ($reply | ConvertTo-RpcRecord).color | Should -Be 'RED'
        ($object | ConvertTo-RpcRecord rows.Order -Schema $schema).id | Should -Be 'x'
        (ConvertTo-RpcRecord rows.Order @{ id = 'y' } -Connection $rpc).id | Should -Be 'y'
        { $object | ConvertTo-RpcRecord -ErrorAction Stop } |
            Should -Throw -ErrorId 'UnknownMessageType,*' -ExpectedMessage '*-Type*'
    }

    It 'names the columns that differ only in case' {
        { ConvertTo-RpcRecord rows.Twins @{ } -Schema $schema -ErrorAction Stop } |
            Should -Throw -ErrorId 'AmbiguousColumn,*' -ExpectedMessage "*'name' and 'Name'*-Format Json*"
    }
}
