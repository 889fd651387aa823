. (Join-Path $PSScriptRoot common.ps1)

Describe 'REST' {
    BeforeAll {
        $proto = Join-Path $TestDrive shelves.proto
        Set-Content $proto @'
syntax = "proto3";
package shelves;
import "google/api/annotations.proto";
service Shelves {
  rpc Get(Shelf) returns (Shelf) { option (google.api.http) = { get: "/v1/shelves/{name}" }; }
  rpc Create(NewShelf) returns (Shelf) { option (google.api.http) = { post: "/v1/shelves" body: "shelf" }; }
  rpc Delete(Shelf) returns (Shelf) { option (google.api.http) = { delete: "/v1/shelves/{name}" }; }
  rpc Watch(Shelf) returns (stream Shelf) { option (google.api.http) = { get: "/v1/shelves/{name}/watch" }; }
  rpc Wrong(Shelf) returns (Shelf) { option (google.api.http) = { get: "/v1/{nam}" }; }
}
message NewShelf { Shelf shelf = 1; string note = 2; }
message Shelf { string name = 1; int32 books = 2; repeated string tags = 3; }
'@
        $schema = Import-RpcSchema $proto
        $listener = Start-RpcListener -Schema $schema -Endpoint http://127.0.0.1:0/ -Handler @{
            Get = {
                param($Request)
                if ($Request.name -eq 'none') { throw [ProtoRpc.RpcException]::new('NotFound', "No shelf 'none'.") }
                $Request
            }
            Create = { param($Request) @{ name = $Request.shelf.name; tags = @($Request.note) } }
            Delete = { param($Request) @{ name = "deleted $($Request.name)" } }
            Watch = { param($Request) 1..2 | ForEach-Object { @{ name = $Request.name; books = $_ } } }
            Wrong = { @{} }
        } -WarningVariable warnings -WarningAction SilentlyContinue
        $address = $listener.Endpoint[0].Uri.TrimEnd('/')
    }

    AfterAll { Clear-Test }

    It 'warns at the start of a rule that cannot be served, with method, rule and reason' {
        "$(Receive-RpcListener $listener 3>&1)" | Should -BeExactly "$warnings"
        "$warnings" | Should -BeLike "*'GET /v1/{nam}' of shelves.Shelves/Wrong*Did you mean 'name'?*"
    }

    It 'gives a handler what path and query have' {
        $shelf = Invoke-RestMethod "$address/v1/shelves/a%2Fb?books=3&tags=x&tags=y&unknown=1"

        $shelf.name | Should -BeExactly 'a/b'
        $shelf.books | Should -Be 3
        $shelf.tags | Should -Be x, y
    }

    It 'gives a handler the body' {
        $shelf = Invoke-RestMethod "$address/v1/shelves?note=new" -Method Post -ContentType application/json `
            -Body (@{ name = 'c' } | ConvertTo-Json)

        $shelf.name | Should -BeExactly 'c'
        $shelf.tags | Should -Be new
    }

    It 'calls by DELETE' {
        (Invoke-RestMethod "$address/v1/shelves/a" -Method Delete).name | Should -BeExactly 'deleted a'
    }

    It 'streams lines of JSON' {
        $lines = Invoke-RestMethod "$address/v1/shelves/a/watch"

        @($lines.Trim() -split '\n' | ConvertFrom-Json).books | Should -Be 1, 2
    }

    It 'streams server-sent events' {
        Invoke-RestMethod "$address/v1/shelves/a/watch" -Headers @{ Accept = 'text/event-stream' } |
            Should -BeExactly "data: {`"name`":`"a`",`"books`":1}`n`ndata: {`"name`":`"a`",`"books`":2}`n`n"
    }

    It 'answers <Method> <Path> with <Status>' -ForEach @(
        @{ Method = 'Get'; Path = '/v1/shelves/none'; Status = 404; Text = "No shelf 'none'." }
        @{ Method = 'Get'; Path = '/v1/nothing/here'; Status = 404; Text = 'There is nothing at' }
        @{ Method = 'Put'; Path = '/v1/shelves/a'; Status = 405; Text = 'use one of DELETE, GET, HEAD, OPTIONS' }
        @{ Method = 'Get'; Path = '/v1/shelves/a?books=many'; Status = 400; Text = 'Shelf.books' }
    ) {
        $reply = Invoke-WebRequest "$address$Path" -Method $Method -SkipHttpErrorCheck

        $reply.StatusCode | Should -Be $Status
        $reply.Content | Should -BeLike "*$Text*"
        if ($Status -eq 405) {
            $reply.Headers.Allow | Should -Be DELETE, GET, HEAD, OPTIONS
        }
    }

    It 'serves the rules through a gateway' {
        $rpc = Connect-RpcEndpoint $listener.Endpoint[0] -Schema $schema
        $gateway = Start-RpcListener -Schema $schema -Endpoint http://127.0.0.1:0/ -Handler $rpc `
            -WarningAction SilentlyContinue

        (Invoke-RestMethod "$($gateway.Endpoint[0].Uri)v1/shelves/x?books=7").books | Should -Be 7

        $gateway | Stop-RpcListener
        $rpc | Disconnect-RpcEndpoint
    }

    It 'serves the rules of a mock' {
        $mock = New-RpcMock -Schema $schema -Endpoint http://127.0.0.1:0/ -Reply @{ Get = @{ name = 'canned' } } `
            -WarningAction SilentlyContinue

        (Invoke-RestMethod "$($mock.Endpoint[0].Uri)v1/shelves/x").name | Should -BeExactly 'canned'

        $mock | Stop-RpcListener
    }
}
