. (Join-Path $PSScriptRoot common.ps1)

Describe 'Import-RpcSchema' {
    It 'compiles a .proto file, relative to here' {
        Push-Location $TestProtos
        try {
            (Import-RpcSchema ./greeter.proto).Services.FullName | Should -Be 'demo.Greeter', 'demo.Parting'
        }
        finally {
            Pop-Location
        }
    }

    It 'compiles all files that wildcards and several paths name into one schema' {
        $schema = Import-RpcSchema (Join-Path $RepositoryRoot protos s*.proto), (Join-Path $TestProtos greeter.proto)

        $schema | Should -HaveCount 1
        $schema.Services.Name | Should -Contain 'MyService'
        $schema.Services.Name | Should -Contain 'SearchService'
        $schema.Services.Name | Should -Contain 'Greeter'
    }

    It 'takes files from the pipeline' {
        $schema = Get-ChildItem $RepositoryRoot/protos/s*.proto | Import-RpcSchema

        $schema | Should -HaveCount 1
        $schema.Services | Should -HaveCount 2
    }

    It 'takes a path with brackets literally' {
        $file = Join-Path $TestDrive 'a[1].proto'
        Copy-Item -LiteralPath (Join-Path $TestProtos greeter.proto) -Destination $file

        (Import-RpcSchema -LiteralPath $file).Services | Should -HaveCount 2
    }

    It 'reads a path on a drive of the shell' {
        New-PSDrive TestProtoDrive FileSystem $TestProtos | Out-Null
        try {
            (Import-RpcSchema TestProtoDrive:/greeter.proto).Services | Should -HaveCount 2
        }
        finally {
            Remove-PSDrive TestProtoDrive
        }
    }

    It 'finds imports on -ImportPath, and well-known ones by themselves' {
        $folder = New-Item -ItemType Directory (Join-Path $TestDrive shared/types)
        Set-Content (Join-Path $folder point.proto) 'syntax = "proto3"; package p; message Point { int32 x = 1; }'
        Set-Content (Join-Path $TestDrive main.proto) @'
syntax = "proto3";
import "types/point.proto";
import "google/protobuf/timestamp.proto";
message Line { p.Point from = 1; google.protobuf.Timestamp at = 2; }
'@
        $schema = Import-RpcSchema (Join-Path $TestDrive main.proto) -ImportPath (Join-Path $TestDrive shared)

        (Get-RpcMessageType Line -Schema $schema).Fields.TypeName | Should -Be 'p.Point', 'google.protobuf.Timestamp'
    }

    It 'looks for a name in the folders of -ImportPath' {
        $folder = New-Item -ItemType Directory (Join-Path $TestDrive elsewhere/work)
        Copy-Item (Join-Path $TestProtos greeter.proto) (Join-Path $TestDrive elsewhere)
        Push-Location $folder
        try {
            (Import-RpcSchema greeter.proto -ImportPath ..).Services | Should -HaveCount 2
            (Import-RpcSchema -LiteralPath greeter.proto -ImportPath ..).Services | Should -HaveCount 2
            (Get-RpcMethod -Schema @{ Path = 'greeter.proto'; ImportPath = '..' }).Count | Should -BeGreaterThan 1
            { Import-RpcSchema none.proto -ImportPath .. -ErrorAction Stop } |
                Should -Throw -ErrorId 'SchemaNotFound,*' -ExpectedMessage "*'none.proto' (*work*). Also searched: '*none.proto'."
            { Import-RpcSchema ./greeter.proto -ImportPath .. -ErrorAction Stop } |
                Should -Throw -ErrorId 'SchemaNotFound,*'
        }
        finally {
            Pop-Location
        }
    }

    It 'names -ImportPath if an import is missing' {
        $file = Join-Path $TestDrive lonely.proto
        Set-Content $file 'syntax = "proto3"; import "types/nowhere.proto"; message A { types.Nowhere a = 1; }'

        $refused = { Import-RpcSchema $file -ErrorAction Stop } | Should -Throw -ErrorId 'SchemaError,*' -PassThru
        "$refused" | Should -BeLike '*lonely.proto:1:20: The import*types/nowhere.proto*with Import-RpcSchema -ImportPath.'
    }

    It 'reads a descriptor set' {
        $file = Join-Path $TestDrive greeter.pb
        Import-RpcSchema (Join-Path $TestProtos greeter.proto) | Export-RpcSchema $file

        (Import-RpcSchema $file).Services | Should -HaveCount 2
    }

    Context 'a .proto file as it is' {
        BeforeAll {
            $api = New-Item -ItemType Directory (Join-Path $TestDrive src/api/shop)
            New-Item -ItemType Directory (Join-Path $TestDrive src/api/common) | Out-Null
            Set-Content (Join-Path $TestDrive src/api/common/money.proto) @'
syntax = "proto3"; package common; import "validate/validate.proto";
message Money { int64 units = 1 [(validate.rules).int64.gte = 0]; }
'@
            Set-Content (Join-Path $api shop.proto) @'
syntax = "proto3";
package shop;
import "api/common/money.proto";
import "gogoproto/gogo.proto";
import "google/api/annotations.proto";
import "google/type/date.proto";
option (gogoproto.marshaler_all) = true;
message Order { common.Money price = 1 [(gogoproto.nullable) = false]; google.type.Date date = 2; }
service Shop {
  rpc Buy (Order) returns (Order) { option (google.api.http) = { post: "/v1/orders" body: "*" }; }
}
'@
        }

        It 'loads a file and warns of the options whose imports nobody has' {
            $schema = Import-RpcSchema (Join-Path $api shop.proto) -WarningVariable warnings -WarningAction SilentlyContinue

            $schema.GetMessage('Order').Fields.TypeName | Should -Be 'common.Money', 'google.type.Date'
            $warnings | Should -HaveCount 2
            "$($warnings -like '*gogo*')" | Should -BeLike ("*shop.proto: The import 'gogoproto/gogo.proto' was not found." +
                "*left out*with Import-RpcSchema -ImportPath.")
            "$($warnings -like '*validate*')" | Should -BeLike "*money.proto: The import 'validate/validate.proto'*"
        }

        It 'loads a folder whose imports count from a folder above' {
            $schema = Import-RpcSchema $api -WarningVariable warnings -WarningAction SilentlyContinue

            $schema.Services.FullName | Should -Be 'shop.Shop'
            $schema.RootFiles | Should -Be 'api/shop/shop.proto'
            $warnings | Should -HaveCount 2
        }

        It 'warns also where a listener, a connection and a call load the file' {
            $file = Join-Path $api shop.proto
            $listener = Start-RpcListener -Schema $file -Endpoint 'inproc://as-it-is' -Handler @{ Buy = { $args[0] } } `
                -WarningVariable ofListener -WarningAction SilentlyContinue
            try {
                $rpc = Connect-RpcEndpoint inproc://as-it-is -Schema $file -WarningVariable ofConnection -WarningAction SilentlyContinue
                ($rpc | Invoke-RpcMethod Buy @{ price = @{ units = 3 } }).price.units | Should -Be 3

                $ofListener | Should -HaveCount 2
                $ofConnection | Should -HaveCount 2
            }
            finally {
                $rpc | Disconnect-RpcEndpoint
                $listener | Stop-RpcListener
            }
        }
    }

    It 'reads a descriptor set in JSON, in text and compressed, whatever its name is' {
        $json = '{"file":[{"name":"a.proto","syntax":"proto3","messageType":[{"name":"A"}],"bufExtension":{"isImport":false}}]}'
        $text = 'file { name: "a.proto" syntax: "proto3" message_type { name: "A" } }'
        Set-Content (Join-Path $TestDrive image.json) $json
        Set-Content (Join-Path $TestDrive image.binpb) $text
        $packed = [IO.Compression.GZipStream]::new(
            [IO.File]::Create((Join-Path $TestDrive image.bin.gz)), [IO.Compression.CompressionLevel]::Optimal)
        $packed.Write([Text.Encoding]::UTF8.GetBytes($json))
        $packed.Dispose()

        foreach ($name in 'image.json', 'image.binpb', 'image.bin.gz') {
            (Import-RpcSchema (Join-Path $TestDrive $name)).Messages.FullName | Should -Be 'A' -Because $name
        }
    }

    It 'tells file, line and column of what is wrong' {
        $file = Join-Path $TestDrive bad.proto
        Set-Content $file "syntax = `"proto3`";`nmessage Bad {`n  int32 = 1;`n}"

        { Import-RpcSchema $file -ErrorAction Stop } |
            Should -Throw -ErrorId 'SchemaError,*' -ExpectedMessage '*bad.proto*3*'
    }

    It 'leaves a file of a folder that has errors out with a warning, and calls go on' {
        $folder = New-Item (Join-Path $TestDrive broken) -ItemType Directory
        Copy-Item (Join-Path $TestProtos greeter.proto) $folder
        Set-Content (Join-Path $folder bad.proto) 'syntax = "proto3"; message {}'
        $listener = Start-TestListener { param($Request) @{ text = "hi $($Request.name)" } }
        try {
            $schema = Import-RpcSchema $folder -WarningVariable warnings -WarningAction SilentlyContinue
            $reply = Invoke-RpcMethod demo.Greeter/SayHello @{ name = 'Ann' } -Endpoint $listener.Endpoint[0] -Schema $folder `
                -WarningVariable ofCall -WarningAction SilentlyContinue

            $schema.Services.FullName | Should -Contain demo.Greeter
            $warnings | Should -BeLike "'*bad.proto' is left out of the schema*Expected message name*"
            $reply.text | Should -Be 'hi Ann'
            $ofCall | Should -BeLike "'*bad.proto' is left out of the schema*"
            { Invoke-RpcMethod demo.Bad/Do -Endpoint $listener.Endpoint[0] -Schema $folder -ErrorAction Stop 3>$null } |
                Should -Throw -ExpectedMessage "*'*bad.proto' is left out*"
            { Import-RpcSchema (Join-Path $folder bad.proto) -ErrorAction Stop } | Should -Throw
        }
        finally {
            Stop-RpcListener $listener
        }
    }

    It 'says that a file is missing' {
        { Import-RpcSchema (Join-Path $TestDrive missing.proto) -ErrorAction Stop } |
            Should -Throw -ErrorId 'SchemaNotFound,*' -ExpectedMessage '*missing.proto*'
    }

    It 'reports <Path>, which matches no file' -ForEach @(
        @{ Path = 'none*.proto' }
        @{ Path = 'none?.proto' }
        @{ Path = '[x]/none.proto' }
        @{ Path = 'no[n]e.proto' }
        @{ Path = '*/none.proto' }
    ) {
        $path = Join-Path $TestDrive $Path

        { Import-RpcSchema $path -ErrorAction Stop } | Should -Throw -ErrorId 'SchemaNotFound,*'
        { Get-RpcMethod -Schema $path -ErrorAction Stop } | Should -Throw -ErrorId 'SchemaNotFound,*'
        { Import-RpcSchema (Join-Path $TestProtos greeter.proto), $path -ErrorAction Stop } |
            Should -Throw -ErrorId 'SchemaNotFound,*'
    }

    It 'reports a missing file in a folder with brackets, by its literal path and from within' {
        $folder = (New-Item -ItemType Directory (Join-Path $TestDrive '[x]')).FullName
        Copy-Item -LiteralPath (Join-Path $TestProtos greeter.proto) -Destination $folder
        Push-Location -LiteralPath $folder
        try {
            (Import-RpcSchema ./greeter.proto).Services | Should -HaveCount 2
            (Import-RpcSchema -LiteralPath ./greeter.proto).Services | Should -HaveCount 2
            { Import-RpcSchema ./none.proto -ErrorAction Stop } |
                Should -Throw -ErrorId 'SchemaNotFound,*' -ExpectedMessage '*none.proto*'
            { Import-RpcSchema -LiteralPath (Join-Path $folder none.proto) -ErrorAction Stop } |
                Should -Throw -ErrorId 'SchemaNotFound,*' -ExpectedMessage '*`[x`]*none.proto*'
        }
        finally {
            Pop-Location
        }
    }

    It 'shows paths in errors as they were given' {
        $folder = (New-Item -ItemType Directory (Join-Path $TestDrive given)).FullName
        Set-Content -LiteralPath (Join-Path $folder 'b[1].proto') "syntax = `"proto3`";`nmessage {}"
        Push-Location -LiteralPath $folder
        try {
            { Import-RpcSchema -LiteralPath './b[1].proto' -ErrorAction Stop } |
                Should -Throw -ExpectedMessage './b`[1`].proto:2:9: *'
            { Import-RpcSchema './b`[1`].proto' -ErrorAction Stop } |
                Should -Throw -ExpectedMessage './b`[1`].proto:2:9: *'
            { Get-RpcMethod -Schema './b`[1`].proto' -ErrorAction Stop } |
                Should -Throw -ExpectedMessage './b`[1`].proto:2:9: *'
            { Import-RpcSchema -LiteralPath './no[1].proto' -ErrorAction Stop } |
                Should -Throw -ExpectedMessage "*'./no``[1``].proto' (*given*)*"
            { Import-RpcSchema (Join-Path $folder 'b`[1`].proto') -ErrorAction Stop } |
                Should -Throw -ExpectedMessage '*given*b`[1`].proto:2:9: *'
        }
        finally {
            Pop-Location
        }
    }

    It 'completes schema files and folders' {
        $folder = (New-Item -ItemType Directory (Join-Path $TestDrive completed/inner)).Parent.FullName
        'a.proto', 'b.pb', 'notes.txt', 'c.json' | ForEach-Object { Set-Content (Join-Path $folder $_) x }
        Push-Location -LiteralPath $folder
        try {
            foreach ($line in 'Import-RpcSchema ./', 'Get-RpcMethod -Schema ./', 'Start-RpcListener x -Schema ', 'Import-RpcSchema -LiteralPath ./') {
                (Complete $line).ListItemText | Sort-Object | Should -Be 'a.proto', 'b.pb', 'inner' -Because $line
            }
            (Complete 'Get-RpcMethod -Schema ./a').CompletionText | Should -BeLike '*a.proto'
        }
        finally {
            Pop-Location
        }
    }

    It 'refuses what is not on the file system' {
        { Import-RpcSchema Env:PATH -ErrorAction Stop } | Should -Throw -ErrorId 'FileNotFound,*'
    }

    # A program that says what protoc 3.21 says of an option that it does not know.
    Context 'with a protoc that is too old' -Skip:$IsWindows {
        BeforeAll {
            $old = Join-Path $TestDrive protoc
            $saved = $env:PROTOC
            $env:PROTOC = $old
        }

        AfterAll { $env:PROTOC = $saved }

        It 'names the version of <Version>, what is needed and what to do' -ForEach @(
            @{ Version = '3.21.12'; Says = 'Missing value for flag: '; Shown = 'is version 3.21.12' }
            @{ Version = '22.0'; Says = 'Unknown flag: '; Shown = 'is version 22.0' }
            @{ Version = ''; Says = 'Unknown flag: '; Shown = 'does not report its version' }
            @{ Version = "`e[31m3.5"; Says = 'Unknown flag: '; Shown = 'is version ' }
        ) {
            Set-Content $old "#!/bin/sh
case `"`$*`" in --version) echo 'libprotoc $Version'; exit 0;; esac
echo '$Says--retain_options' >&2
exit 1"
            [IO.File]::SetUnixFileMode($old, 'UserRead, UserWrite, UserExecute')

            Import-RpcSchema (Join-Path $TestProtos greeter.proto) -ErrorAction SilentlyContinue -ErrorVariable failed

            $failed[0].FullyQualifiedErrorId | Should -BeLike 'ProtocTooOld,*'
            $text = "$($failed[0])"
            $text | Should -BeLike "*$old' $Shown*too old*does not support the option --retain_options*protoc 25.0*variable PROTOC*"
            $text | Should -Not -Match "`e"
        }

        It 'leaves an error in a schema as it is' {
            Set-Content $old "#!/bin/sh
echo 'greeter.proto:1:1: Unknown flag: --nothing' >&2
exit 1"
            [IO.File]::SetUnixFileMode($old, 'UserRead, UserWrite, UserExecute')

            { Import-RpcSchema (Join-Path $TestProtos greeter.proto) -ErrorAction Stop } |
                Should -Throw -ErrorId 'SchemaError,*' -ExpectedMessage '*Unknown flag: --nothing*'
        }
    }

    It 'prints as a table' {
        Import-RpcSchema (Join-Path $TestProtos greeter.proto) | Out-String |
            Should -Match 'Messages\s+Enums\s+Files\s+Services'
    }
}
