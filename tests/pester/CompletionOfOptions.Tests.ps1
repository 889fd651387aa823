. (Join-Path $PSScriptRoot common.ps1)

Describe 'Completion of headers and other options' {
    BeforeAll {
        $proto = Join-Path $TestDrive tenants.proto
        Set-Content $proto @'
syntax = "proto3";
package acme;
import "google/protobuf/descriptor.proto";
message Rule { string name = 1; repeated string also = 2; }
extend google.protobuf.ServiceOptions { repeated string required_headers = 50001; }
extend google.protobuf.MethodOptions { Rule metadata_rule = 50002; string note = 50003; }
message Address { string street = 1; map<string, string> labels = 2; }
message Order { string id = 1; string password = 2; Address address = 3; Order parent = 4; }
service Orders {
  option (required_headers) = "x-acme-region";
  option (required_headers) = "not a header";
  rpc Get (Order) returns (Order) {
    option (metadata_rule) = { name: "X-Acme-Order", also: "x-acme-shard" };
    option (note) = "x-not-this";
  }
}
'@
        $Global:acmeSchema = Import-RpcSchema $proto
        Enable-RpcCompletion

        function Expand([string] $Line) { (TabExpansion2 $Line $Line.Length).CompletionMatches }
    }

    AfterAll {
        Disable-RpcCompletion
        Remove-Variable acmeSchema -Scope Global
        Clear-Test
    }

    It 'offers headers inside the hashtable: <_>' -ForEach @(
        'Invoke-RpcMethod Get -Endpoint inproc://x -Schema $acmeSchema -Header @{ '
        'Connect-RpcEndpoint inproc://x -Schema $acmeSchema -Header @{ '
        'Measure-RpcEndpoint Get -Endpoint inproc://x -Schema $acmeSchema -ConnectionOption @{ Header = @{ '
        'Test-RpcEndpoint inproc://x -Schema $acmeSchema -ConnectionOption @{ Header = @{ '
    ) {
        $all = (Expand $_).CompletionText
        $all | Select-Object -First 3 | Should -Be "'x-acme-region'", "'x-acme-order'", "'x-acme-shard'"
        $all | Should -Contain 'authorization'
        $all | Should -Contain 'traceparent'
        $all -match 'not' | Should -BeNullOrEmpty
        (Expand "${_}x-acme-o").CompletionText | Should -Be "'x-acme-order'"
        $place = TabExpansion2 "${_}x-acme-o" "${_}x-acme-o".Length
        $place.ReplacementIndex, $place.ReplacementLength | Should -Be $_.Length, 'x-acme-o'.Length
        (Expand "${_}'x-acme-o").CompletionText | Should -Be "'x-acme-order'"
        (Expand "${_}Authorization = 'x'; aut").CompletionText | Should -BeNullOrEmpty
        (Expand "${_}authorization = ").CompletionText | Should -Be "'Bearer '", "'Basic '"
        (Expand "${_}traceparent = ").CompletionText | Should -Match "^'00-[0-9a-f]{32}-[0-9a-f]{16}-01'$"
    }

    It 'offers the limits inside the hashtable: <_>' -ForEach @(
        'Start-RpcListener inproc://x -Schema $acmeSchema -Limits @{ '
        'New-RpcConnectionOption -Limits @{ '
        'Test-RpcEndpoint inproc://x -Schema $acmeSchema -ConnectionOption @{ Limits = @{ '
    ) {
        (Expand "${_}Handler").CompletionText | Should -Be 'HandlerTimeout'
    }

    It 'offers the settings of random messages' {
        $line = 'Measure-RpcEndpoint Get -Endpoint inproc://x -Schema $acmeSchema -RandomMessage '
        (Expand $line).CompletionText | Should -Be '@{ }'
        (Expand "$line@{ ").CompletionText | Should -Be MaxBytes, Seed
        (Expand "$line@{ Seed = 1; ").CompletionText | Should -Be MaxBytes
    }

    It 'offers a hashtable with a header as the whole argument' {
        $all = (Expand 'Invoke-RpcMethod Get -Endpoint inproc://x -Schema $acmeSchema -Header ').CompletionText
        $all | Should -Contain "@{ authorization = 'Bearer ' }"
        $all | Should -Contain "@{ 'x-acme-region' = '' }"
        (Expand 'Connect-RpcEndpoint inproc://x -Header auth').CompletionText | Should -Be "@{ authorization = 'Bearer ' }"
    }

    It 'offers only headers that can be sent' {
        foreach ($match in Expand 'Connect-RpcEndpoint inproc://x -Header ') {
            $header = & ([scriptblock]::Create($match.CompletionText))
            $name = "$($header.Keys)"
            if ($header[$name]) {
                { [ProtoRpc.RpcMetadata]::new().Add($name, [string] $header[$name]) } | Should -Not -Throw -Because $name
            }
            else {
                { [ProtoRpc.RpcMetadata]::new().Add($name, 'x') } | Should -Not -Throw -Because $name
            }
        }
    }

    It 'quotes what a hostile schema names' {
        $hostile = Join-Path $TestDrive hostile.proto
        Set-Content $hostile @'
syntax = "proto3";
import "google/protobuf/descriptor.proto";
extend google.protobuf.ServiceOptions { repeated string headers = 50001; }
message M { }
service S {
  option (headers) = "$(calc)";
  option (headers) = "x'; calc; '";
  option (headers) = "\033[31m";
  option (headers) = "x-fine";
  rpc Do (M) returns (M);
}
'@
        $all = (Expand "Invoke-RpcMethod Do -Endpoint inproc://x -Schema '$hostile' -Header @{ ").CompletionText
        $all | Select-Object -First 1 | Should -Be "'x-fine'"
        $all -match 'calc|\e' | Should -BeNullOrEmpty
    }

    It 'offers the headers of a command of a service' {
        $listener = Start-RpcListener "inproc://$(New-TestName)" @{ Get = @{} } -Schema $acmeSchema
        $module = Import-RpcService -Endpoint "$($listener.Endpoint[0])" -Schema $acmeSchema -Prefix Acme -PassThru -Force
        try {
            $name = @($module.ExportedCommands.Keys)[0]
            (Expand "$name -Header @{ aut").CompletionText | Should -Be 'authorization'
        }
        finally {
            $module | Remove-Module
            $listener | Stop-RpcListener
        }
    }

    It 'offers headers for gateways' {
        (Expand 'New-RpcListenerOption -ForwardHeader auth').CompletionText | Should -Contain 'authorization'
        (Expand 'New-RpcListenerOption -ForwardHeader tracep').CompletionText | Should -Be 'traceparent'
        $line = 'Set-RpcListener 1 -ListenerOption @{ BlockHeader = '
        (Expand "${line}auth").CompletionText | Should -Contain "'authorization'"
        (Expand "${line}tracep").CompletionText | Should -Be "'traceparent'"
    }

    It 'offers the settings of listeners that the cmdlet supports' {
        $ofWorkers = 'Impersonate', 'InitializationScript', 'Module', 'WorkerCount'
        (Expand 'Set-RpcMock $mock -ListenerOption @{ ').CompletionText | Should -Be $ofWorkers
        (Expand 'Set-RpcListener 1 -ListenerOption @{ ').CompletionText |
            Should -Be (@('BlockHeader', 'CertificatePassword', 'ForwardHeader') + $ofWorkers)
        (Expand 'New-RpcMock x.proto -ListenerOption @{ Allow').CompletionText |
            Should -Be 'AllowGet', 'AllowedHost', 'AllowedOrigin'
        (Expand 'Start-RpcListener inproc://x { } -ListenerOption @{ Max').CompletionText |
            Should -Be 'MaxCalls', 'MaxRequestBytes'
    }

    It 'offers the fields to mask, nested ones as well' {
        (Expand 'Start-RpcListener inproc://x { } -Schema $acmeSchema -Record x -Mask ').CompletionText |
            Should -Be 'id', 'password', 'address', 'parent', 'street', 'labels'
    }

    It 'offers the host of the endpoint' {
        $line = 'Connect-RpcEndpoint https://shop.example.com:8443/'
        (Expand "$line -ConnectionOption @{ ServerName = ").CompletionText | Should -Be "'shop.example.com'"
        (Expand "$line -ConnectionOption @{ ServicePrincipalName = H").CompletionText |
            Should -Contain "'HTTP/shop.example.com'"
        (Expand 'New-RpcListenerOption -AllowedHost ').CompletionText | Should -Contain "'*'"
        (Expand 'New-RpcListenerOption -AllowedOrigin ').CompletionText | Should -Contain '*'
    }

    It 'offers modules, references of secrets, and tags' {
        $env:PROTORPC_TEST_SECRET = 'hush'
        try {
            (Expand 'Start-RpcListener inproc://x { } -ListenerOption @{ Module = Proto').CompletionText | Should -Contain "'ProtoRpc'"
            $secret = Expand "Register-RpcEndpoint x inproc://x -ConnectionOption @{ Token = 'env:PROTORPC_TEST_S"
            $secret.CompletionText | Should -Be "'env:PROTORPC_TEST_SECRET'"
            "$($secret.ToolTip)" | Should -Not -BeLike '*hush*'
        }
        finally {
            Remove-Item env:PROTORPC_TEST_SECRET
        }
    }

    It 'offers the request of a ping' {
        (Expand 'Test-RpcEndpoint inproc://x -Message ').CompletionText | Should -BeLike '@{*}'
    }
}
