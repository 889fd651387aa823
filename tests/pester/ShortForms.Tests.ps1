. (Join-Path $PSScriptRoot common.ps1)

Describe 'Short forms of values' {
    BeforeAll {
        $proto = Join-Path $TestDrive short.proto
        Set-Content $proto @'
syntax = "proto3";
package short;
import "google/protobuf/duration.proto";
enum Category { CATEGORY_UNSPECIFIED = 0; CATEGORY_TOOL = 1; CATEGORY_BIG_TOY = 2; }
message Item {
  google.protobuf.Duration wait = 1;
  Category category = 2;
  repeated Category more = 3;
  map<string, Category> by_name = 4;
}
service Shop { rpc Put(Item) returns (Item); }
'@
        $schema = Import-RpcSchema $proto
        $listener = Start-RpcListener "ncalrpc:[$(New-TestName)]" { param($Request) $Request } -Schema $schema
        $rpc = Connect-RpcEndpoint $listener.Endpoint[0] -Schema $schema
        $commands = Import-RpcService -Connection $rpc -PassThru
        $put = Get-Command -Module $commands
    }

    AfterAll {
        $commands | Remove-Module
        Clear-Test
    }

    It 'takes <Value> for a duration' -ForEach @(
        @{ Value = 5; Seconds = 5 }
        @{ Value = 2.5; Seconds = 2.5 }
        @{ Value = '50ms'; Seconds = 0.05 }
        @{ Value = '2.5'; Seconds = 2.5 }
        @{ Value = '5m'; Seconds = 300 }
        @{ Value = '00:01:30'; Seconds = 90 }
        @{ Value = [timespan]::FromMilliseconds(1); Seconds = 0.001 }
    ) {
        (Invoke-RpcMethod Put @{ wait = $Value } -Connection $rpc).wait.TotalSeconds | Should -Be $Seconds
        (& $put -Wait $Value).wait.TotalSeconds | Should -Be $Seconds
    }

    It 'takes numbers in every culture' {
        $before = [cultureinfo]::CurrentCulture
        [cultureinfo]::CurrentCulture = 'de-DE'
        try {
            (Invoke-RpcMethod Put @{ wait = 2.5 } -Connection $rpc).wait.TotalSeconds | Should -Be 2.5
            (& $put -Wait 2.5).wait.TotalSeconds | Should -Be 2.5
            (& $put -Wait ([double] 2.5)).wait.TotalSeconds | Should -Be 2.5
        }
        finally {
            [cultureinfo]::CurrentCulture = $before
        }
    }

    It 'says what a duration can be' {
        { Invoke-RpcMethod Put @{ wait = 'soon' } -Connection $rpc -ErrorAction Stop } |
            Should -Throw -ErrorId 'InvalidFieldValue,*' -ExpectedMessage "*'soon'*50ms*"
        { & $put -Wait soon } | Should -Throw -ExpectedMessage "*'soon'*50ms*"
    }

    It 'takes <Value> for CATEGORY_<Name>' -ForEach @(
        @{ Value = 'tool'; Name = 'TOOL' }
        @{ Value = 'TOOL'; Name = 'TOOL' }
        @{ Value = 'big_toy'; Name = 'BIG_TOY' }
        @{ Value = 'category_tool'; Name = 'TOOL' }
    ) {
        (Invoke-RpcMethod Put @{ category = $Value } -Connection $rpc).category | Should -Be "CATEGORY_$Name"
        (& $put -Category $Value).category | Should -Be "CATEGORY_$Name"
        (Invoke-RpcMethod Put @{ more = $Value, 2 } -Connection $rpc).more | Should -Be "CATEGORY_$Name", 'CATEGORY_BIG_TOY'
        (Invoke-RpcMethod Put @{ by_name = @{ a = $Value } } -Connection $rpc).by_name['a'] | Should -Be "CATEGORY_$Name"
    }

    It 'still refuses other names' {
        { Invoke-RpcMethod Put @{ category = 'toy' } -Connection $rpc -ErrorAction Stop } |
            Should -Throw -ErrorId 'InvalidFieldValue,*' -ExpectedMessage '*is not in the enum short.Category*'
    }

    It 'takes <Value> for a parameter of the type TimeSpan' -ForEach @(
        @{ Value = '5000ms' }
        @{ Value = '5s' }
        @{ Value = 5 }
        @{ Value = '0:0:5' }
    ) {
        $option = New-RpcConnectionOption -KeepAlive $Value

        $option.KeepAlive | Should -Be ([timespan]::FromSeconds(5))
        (Invoke-RpcMethod Put @{ wait = 1 } -Connection $rpc -Deadline $Value).wait.TotalSeconds | Should -Be 1
    }

    It 'says what such a parameter takes' {
        { Invoke-RpcMethod Put @{} -Connection $rpc -Deadline soon } | Should -Throw -ExpectedMessage "*'soon' is not a time*50ms*"
    }
}
