. (Join-Path $PSScriptRoot common.ps1)

Describe 'Receive-RpcListener' {
    BeforeAll {
        $listener = Start-TestListener {
            param($Request)
            switch ($Request.name) {
                'all' {
                    Write-Error 'an error'
                    Write-Warning 'a warning'
                    Write-Information 'an information' -Tags mine
                    Write-Host 'for the host'
                    Write-Verbose 'not asked for'
                }
                'many' { 1..1200 | ForEach-Object { Write-Information "$_" } }
                default { Write-Information $Request.name }
            }
        }
        $rpc = Connect-Test $listener
    }

    AfterAll { Clear-Test }

    It 'writes each record to the stream that it came from, in order' {
        $null = Invoke-RpcMethod SayHello @{ name = 'all' }

        # The preference of whoever runs the tests must not make the first error the last record.
        $records = $listener | Receive-RpcListener -ErrorAction Continue *>&1

        "$($records[0])" | Should -Match (
            '^[-\d]{10} [:\d]{8} demo\.Greeter/SayHello wrote an error for .+: an error\nat <ScriptBlock>, .+: line \d+$')
        "$($records[0].GetType().Name)", $records[0].Method | Should -Be ErrorRecord, 'demo.Greeter/SayHello'
        $records[1..3] | ForEach-Object { "$($_.GetType().Name): $_" } | Should -Be @(
            'WarningRecord: a warning'
            'InformationRecord: an information'
            'InformationRecord: for the host'
        )
        $records[2].Tags | Should -Contain 'mine'
    }

    It 'ends at an error when that is asked for, and keeps what it has not shown' {
        $null = Invoke-RpcMethod SayHello @{ name = 'all' }

        { $listener | Receive-RpcListener -ErrorAction Stop } | Should -Throw 'an error'

        $listener | Receive-RpcListener 3>&1 6>&1 |
            ForEach-Object { "$_" } | Should -Be 'a warning', 'an information', 'for the host'
    }

    It 'tells the place of an error in the handler' {
        $null = Invoke-RpcMethod SayHello @{ name = 'all' }

        $null = $listener | Receive-RpcListener -ErrorAction SilentlyContinue -ErrorVariable errors `
            -WarningAction SilentlyContinue

        $line = (Select-String -LiteralPath $PSCommandPath `
            -SimpleMatch "Write-Error 'an error'" | Select-Object -First 1).LineNumber
        $errors[0].ScriptStackTrace | Should -Match "$([regex]::Escape($PSCommandPath)): line $line"
    }

    It 'keeps what a handler throws, with its method, its caller and the way there' {
        $failing = Start-TestListener -Endpoint tcp://127.0.0.1:0 {
            param($Request)
            function Get-Number($Text) { [int]::Parse($Text) }
            Get-Number $Request.name
        }
        $client = Connect-Test $failing
        $null = Invoke-RpcMethod SayHello @{ name = "x$([char]27)[31m" } -Connection $client `
            -ErrorAction SilentlyContinue -ErrorVariable told

        $null = $failing | Receive-RpcListener -ErrorAction SilentlyContinue -ErrorVariable records

        $records | Should -HaveCount 1
        $records[0].Exception | Should -BeOfType FormatException
        $records[0].Method | Should -Be 'demo.Greeter/SayHello'
        $records[0].Caller | Should -BeLike '127.0.0.1:*'
        $records[0].CorrelationId | Should -Be $told[0].Exception.CorrelationId
        $records[0].ScriptStackTrace | Should -Match 'Get-Number'
        "$($records[0])" | Should -BeLike '*demo.Greeter/SayHello*127.0.0.1:*FormatException*at Get-Number*'
        "$($records[0])".Contains([char]27) | Should -BeFalse
        $failing | Stop-RpcListener
        $client | Disconnect-RpcEndpoint
    }

    It 'gives records once, unless they are kept' {
        $null = Invoke-RpcMethod SayHello @{ name = 'once' }

        $listener | Receive-RpcListener -Keep 6>&1 | Should -Be 'once'
        $listener.Records | Should -Be 1
        Receive-RpcListener -Id $listener.Id 6>&1 | Should -Be 'once'
        $listener | Receive-RpcListener 6>&1 | Should -BeNullOrEmpty
    }

    It 'keeps a bounded number of records, and counts the others' {
        $null = Invoke-RpcMethod SayHello @{ name = 'many' }

        $listener.Records | Should -Be 1000
        $listener.DroppedRecords | Should -Be 200
        $listener.LastRecord | Should -Be '1200'
        ($listener | Receive-RpcListener 6>&1)[0] | Should -Be '201'
    }

    It 'shows information without being asked to' {
        $result = Invoke-Pwsh @"
Import-Module '$ModuleManifest'
`$with = @{ Schema = '$TestProtos/greeter.proto'; Service = 'demo.Greeter' }
`$listener = Start-RpcListener 'ncalrpc:[$(New-TestName)]' { Write-Information 'seen' } @with
`$null = Connect-RpcEndpoint `$listener.Endpoint[0] -Schema `$listener.Schema -Service demo.Greeter
`$null = Invoke-RpcMethod SayHello
`$listener | Receive-RpcListener
"@

        $result.Output.Trim() | Should -Be 'seen'
    }

    It 'warns once when the process has too few file handles, and the listener counts them' -Skip:(-not $IsLinux) {
        $script = Join-Path $TestDrive 'handles.ps1'
        Set-Content -LiteralPath $script @'
param($Module, $Proto)
Import-Module $Module
$listener = Start-RpcListener tcp://127.0.0.1:0 -Schema $Proto -Service demo.Greeter -Handler @{ SayHello = { @{ text = 'hi' } } }
$taken = for ($i = 0; $i -lt 2000 -and $listener.HandleShortages -lt 3; $i++) {
    try { [Net.Sockets.TcpClient]::new('127.0.0.1', $listener.Endpoint[0].Port) } catch { }
}
$taken | ForEach-Object Dispose
$records = @($listener | Receive-RpcListener 3>&1)
"$($listener.HandleShortages -ge 3) $($records.Count) $($records[0].GetType().Name): $($records[0])"
$listener | Stop-RpcListener
'@
        $shell = [Environment]::ProcessPath

        $said = sh -c 'ulimit -n 512; exec "$@"' sh $shell -NoProfile -File $script `
            $ModuleManifest (Join-Path $TestProtos greeter.proto) 2>&1

        $said | Should -BeLike "True 1 WarningRecord: 'ncacn_ip_tcp:*' could not accept a connection*"
    }
}
