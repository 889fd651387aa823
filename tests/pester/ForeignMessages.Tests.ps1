. (Join-Path $PSScriptRoot common.ps1)

# In shells of their own, because an assembly cannot be unloaded.
Describe 'Messages of another copy of Google.Protobuf' {
    BeforeAll {
        $proto = Join-Path $TestDrive times.proto
        Set-Content $proto @'
syntax = "proto3";
package times;
import "google/protobuf/timestamp.proto";
import "google/protobuf/any.proto";
import "google/protobuf/field_mask.proto";
message Entry { google.protobuf.Timestamp at = 1; google.protobuf.Any any = 2; repeated google.protobuf.Timestamp all = 3; }
service Log { rpc Add(Entry) returns (Entry); rpc Mask(google.protobuf.FieldMask) returns (google.protobuf.FieldMask); }
'@
        $library = Join-Path (Get-Module ProtoRpc).ModuleBase artifacts bin ProtoRpc.PowerShell debug Google.Protobuf.dll
        if (-not (Test-Path $library)) {
            $library = Get-ChildItem (Get-Module ProtoRpc).ModuleBase -Recurse -Filter Google.Protobuf.dll |
                Select-Object -First 1 -ExpandProperty FullName
        }

        function Invoke-WithLibrary([string] $Script) {
            $run = Invoke-Pwsh @"
`$ErrorActionPreference = 'Stop'
Add-Type -LiteralPath '$library'
Import-Module '$ModuleManifest'
`$schema = Import-RpcSchema '$proto'
`$listener = Start-RpcListener 'inproc://log' { param(`$Request) `$Request } -Schema `$schema
`$rpc = Connect-RpcEndpoint inproc://log -Schema `$schema
`$time = [Google.Protobuf.WellKnownTypes.Timestamp]::FromDateTime([datetime]::new(2024, 2, 29, 12, 30, 0, [DateTimeKind]::Utc))
$Script
"@
            $run.Error | Should -BeNullOrEmpty
            $run.Output.Trim() -split '\r?\n'
        }
    }

    It 'are taken as fields, as elements, in an Any and as the request' {
        Invoke-WithLibrary @'
([AppDomain]::CurrentDomain.GetAssemblies() | Where-Object { $_.GetName().Name -eq 'Google.Protobuf' }).Count
$reply = Invoke-RpcMethod Add @{ at = $time; any = $time; all = $time, $time } -Connection $rpc
$reply.at.ToString('o')
$reply.any.'@type'
$reply.all.Count
$mask = [Google.Protobuf.WellKnownTypes.FieldMask]::new()
$mask.Paths.Add('a.b')
Invoke-RpcMethod Mask $mask -Connection $rpc
'@ | Should -Be '2', '2024-02-29T12:30:00.0000000+00:00', 'type.googleapis.com/google.protobuf.Timestamp', '2', 'a.b'
    }

    It 'are an error that names both types if they are of another type' {
        Invoke-WithLibrary @'
try { Invoke-RpcMethod Add $time -Connection $rpc } catch { "$_" }
'@ | Should -BeLike '*google.protobuf.Timestamp*times.Entry*'
    }
}
