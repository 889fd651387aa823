. (Join-Path $PSScriptRoot common.ps1)

Describe 'gRPC servers whose reflection is odd' {
    BeforeAll {
        # The files of a schema by their names, each as bytes, as reflection sends them.
        $null = New-Item -ItemType Directory "$TestDrive/shop"
        Set-Content "$TestDrive/set.proto" @'
syntax = "proto3";
import "google/protobuf/descriptor.proto";
message Keep { google.protobuf.FileDescriptorSet set = 1; }
'@
        Set-Content "$TestDrive/shop/types.proto" @'
syntax = "proto3";
package shop;
message Item { string name = 1; }
'@
        Set-Content "$TestDrive/shop/shop.proto" @'
syntax = "proto3";
package shop;
import "shop/types.proto";
import "google/protobuf/any.proto";
message Text { string text = 1; google.protobuf.Any any = 2; }
service Shop {
  rpc Get (Text) returns (Item);
  rpc Say (Text) returns (Text);
}
'@
        Set-Content "$TestDrive/shop/pens.proto" @'
syntax = "proto3";
package pens;
message Pen { string colour = 1; }
'@
        $shop = Import-RpcSchema "$TestDrive/shop/*.proto" -ImportPath $TestDrive
        $descriptors = Import-RpcSchema "$TestDrive/set.proto"
        Export-RpcSchema "$TestDrive/shop.pb" -Schema $shop
        $bytes = [IO.File]::ReadAllBytes("$TestDrive/shop.pb")
        $set = ConvertFrom-RpcMessage google.protobuf.FileDescriptorSet $bytes -Schema $descriptors
        $files = @{}
        foreach ($file in $set.file) {
            $files[$file.name] = ConvertTo-RpcMessage google.protobuf.FileDescriptorProto $file -Schema $descriptors
        }

        # A server of shop.Shop whose reflection has only some of its files.
        function Start-OddListener([hashtable] $Files, [string[]] $Services) {
            $proto = Join-Path $RepositoryRoot protos/grpc/reflection/v1/reflection.proto
            $protos = Import-RpcSchema $proto, "$TestDrive/shop/shop.proto" -ImportPath (Join-Path $RepositoryRoot protos), $TestDrive
            Start-RpcListener -Schema $protos -Service grpc.reflection.v1.ServerReflection, shop.Shop -Endpoint grpc://127.0.0.1:0 -ListenerOption @{ NoReflection = $true } -Handler @{
                Get = { @{ name = 'pen' } }
                Say = { $Request }
                ServerReflectionInfo = {
                    $files = $using:Files
                    foreach ($one in $Request) {
                        if ($one.list_services) {
                            @{ list_services_response = @{ service = @($using:Services | ForEach-Object { @{ name = $_ } }) } }
                            continue
                        }
                        $name = switch ("$($one.file_containing_symbol)") {
                            'shop.Shop' { 'shop/shop.proto' }
                            'pens.Pen' { 'shop/pens.proto' }
                            default { $one.file_by_filename }
                        }
                        if ($name -and $files[$name]) {
                            @{ file_descriptor_response = @{ file_descriptor_proto = @(, $files[$name]) } }
                        }
                        else {
                            @{ error_response = @{ error_code = 5; error_message = 'not here' } }
                        }
                    }
                }
            }
        }
    }

    AfterEach { Clear-Test }

    It 'calls the methods that need nothing of a missing file, and names the file for the others' {
        $odd = $files.Clone()
        $odd.Remove('shop/types.proto')
        $listener = Start-OddListener $odd shop.Shop

        $rpc = Connect-RpcEndpoint $listener.Endpoint[0] -WarningVariable warnings -WarningAction SilentlyContinue

        "$warnings" | Should -BeLike "*does not return 'shop/types.proto'*shop.Shop/Get*"
        ($rpc | Invoke-RpcMethod Say @{ text = 'hi' }).text | Should -Be hi
        { $rpc | Invoke-RpcMethod Get @{ text = 'hi' } -ErrorAction Stop } |
            Should -Throw -ErrorId 'SchemaIncomplete,*' -ExpectedMessage "*'shop/types.proto'*"
        ($rpc | Get-RpcMethod Get).Problem | Should -BeLike "*'shop/types.proto'*"
        ($rpc | Get-RpcMethod Say).Problem | Should -BeNullOrEmpty
        $rpc | Get-RpcMethod Get | Out-String | Should -BeLike "*// The server does not return 'shop/types.proto'*"
    }

    It 'fills the gaps of the server by -Schema, and those of -Schema by the server' {
        $odd = $files.Clone()
        $odd.Remove('shop/types.proto')
        $listener = Start-OddListener $odd shop.Shop

        $rpc = Connect-RpcEndpoint $listener.Endpoint[0] -Schema "$TestDrive/shop/types.proto" -Reflection -WarningVariable warnings

        $warnings | Should -BeNullOrEmpty
        ($rpc | Invoke-RpcMethod Get @{ text = 'hi' }).name | Should -Be pen
    }

    It 'shows a service that the server lists, but does not describe' {
        $listener = Start-OddListener $files shop.Shop, shop.Gone

        $rpc = Connect-RpcEndpoint $listener.Endpoint[0] -WarningVariable warnings -WarningAction SilentlyContinue

        "$warnings" | Should -BeLike '*lists shop.Gone, but does not describe it: not here*'
        $gone = $rpc | Get-RpcService shop.Gone
        $gone.Problem | Should -Be 'not here'
        $gone | Out-String | Should -BeLike '*// not here*service Gone*'
        ($rpc | Get-RpcService shop.Shop).Methods.Count | Should -Be 2
    }

    It 'asks the server for the types that messages name' {
        $listener = Start-OddListener $files shop.Shop
        $rpc = Connect-RpcEndpoint $listener.Endpoint[0]

        $reply = $rpc | Invoke-RpcMethod Say @{ any = @{ '@type' = 'pens.Pen'; colour = 'red' } }

        $reply.any.colour | Should -Be red
    }
}
