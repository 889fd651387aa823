. (Join-Path $PSScriptRoot common.ps1)

Describe 'Messages in the commands of the shell' {
    BeforeAll {
        $script:proto = Join-Path $TestDrive parcel.proto
        Set-Content $proto @'
syntax = "proto3";
package parcel;
message Place { string city = 1; repeated string tags = 2; }
message Parcel {
  string id = 1;
  bytes label = 2;
  repeated int32 sizes = 3;
  Place to = 4;
  repeated Place stops = 5;
  map<string, int64> weights = 6;
  repeated bytes scans = 7;
}
'@
        $script:text = '{"id":"a","label":"AQL/","sizes":[1,2],"to":{"city":"Rom","tags":["x"]},' +
            '"stops":[{"city":"Ulm"},{"city":"Bonn"}],"weights":{"kg":7},"scans":["AQ==","Ag=="]}'

        function Get-Parcel([string] $Old = ' ', [string] $New = ' ') {
            $text.Replace($Old, $New) | ConvertFrom-RpcMessage -Type parcel.Parcel -Schema $proto -Format Json
        }
    }

    AfterAll { Clear-Test }

    It 'are rows of Export-Csv whose cells are base64 and JSON, and which are read back' {
        $csv = Get-Parcel | ConvertTo-Csv

        $row = $csv | ConvertFrom-Csv
        $row.label | Should -Be 'base64:AQL/'
        $row.sizes | Should -Be '[1,2]'
        $row.stops | Should -Be '[{"city":"Ulm"},{"city":"Bonn"}]'
        $row.weights | Should -Be '{"kg":7}'
        $row.scans | Should -Be '["AQ==","Ag=="]'
        $back = $row | ConvertTo-RpcMessage -Type parcel.Parcel -Schema $proto -Format Json
        $back | ConvertFrom-Json | ConvertTo-Json -Depth 9 |
            Should -Be ($text.Replace('"kg":7', '"kg":"7"') | ConvertFrom-Json | ConvertTo-Json -Depth 9)
    }

    It 'have empty cells of empty lists, and cells of what a script set' {
        $empty = ConvertFrom-RpcMessage '{}' -Type parcel.Parcel -Schema $proto -Format Json
        ($empty | ConvertTo-Csv | ConvertFrom-Csv).label | Should -Be ''
        ($empty | ConvertTo-Csv | ConvertFrom-Csv).sizes | Should -Be '[]'

        $parcel = Get-Parcel
        $parcel.sizes += 3
        $parcel.label = [byte[]] (1, 2)
        ($parcel | ConvertTo-Csv | ConvertFrom-Csv).sizes | Should -Be '[1,2,3]'
        ($parcel | ConvertTo-Csv | ConvertFrom-Csv).label | Should -Be 'base64:AQI='
    }

    It 'have no lines and controls in cells' {
        $hostile = '{"stops":[{"city":"a\nb\u001b[31m"}]}' |
            ConvertFrom-RpcMessage -Type parcel.Parcel -Schema $proto -Format Json
        $cell = ($hostile | ConvertTo-Csv | ConvertFrom-Csv).stops
        $cell | Should -Not -Match '[\x00-\x1F]'
        ($cell | ConvertFrom-Json)[0].city | Should -Be "a`nb`e[31m"
    }

    It 'have lists, maps and bytes that are those of .NET to scripts' {
        $parcel = Get-Parcel
        $parcel.label -is [byte[]] | Should -BeTrue
        $parcel.label.GetType() | Should -Be ([byte[]])
        [Convert]::ToBase64String($parcel.label) | Should -Be 'AQL/'
        [IO.MemoryStream]::new($parcel.label).Length | Should -Be 3
        $parcel.sizes.Length | Should -Be 2
        $parcel.sizes[1] | Should -Be 2
        ($parcel.sizes | ForEach-Object { $_ * 2 }) | Should -Be 2, 4
        "$($parcel.sizes)" | Should -Be '1 2'
        $parcel.sizes -join ';' | Should -Be '1;2'
        $parcel.weights.kg | Should -Be 7
        $parcel.weights['kg'] | Should -Be 7
        $parcel.weights -is [Collections.IDictionary] | Should -BeTrue
        $parcel.sizes[0] = 9
        $parcel.sizes[0] | Should -Be 9
        function Get-Splat($kg) { $kg }
        $map = $parcel.weights
        Get-Splat @map | Should -Be 7
        ($parcel | Get-Member label).Definition | Should -Be 'byte[] label=System.Byte[]'
        $copy = [Management.Automation.PSSerializer]::Deserialize(
            [Management.Automation.PSSerializer]::Serialize($parcel, 4))
        $copy.label -is [byte[]] | Should -BeTrue
        $copy.sizes | Should -Be 9, 2
    }

    It 'are JSON of ConvertTo-Json with lists and maps, and numbers for bytes' {
        $json = Get-Parcel | ConvertTo-Json -Depth 5 -Compress
        $json | Should -Be ('{"id":"a","label":[1,2,255],"sizes":[1,2],"to":{"city":"Rom","tags":["x"]},' +
            '"stops":[{"city":"Ulm","tags":[]},{"city":"Bonn","tags":[]}],"weights":{"kg":7},"scans":[[1],[2]]}')
        "$(Get-Parcel)" | Should -Be $text
        Get-Parcel | Select-Object -ExcludeProperty label, scans | ConvertTo-Json -Depth 5 |
            Should -Not -Match '@text'
    }

    It 'differ for Compare-Object wherever their fields differ: <New>' -ForEach @(
        @{ Old = '"id":"a"'; New = '"id":"b"' }
        @{ Old = 'Rom'; New = 'Bern' }
        @{ Old = '["x"]'; New = '["x","y"]' }
        @{ Old = 'Bonn'; New = 'Kiel' }
        @{ Old = 'AQL/'; New = 'AQL+' }
        @{ Old = '"kg":7'; New = '"kg":8' }
        @{ Old = '[1,2]'; New = '[2,1]' }
    ) {
        $other = Get-Parcel $Old $New
        $same = Get-Parcel

        Compare-Object (Get-Parcel) $same | Should -BeNullOrEmpty
        Compare-Object (Get-Parcel) $same -Property { "$_" } | Should -BeNullOrEmpty
        Compare-Object (Get-Parcel) $other -Property { "$_" } | Should -HaveCount 2
        $difference = Compare-Object (Get-Parcel) $other
        $difference.SideIndicator | Sort-Object | Should -Be '<=', '=>'
        ($difference | Where-Object SideIndicator -eq '=>').InputObject | Should -Be $other
        Compare-Object (Get-Parcel), $same, $other $other, (Get-Parcel), (Get-Parcel) | Should -BeNullOrEmpty
        Compare-Object (Get-Parcel) $same -IncludeEqual | ForEach-Object SideIndicator | Should -Be '=='
    }

    It 'are sorted and grouped by their text where no property is named' {
        $sorted = (Get-Parcel Rom B), (Get-Parcel Rom A) | Sort-Object
        $sorted.to.city | Should -Be A, B
        ((Get-Parcel), (Get-Parcel Rom Bern), (Get-Parcel) | Group-Object | ForEach-Object Count) | Should -Be 1, 2
        ((Get-Parcel), (Get-Parcel) | Sort-Object -Unique) | Should -HaveCount 1
        (Get-Parcel | Get-Member).Name | Should -Not -Contain '@text'
        (Get-Parcel).PSObject.Properties.Name | Should -Not -Contain '@text'
    }
}
