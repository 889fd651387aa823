. (Join-Path $PSScriptRoot common.ps1)

Describe 'Requests of the commands of a service' {
    BeforeAll {
        $proto = Join-Path $TestDrive requests.proto
        Set-Content $proto @'
syntax = "proto3";
package requests;
import "google/protobuf/any.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
message Photos {
  repeated bytes photos = 1;
  string connection = 2;
  string connection_field = 3;
}
message Named {
  string name = 1;
  int32 size = 2;
}
service Echo {
  rpc InvokeNamed(Named) returns (Named);
  rpc InvokePhotos(Photos) returns (Photos);
  rpc InvokeStruct(google.protobuf.Struct) returns (google.protobuf.Struct);
  rpc InvokeValue(google.protobuf.Value) returns (google.protobuf.Value);
  rpc InvokeAny(google.protobuf.Any) returns (google.protobuf.Any);
  rpc InvokeTime(google.protobuf.Timestamp) returns (google.protobuf.Timestamp);
  rpc InvokeSpan(google.protobuf.Duration) returns (google.protobuf.Duration);
  rpc InvokeText(google.protobuf.StringValue) returns (google.protobuf.StringValue);
  rpc InvokeNumbers(stream google.protobuf.Int32Value) returns (google.protobuf.Int32Value);
}
'@
        $echo = { param($Request) $Request }
        $listener = Start-RpcListener "inproc://$(New-TestName)" -Schema $proto -Handler @{
            InvokeNamed = $echo; InvokePhotos = $echo; InvokeStruct = $echo; InvokeValue = $echo; InvokeAny = $echo
            InvokeTime = $echo; InvokeSpan = $echo; InvokeText = $echo
            InvokeNumbers = { param($Request) ($Request | Measure-Object -Sum).Sum }
        }
        $rpc = Connect-RpcEndpoint $listener.Endpoint[0] -Schema $listener.Schema
        $rpc | Import-RpcService -Prefix Echo
    }

    AfterAll {
        Remove-Module Echo -ErrorAction Ignore
        Clear-Test
    }

    It 'is a time or a span from the pipeline, with all of its parts' {
        $time = [DateTimeOffset]'2024-02-29T12:30:00Z'

        $time, '2024-02-29T12:30:00Z' | Invoke-EchoTime | Should -Be $time, $time
        [timespan]'01:30:05', '90s' | Invoke-EchoSpan | Should -Be ([timespan]'01:30:05'), ([timespan]'00:01:30')
        Invoke-EchoSpan -InputObject ([timespan]'00:02:00') | Should -Be ([timespan]'00:02:00')
        [pscustomobject]@{ seconds = 5 } | Invoke-EchoSpan | Should -Be ([timespan]'00:00:05')
        Invoke-EchoSpan -Seconds 7 | Should -Be ([timespan]'00:00:07')
    }

    It 'is the content of a file, or JSON text' {
        $file = Join-Path $TestDrive o.json
        Set-Content $file '{ "name": "from the file", "size": 3 }'

        $replies = @(
            Get-Item $file | Invoke-EchoNamed
            Get-Item $file | Invoke-EchoNamed -Size 5
            Invoke-EchoNamed -InputObject (Get-Item $file)
            '{"name":"text","size":4}' | Invoke-EchoNamed
            Invoke-EchoNamed -InputObject '{"name":"text"}' -Size 6
        )
        $replies.ForEach{ "$($_.name) $($_.size)" } |
            Should -Be 'from the file 3', 'from the file 5', 'from the file 3', 'text 4', 'text 6'
        '{"a":1}' | Invoke-EchoText | Should -Be '{"a":1}'
    }

    It 'is an error where a file or a text is no request' {
        { Get-Item $TestDrive | Invoke-EchoNamed -ErrorAction Stop } |
            Should -Throw -ErrorId 'InvalidInputObject,*' -ExpectedMessage '*folder*is not a request*'
        { 'text' | Invoke-EchoNamed -ErrorAction Stop } |
            Should -Throw -ErrorId 'InvalidInputObject,*' -ExpectedMessage '*JSON objects as text, or files*'
        { '{"nme":"x"}' | Invoke-EchoNamed -ErrorAction Stop } | Should -Throw -ErrorId 'UnknownField,*' -ExpectedMessage "*'name'*"
        { '{"name":' | Invoke-EchoNamed -ErrorAction Stop } | Should -Throw
    }

    It 'is a value from the pipeline where the request is a wrapper' {
        'a', 'b' | Invoke-EchoText | Should -Be a, b
        [pscustomobject]@{ value = 'c' }, @{ value = 'd' } | Invoke-EchoText | Should -Be c, d
        Invoke-EchoText -Value e | Should -Be e
        1, 2, 3 | Invoke-EchoNumbers | Should -Be 6
    }

    It 'names what a value must be that is none' {
        'soon' | Invoke-EchoSpan -ErrorAction SilentlyContinue -ErrorVariable failed
        [timespan]'00:01:00' | Invoke-EchoSpan -Nanos 1 -ErrorAction SilentlyContinue -ErrorVariable +failed

        "$($failed[0])" | Should -BeLike "Row 1:*'soon'*is not a Duration*"
        $failed[1].FullyQualifiedErrorId | Should -Be 'InvalidInputObject,Invoke-EchoSpan'
    }

    It 'is any object or value where the request is a Struct or a Value' {
        $struct = [pscustomobject]@{ fields = 'x'; n = 1 } | Invoke-EchoStruct
        $struct.fields, $struct.n | Should -Be 'x', 1
        ($struct | Invoke-EchoStruct).n | Should -Be 1
        (Invoke-EchoStruct -InputObject @{ n = 2 }).n | Should -Be 2
        Invoke-EchoStruct | ConvertTo-Json -Compress | Should -Be '{}'
        5, 'a', $true | Invoke-EchoValue | Should -Be 5, 'a', $true
        ([pscustomobject]@{ string_value = 'x' } | Invoke-EchoValue).string_value | Should -Be 'x'
        Invoke-EchoValue | Should -BeNullOrEmpty
        (Get-Command Invoke-EchoStruct).Parameters.Keys | Should -Not -Contain Fields
        (Get-Command Invoke-EchoValue).Parameters.Keys | Should -Not -Contain StringValue
    }

    It 'is the reply again where the request is an Any' {
        $any = [pscustomobject]@{ '@type' = 'type.googleapis.com/requests.Photos'; connection = 'a' }

        ($any | Invoke-EchoAny | Invoke-EchoAny).connection | Should -Be a
    }

    It 'has one element for a byte array, where the field is a list of bytes' {
        $bytes = [byte[]](1, 2)

        (Invoke-EchoPhotos -Photos $bytes).photos | Should -HaveCount 1
        (Invoke-EchoPhotos -Photos $bytes, $bytes).photos | Should -HaveCount 2
        (Invoke-EchoPhotos -Photos 'base64:AQI=', 'utf8:a').photos[1] | Should -Be 0x61
        (Invoke-EchoPhotos -Photos '["AQI=","Aw=="]').photos[1] | Should -Be 3
        { Invoke-EchoPhotos -Photos 'AQI=', 'Aw==' -ErrorAction Stop } | Should -Throw "*'utf8:AQI='*"
    }

    It 'takes a property for the field with exactly its name' {
        $reply = [pscustomobject]@{ connectionField = 'a' }, [pscustomobject]@{ connection = 'b' } |
            Invoke-EchoPhotos

        $reply.connection | Should -Be '', 'b'
        $reply.connection_field | Should -Be 'a', ''
    }

    It 'has the defaults of proto2 in the help' {
        $proto2 = Join-Path $TestDrive defaults.proto
        Set-Content $proto2 @'
syntax = "proto2";
message Page { optional int32 size = 1 [default = 42]; optional int32 number = 2; }
service Pages { rpc GetPage(Page) returns (Page); }
'@
        Import-RpcService -Schema $proto2 -Prefix Default

        (Get-Help Get-DefaultPage -Parameter Size).defaultValue | Should -Be 42
        (Get-Help Get-DefaultPage -Parameter Number).PSObject.Properties.Name | Should -Not -Contain defaultValue
        Remove-Module Default
    }
}
