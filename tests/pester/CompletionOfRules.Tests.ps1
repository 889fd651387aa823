. (Join-Path $PSScriptRoot common.ps1)

Describe 'Completion of interface ids, rules and extensions' {
    BeforeAll {
        $proto = Join-Path $TestDrive extended.proto
        Set-Content $proto @'
syntax = "proto2";
package ext;
import "google/protobuf/csharp_rpc_messages.proto";
enum Level { LOW = 0; HIGH = 1; }
message Tenant { optional string name = 1; }
extend google.protobuf.rpc_messages.RpcRequestHeader {
  optional Tenant tenant = 2000;  // Whose data it is.
  optional Level level = 2001;
  optional string note = 2002;
}
message Nothing { }
service Clock { rpc Now (Nothing) returns (Nothing); rpc Set (Nothing) returns (Nothing); }
'@
        $Global:extSchema = Import-RpcSchema $proto
        Enable-RpcCompletion

        function Expand([string] $Line) { (TabExpansion2 $Line $Line.Length).CompletionMatches }
    }

    AfterAll {
        Disable-RpcCompletion
        Remove-Variable extSchema -Scope Global
        Clear-Test
    }

    It 'offers the interface ids of services in <_>, by id and by name' -ForEach @(
        'Connect-RpcEndpoint inproc://x -Schema $extSchema -InterfaceId '
        'Start-RpcListener inproc://x { } -Schema $extSchema -InterfaceId '
    ) {
        $id = (Get-RpcService -Schema $extSchema).InterfaceId

        [guid] (Expand $_)[0].CompletionText.Trim("'") | Should -Be $id
        (Expand $_)[0].ToolTip | Should -Be 'ext.Clock'
        (Expand "${_}Clo").CompletionText.Trim("'") | Should -Be "$id"
        (Expand "$_$("$id".Substring(0, 4))").CompletionText.Trim("'") | Should -Be "$id"
        Expand "${_}zz" | Where-Object ToolTip -EQ 'ext.Clock' | Should -BeNullOrEmpty
    }

    It 'offers the ids of listeners of the raw layer' {
        $id = New-Guid
        $raw = Start-RpcListener "ncalrpc:[$(New-TestName)]" -InterfaceId $id -Handler { $Bytes }
        try {
            (Expand 'Connect-RpcEndpoint ncalrpc:[x] -InterfaceId ').CompletionText.Trim("'") | Should -Contain "$id"
        }
        finally {
            $raw | Stop-RpcListener
        }
    }

    It 'offers rules, whole and by key and value' {
        $line = 'Start-RpcListener inproc://x { } -Schema $extSchema -Authorization '
        (Expand $line)[0].CompletionText | Should -Be "@{ 'ext.Clock/*' = '*' }"
        (Expand "$line@{ ").CompletionText | Should -Be "'ext.Clock/*'", "'ext.Clock/Now'", "'ext.Clock/Set'"
        (Expand "$line@{ 'ext.Clock/Now' = 'bob'; 'ext.Clock/").CompletionText | Should -Not -Contain "'ext.Clock/Now'"
        (Expand "$line@{ 'ext.Clock/Now' = ").CompletionText | Should -Be "'*'", "'anonymous'"
        $rules = Invoke-Expression (Expand $line)[0].CompletionText
        $listener = Start-RpcListener "inproc://$(New-TestName)" { @{} } -Schema $extSchema -Authorization $rules
        $listener | Stop-RpcListener
    }

    It 'offers extensions of the request header, whole and by key and value' {
        $line = 'Invoke-RpcMethod Now -Endpoint tcp://x:1 -Schema $extSchema -Extension '
        (Expand $line)[0].CompletionText |
            Should -Be "@{ '[ext.tenant]' = @{ name = '' }; '[ext.level]' = 'LOW'; '[ext.note]' = '' }"
        (Expand "$line@{ ").CompletionText | Should -Be "'[ext.tenant]'", "'[ext.level]'", "'[ext.note]'"
        (Expand "$line@{ ")[0].ToolTip | Should -BeLike '*Tenant: Whose data it is.*'
        (Expand "$line@{ '[ext.tenant]' = @{ ").CompletionText | Should -Be 'name'
        (Expand "$line@{ '[ext.level]' = ").CompletionText | Should -Be "'LOW'", "'HIGH'"
        (Expand "$line@{ '[ext.level]' = 'LOW'; ").CompletionText | Should -Be "'[ext.tenant]'", "'[ext.note]'"
    }

    It 'offers no extension where the schema has none' {
        $plain = Join-Path $TestDrive plain.proto
        Set-Content $plain 'syntax = "proto3"; message N { } service S { rpc Now (N) returns (N); }'
        Expand "Invoke-RpcMethod Now -Endpoint tcp://x:1 -Schema $plain -Extension @{ " |
            Where-Object { $_.CompletionText -like '*[[]*' } | Should -BeNullOrEmpty
    }
}
