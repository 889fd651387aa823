. (Join-Path $PSScriptRoot common.ps1)

Describe 'Recorded calls' {
    BeforeAll {
        function Read-Calls([string] $Path) {
            Get-Content -LiteralPath $Path | ForEach-Object { ConvertFrom-Json $_ -AsHashtable }
        }
    }

    BeforeEach {
        $file = Join-Path $TestDrive "$(New-TestName).jsonl"
    }

    AfterEach { Clear-Test }

    It 'are lines of JSON with messages, status and time, complete when the listener has stopped' {
        $listener = Start-TestListener -With @{ Record = $file } -Handler @{
            SayHello = { param($Request) @{ text = "hi $($Request.name)" } }
            Fail = { throw [ProtoRpc.RpcException]::new('NotFound', 'nobody') }
            Watch = { @{ text = 'a' }, @{ text = 'b' } }
        }
        $rpc = Connect-Test $listener
        $null = Invoke-RpcMethod SayHello @{ name = 'Ann' } -Connection $rpc
        $null = Invoke-RpcMethod Fail -Connection $rpc -ErrorAction SilentlyContinue
        $null = Invoke-RpcMethod Watch -Connection $rpc -ErrorAction SilentlyContinue

        Stop-RpcListener $listener

        $calls = Read-Calls $file
        $calls[0].method | Should -Be demo.Greeter/SayHello
        $calls[0].request.name | Should -Be Ann
        $calls[0].reply.text | Should -Be 'hi Ann'
        $calls[0].status | Should -Be OK
        $calls[0].milliseconds | Should -BeGreaterThan 0
        $calls[0].user | Should -Not -BeNullOrEmpty
        $calls[1].status | Should -Be NotFound
        $calls[1].message | Should -Be nobody
    }

    It 'are played back where clients asked the server for its schema, its health and a ping' {
        $listener = Start-TestListener @{ SayHello = { @{ text = "hi $($Request.name)" } } } `
            -Endpoint 'grpc://127.0.0.1:0', 'tcp://127.0.0.1:0' -With @{ Record = $file }
        $rpc = Connect-RpcEndpoint $listener.Endpoint[0]
        $null = $rpc | Test-RpcEndpoint
        $null = Test-RpcEndpoint $listener.Endpoint[1]
        $null = $rpc | Invoke-RpcMethod demo.Greeter/SayHello @{ name = 'Ann' }
        Stop-RpcListener $listener
        (Read-Calls $file).method -notlike 'demo.*' | Should -Not -BeNullOrEmpty

        $mock = New-RpcMock (Join-Path $TestProtos greeter.proto) -Service demo.Greeter -Replay $file
        (Invoke-RpcMethod SayHello @{ name = 'Ann' } -Connection $mock.Connection).text | Should -Be 'hi Ann'
    }

    It 'also have the calls that authorization refuses' {
        $listener = Start-TestListener { } -With @{ Record = $file; Authorization = @{ '*' = 'somebody' } }
        $null = Invoke-RpcMethod SayHello -Connection (Connect-Test $listener) -ErrorAction SilentlyContinue
        Stop-RpcListener $listener

        (Read-Calls $file).status | Should -Be PermissionDenied
    }

    It 'leave out what -Mask names, at every depth, and no header is written' {
        $listener = Start-TestListener -With @{ Record = $file; Mask = 'nested.name', 'tags', 'counts' } -Handler @{
            SayHello = { param($Request) throw "not $($Request.nested.name)" }
        }
        $null = Invoke-RpcMethod SayHello -Connection (Connect-Test $listener) -ErrorAction SilentlyContinue `
            -Header @{ Authorization = 'Bearer s3cret-token' } -Message @{
                name = 'seen'; tags = 's3cret-tag'; counts = @{ 's3cret-key' = 1 }; nested = @{ name = 's3cret-name' }
            }
        Stop-RpcListener $listener

        Get-Content -LiteralPath $file -Raw | Should -Not -Match s3cret
        $call = Read-Calls $file
        $call.request.name | Should -Be seen
        $call.request.nested.name | Should -Be '***'
        $call.message | Should -Be 'not ***'
    }

    It 'warn of a mask that no field has' {
        $null = Start-RpcListener "ncalrpc:[$(New-TestName)]" { } -Schema (Join-Path $TestProtos greeter.proto) `
            -Service demo.Greeter -Record $file -Mask pasword, name `
            -WarningVariable warnings -WarningAction SilentlyContinue

        $warnings | Should -HaveCount 1
        "$warnings" | Should -BeLike "*'pasword'*"
    }

    It 'need a file that can be written' {
        { Start-TestListener { } -With @{ Record = Join-Path $TestDrive no such folder.jsonl } } |
            Should -Throw -ErrorId 'CannotWriteFile,*'
        { Start-TestListener { } -With @{ Mask = 'name' } } | Should -Throw -ErrorId 'ParameterNotSupported,*'
        Get-RpcListener | Should -BeNullOrEmpty
    }

    It 'do not fail calls on a full disk, but warn' -Skip:(-not (Test-Path /dev/full)) {
        $listener = Start-TestListener { @{ text = 'ok' } } -With @{ Record = '/dev/full' }
        $rpc = Connect-Test $listener

        (Invoke-RpcMethod SayHello -Connection $rpc).text | Should -Be ok
        Stop-RpcListener $listener

        $warnings = Receive-RpcListener $listener 3>&1 | Where-Object { $_ -is [Management.Automation.WarningRecord] }
        "$warnings" | Should -BeLike '*/dev/full*1 calls were not recorded*'
    }

    It 'are not written with -WhatIf' {
        Start-TestListener { } -With @{ Record = $file; WhatIf = $true }

        Test-Path -LiteralPath $file | Should -BeFalse
    }

    It 'are played back by New-RpcMock -Replay' {
        $listener = Start-TestListener -With @{ Record = $file } -Handler @{
            SayHello = { param($Request) @{ text = "hi $($Request.name)" } }
            Fail = { throw [ProtoRpc.RpcException]::new('NotFound', 'nobody') }
        }
        $rpc = Connect-Test $listener
        'Ann', 'Bob' | ForEach-Object { $null = Invoke-RpcMethod SayHello @{ name = $_ } -Connection $rpc }
        $null = Invoke-RpcMethod Fail -Connection $rpc -ErrorAction SilentlyContinue
        Stop-RpcListener $listener

        $mock = New-RpcMock (Join-Path $TestProtos greeter.proto) -Service demo.Greeter -Replay $file

        (Invoke-RpcMethod SayHello @{ name = 'Bob' } -Connection $mock.Connection).text | Should -Be 'hi Bob'
        (Invoke-RpcMethod SayHello @{ name = 'Ann' } -Connection $mock.Connection).text | Should -Be 'hi Ann'
        { Invoke-RpcMethod Fail -Connection $mock.Connection -ErrorAction Stop } |
            Should -Throw -ErrorId 'RpcStatus.NotFound,*' -ExpectedMessage 'nobody*'
    }

    It 'are played back from the file whose name has brackets' {
        $folder = New-Item -ItemType Directory (Join-Path $TestDrive (New-TestName))
        $line = '{"method":"demo.Greeter/SayHello","request":{},"reply":{"text":"of"},"status":"OK"}'
        [IO.File]::WriteAllText("$folder/calls[1].jsonl", ($line -replace 'of', 'brackets'))
        [IO.File]::WriteAllText("$folder/calls1.jsonl", ($line -replace 'of', 'other'))
        Push-Location $folder
        try {
            $mock = New-RpcMock (Join-Path $TestProtos greeter.proto) -Service demo.Greeter -Replay './calls[1].jsonl'
            (Invoke-RpcMethod SayHello -Connection $mock.Connection).text | Should -Be brackets
            { $mock | Set-RpcMock -Replay './calls*.jsonl' -ErrorAction Stop } |
                Should -Throw -ErrorId 'InvalidRecording,*'
        }
        finally { Pop-Location }
    }

    It 'of a gateway have messages that passed as bytes, and are played back' {
        $server = Start-TestListener -Endpoint grpc://127.0.0.1:0 -Handler @{
            SayHello = { param($Request) @{ text = "hi $($Request.name)" } }
            Fail = { throw [ProtoRpc.RpcException]::new('NotFound', 'nobody') }
            Watch = { @{ text = 'a' }, @{ text = 'b' } }
        }
        $gateway = Start-RpcListener grpc://127.0.0.1:0 (Connect-Test $server) -Record $file -Mask nested.name
        $rpc = Connect-Test $gateway
        $null = Invoke-RpcMethod SayHello @{ name = 'Ann'; nested = @{ name = 's3cret' } } -Connection $rpc
        $null = Invoke-RpcMethod Watch @{ name = 'Bob' } -Connection $rpc
        $null = Invoke-RpcMethod Fail -Connection $rpc -ErrorAction SilentlyContinue
        Stop-RpcListener $gateway

        $mock = New-RpcMock (Join-Path $TestProtos greeter.proto) -Service demo.Greeter -Replay $file

        Get-Content -LiteralPath $file -Raw | Should -Not -Match s3cret
        (Read-Calls $file).status | Should -Be OK, OK, NotFound
        (Invoke-RpcMethod SayHello @{ name = 'Ann' } -Connection $mock.Connection).text | Should -Be 'hi Ann'
        (Invoke-RpcMethod Watch @{ name = 'Bob' } -Connection $mock.Connection).text | Should -Be a, b
        { Invoke-RpcMethod Fail -Connection $mock.Connection -ErrorAction Stop } |
            Should -Throw -ErrorId 'RpcStatus.NotFound,*' -ExpectedMessage 'nobody*'
    }

    It 'need a schema, which a raw listener has not' {
        foreach ($with in @{ Record = $file }, @{ Mask = 'name' }, @{ Record = $file; Mask = 'name' }) {
            { Start-RpcListener tcp://127.0.0.1:0 -Handler { , $args[0] } -InterfaceId (New-Guid) @with } |
                Should -Throw -ErrorId 'ParameterNotSupported,*' -ExpectedMessage '-* requires a schema*-AccessLog*'
        }

        Test-Path -LiteralPath $file | Should -BeFalse
        Get-RpcListener | Should -BeNullOrEmpty
    }

    It 'name file, line and column of what cannot be played back' {
        Set-Content -LiteralPath $file -Value '{"method":"demo.Greeter/SayHello","reply":{"text":"x"},"status":"OK"}',
            '{"method":"demo.Greeter/SayHello","reply":{"txt":"x"},"status":"OK"}'

        { New-RpcMock (Join-Path $TestProtos greeter.proto) -Replay $file } |
            Should -Throw -ErrorId 'InvalidRecording,*' -ExpectedMessage "${file}:2:*txt*"
        { New-RpcMock (Join-Path $TestProtos greeter.proto) -Replay "$file.not" } |
            Should -Throw -ErrorId 'InvalidRecording,*'
    }

    It 'are what the suite in examples/testing works with' {
        $run = Invoke-Pwsh -Seconds 300 @"
            Import-Module '$ModuleManifest', '$((Get-Module Pester).Path)'
            `$result = Invoke-Pester '$(Join-Path $RepositoryRoot examples testing)' -PassThru -Output None
            "`$(`$result.PassedCount) passed, `$(`$result.FailedCount) failed"
"@

        $run.Output | Should -BeLike '7 passed, 0 failed*' -Because $run.Error
    }
}
