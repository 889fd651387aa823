. (Join-Path $PSScriptRoot common.ps1)

Describe 'Compare-RpcSchema' {
    BeforeAll {
        $old = Join-Path $TestDrive old.proto
        $new = Join-Path $TestDrive new/old.proto
        $null = New-Item (Split-Path $new) -ItemType Directory
        Set-Content $old @'
syntax = "proto3";
package shop.v1;
service Shop { rpc Find (Query) returns (Item); }
message Query { string text = 1; }
message Item {
  int32 price = 1;
  string note = 2;
}
'@
        Set-Content $new @'
syntax = "proto3";
package shop.v1;
service Shop { rpc Find (Query) returns (Item); }
message Query { string words = 1; }
message Item {
  reserved 2;
  reserved "note";
  string price = 1;
}
'@
    }

    It 'writes what breaks, with the place of it' {
        $changes = Compare-RpcSchema $old $new

        $changes.Rule | Should -Be FieldRenamed, FieldTypeChanged, FieldDeleted
        $changes.Element | Should -Be shop.v1.Query.text, shop.v1.Item.price, shop.v1.Item.note
        $changes[1].Category | Should -Be ([ProtoRpc.RpcBreakingCategory] 'Wire, Json, Source')
        $changes[1].Message | Should -BeLike '*from int32 to string*'
        $changes.Line | Should -Be 4, 8, 7
        $changes.Column | Should -Be 17, 3, 3
        $changes.IsInReference | Should -Be $false, $false, $true
        $changes[0].BufRules | Should -Be FIELD_SAME_NAME, FIELD_SAME_JSON_NAME
    }

    It 'writes nothing if nothing breaks' {
        Compare-RpcSchema $old $old | Should -BeNullOrEmpty
        Compare-RpcSchema $new (Import-RpcSchema $new) | Should -BeNullOrEmpty
    }

    It 'selects by -Category' {
        (Compare-RpcSchema $old $new -Category Wire).Rule | Should -Be FieldTypeChanged
        (Compare-RpcSchema $old $new -Category Json, File).Rule | Should -Be FieldRenamed, FieldTypeChanged
        (Compare-RpcSchema $old $new -Category Source).Rule | Should -HaveCount 3
        { Compare-RpcSchema $old $new -Category None -ErrorAction Stop } |
            Should -Throw -ErrorId 'ParameterArgumentValidationError,*'
    }

    It 'leaves out what -Exclude matches' {
        Compare-RpcSchema $old $new -Exclude shop.* | Should -BeNullOrEmpty
        Compare-RpcSchema $old $new -Exclude SHOP.V? | Should -BeNullOrEmpty
        (Compare-RpcSchema $old $new -Exclude other.*, *.Item.*).Rule | Should -Be FieldRenamed
    }

    It 'takes newer schemas from the pipeline' {
        (Import-RpcSchema $new), (Import-RpcSchema $old) | Compare-RpcSchema $old | Should -HaveCount 3
    }

    It 'compares with a server' {
        $listener = Start-RpcListener -Endpoint grpc://127.0.0.1:0 -Schema $new -Handler @{ Find = @{} }
        try {
            $changes = Compare-RpcSchema $old $listener.Endpoint[0]

            $changes.Rule.ForEach([string]) | Sort-Object | Should -Be FieldDeleted, FieldRenamed, FieldTypeChanged
            ($changes | Where-Object Rule -EQ FieldDeleted).Line | Should -Be 7
        }
        finally {
            $listener | Stop-RpcListener
        }
    }

    It 'fails for a schema that cannot be read' {
        { Compare-RpcSchema $old (Join-Path $TestDrive none.proto) -ErrorAction Stop } |
            Should -Throw -ExpectedMessage '*none.proto*'
    }

    It 'completes -Category' {
        (Complete 'Compare-RpcSchema a b -Category ').CompletionText |
            Should -Be File, Json, Source, Wire
        (Complete 'Compare-RpcSchema a b -Category Wire, J').CompletionText | Should -Be Json
    }

    It 'is shown under the file, with lines and messages' {
        $text = (Compare-RpcSchema $old $new | Out-String -Width 160) -replace '\e\[[\d;]*m'

        $text | Should -Match 'File: old\.proto'
        $text | Should -Match '\s8 FieldTypeChanged +Wire, Json, Source shop\.v1\.Item\.price: The type of the field price'
    }
}
