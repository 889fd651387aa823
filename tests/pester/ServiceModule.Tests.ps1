. (Join-Path $PSScriptRoot common.ps1)

Describe 'The module of Import-RpcService' {
    BeforeAll {
        . (Join-Path $PSScriptRoot shop.ps1)
        $shop = Start-RpcListener "inproc://$(New-TestName)" -Schema $ShopProto -Handler $ShopHandlers
        $rpc = Connect-RpcEndpoint $shop.Endpoint[0] -Schema $shop.Schema
        $rpc | Import-RpcService -Prefix Test
    }

    AfterAll {
        Remove-Module Test -ErrorAction Ignore
        Clear-Test
    }

    It 'is replaced by the next import of the same name' {
        $rpc | Import-RpcService -Prefix Test
        @(Get-Module Test).Count | Should -Be 1
        (Get-TestOrder -Id 1).id | Should -Be 1
    }

    It 'does not shadow commands of others, unless told' {
        function Global:Get-OtherOrder { 'mine' }
        $rpc | Import-RpcService -Prefix Other -WarningVariable warnings -WarningAction SilentlyContinue
        $warnings | Should -BeLike '*Get-OtherOrder*-Prefix*-Force*'
        Get-OtherOrder | Should -Be 'mine'
        (New-OtherOrder -Id 1).id | Should -Be 1

        foreach ($i in 1, 2) {
            $rpc | Import-RpcService -Prefix Other -Force
            (Get-OtherOrder -Id 2).id | Should -Be 2
        }

        $rpc | Import-RpcService -Prefix Other -WarningVariable warnings -WarningAction SilentlyContinue
        $warnings | Should -BeLike '*Get-OtherOrder*'
        Get-OtherOrder | Should -Be 'mine'
        Remove-Module Other
        Remove-Item Function:\Get-OtherOrder -ErrorAction Ignore
    }

    It 'gives an alias back that it took the place of' {
        Set-Alias Get-OtherOrder Get-Date -Scope Global -Description 'mine' -Option ReadOnly
        try {
            foreach ($i in 1, 2) {
                $rpc | Import-RpcService -Prefix Other -Force
                (Get-OtherOrder -Id 2).id | Should -Be 2
            }
            Remove-Module Other
            $alias = Get-Alias Get-OtherOrder -Scope Global
            $alias.Definition, $alias.Description, $alias.Options | Should -Be 'Get-Date', 'mine', 'ReadOnly'
        }
        finally { Remove-Alias Get-OtherOrder -Scope Global -Force -ErrorAction Ignore }
    }

    It 'leaves an alias that was made later' {
        function Global:Get-OtherOrder { 'mine' }
        try {
            $rpc | Import-RpcService -Prefix Other -Force
            Set-Alias Get-OtherOrder Get-Date -Scope Global
            Remove-Module Other
            (Get-Alias Get-OtherOrder).Definition | Should -Be 'Get-Date'
        }
        finally {
            Remove-Alias Get-OtherOrder -Scope Global -Force -ErrorAction Ignore
            Remove-Item Function:\Get-OtherOrder
        }
    }

    It 'leaves nothing behind when it cannot be imported' {
        $result = Invoke-Pwsh @"
Import-Module '$ModuleManifest'
Set-Alias Get-OtherOrder Get-Date -Scope Global -Option Constant
function Global:New-OtherOrder { 'mine' }
try { Import-RpcService -Schema '$ShopProto' -Prefix Other -Force -ErrorAction Stop } catch { `$_.FullyQualifiedErrorId; "`$_" }
(Get-Module Other).Count
New-OtherOrder
"@
        $result.Error | Should -BeNullOrEmpty
        $lines = $result.Output.Trim() -split '\r?\n'
        $lines[0] | Should -Be 'RpcStatus.FailedPrecondition,ProtoRpc.ImportRpcServiceCommand'
        $lines[1] | Should -BeLike "*'Other'*Get-OtherOrder*-Prefix*"
        $lines[2..3] | Should -Be '0', 'mine'
    }

    It 'is imported without help where none can be written' {
        $variable = $IsWindows ? 'TEMP' : 'TMPDIR'
        # Below a file, where Windows cannot make the folder either.
        $file = New-Item (Join-Path $TestDrive file) -ItemType File
        $result = Invoke-Pwsh @"
Import-Module '$ModuleManifest'
`$listener = Start-RpcListener inproc://bare -Schema '$ShopProto' -Handler @{ GetOrder = @{ id = 1 } }
`$rpc = Connect-RpcEndpoint inproc://bare -Schema `$listener.Schema
`$env:$variable = `$env:TMP = '$(Join-Path $file missing)'
`$rpc | Import-RpcService -Prefix Bare -WarningVariable warnings -WarningAction SilentlyContinue
"`$warnings"
(Get-Command Get-BareOrder).Parameters.ContainsKey('Id')
(Get-Help Get-BareOrder).Name
"@
        $result.Error | Should -BeNullOrEmpty
        $lines = $result.Output.Trim() -split '\r?\n'
        $lines[0] | Should -BeLike "*missing*$variable*"
        $lines[1..2] | Should -Be 'True', 'Get-BareOrder'
    }

    It 'opens a connection for an endpoint, and closes it when it is removed' {
        $before = @(Get-RpcConnection).Count
        Import-RpcService $shop.Endpoint[0] -Schema $shop.Schema -Prefix Own
        @(Get-RpcConnection).Count | Should -Be ($before + 1)
        (Get-OwnOrder -Id 3).id | Should -Be 3

        Remove-Module Own
        @(Get-RpcConnection).Count | Should -Be $before
        Get-Command Get-OwnOrder -ErrorAction Ignore | Should -BeNullOrEmpty
    }

    It 'leaves a connection open that it did not open' {
        $rpc | Import-RpcService -Prefix Lent
        Remove-Module Lent
        $rpc.State | Should -Be Open
    }

    It 'opens its connection again when somebody closed it' {
        Import-RpcService $shop.Endpoint[0] -Schema $shop.Schema -Prefix Own
        Get-RpcConnection | Where-Object Id -NE $rpc.Id | Disconnect-RpcEndpoint
        (Get-OwnOrder -Id 3).id | Should -Be 3
        Remove-Module Own
    }

    It 'keeps a connection that another runspace opened again' {
        $shared = Import-RpcService $shop.Endpoint[0] -Schema $shop.Schema -Prefix Again -PassThru
        Get-RpcConnection | Where-Object Id -NE $rpc.Id | Disconnect-RpcEndpoint

        1 | ForEach-Object -Parallel {
            Import-Module $using:shared
            (Get-AgainOrder -Id $_).id
        } | Should -Be 1

        $again = @(Get-RpcConnection | Where-Object Id -NE $rpc.Id)
        $again | Should -HaveCount 1
        (Get-AgainOrder -Id 2).id | Should -Be 2
        $again.State | Should -Be Open
        @(Get-RpcConnection).Count | Should -Be 2
        Remove-Module Again
        $again.State | Should -Be Closed
    }

    It 'survives a listener that comes back' {
        $endpoint = "ncalrpc:[$(New-TestName)]"
        $first = Start-RpcListener $endpoint -Schema $ShopProto -Handler @{ GetOrder = { @{ id = 1 } } }
        Import-RpcService $endpoint -Schema $ShopProto -Prefix Back
        (Get-BackOrder).id | Should -Be 1
        $first | Stop-RpcListener -DrainTimeout 0
        { Get-BackOrder -ErrorAction Stop } | Should -Throw
        $second = Start-RpcListener $endpoint -Schema $ShopProto -Handler @{ GetOrder = { @{ id = 2 } } }
        (Get-BackOrder).id | Should -Be 2
        Remove-Module Back
        $second | Stop-RpcListener
    }

    It 'uses the only open connection without one of its own' {
        $result = Invoke-Pwsh @"
Import-Module '$ModuleManifest'
`$shop = Start-RpcListener 'inproc://$(New-TestName)' -Schema '$ShopProto' -Handler @{ GetOrder = { @{ id = 5 } } }
Import-RpcService -Schema '$ShopProto'
try { Get-Order -ErrorAction Stop } catch { `$_.FullyQualifiedErrorId }
`$null = Connect-RpcEndpoint `$shop.Endpoint[0] -Schema '$ShopProto'
(Get-Order).id
Remove-Module ProtoRpc -Force
"@
        $result.Error | Should -BeNullOrEmpty
        $result.Output.Trim() -split '\r?\n' | Should -Be 'NoConnection,Get-Order', '5'
    }

    It 'works in ForEach-Object -Parallel' {
        $ids = 1..6 | ForEach-Object -ThrottleLimit 3 -Parallel {
            Import-Module $using:ModuleManifest
            $using:rpc | Import-RpcService -Prefix Test
            (Get-TestOrder -Id $_).id
        }
        $ids | Sort-Object | Should -Be (1..6)
    }

    It 'can be imported into other runspaces as it is' {
        $shared = $rpc | Import-RpcService -Prefix Shared -PassThru
        $ids = 1..4 | ForEach-Object -ThrottleLimit 4 -Parallel {
            Import-Module $using:shared
            foreach ($i in 1..50) { (Get-SharedOrder -Id (1000 * $_ + $i)).id }
        }
        ($ids | Select-Object -Unique).Count | Should -Be 200
        Remove-Module Shared
    }

    It 'gives its commands to handlers' {
        function Global:Get-HandedOrder { 'mine' }
        $rpc | Import-RpcService -Prefix Handed -Force
        $gateway = Start-RpcListener "inproc://$(New-TestName)" -Schema $ShopProto -Handler @{
            GetOrder = { param($Request) Get-HandedOrder -Id ($Request.id + 1) }
            CreateOrder = { param($Request) New-HandedOrder -Id ($Request.id + 2) }
        }
        $outer = Connect-RpcEndpoint $gateway.Endpoint[0] -Schema $ShopProto
        try {
            ($outer | Invoke-RpcMethod GetOrder @{ id = 1 }).id | Should -Be 2
            ($outer | Invoke-RpcMethod CreateOrder @{ id = 1 }).id | Should -Be 3
        }
        finally {
            $outer | Disconnect-RpcEndpoint
            $gateway | Stop-RpcListener -DrainTimeout 0
        }
        try { (Get-HandedOrder -Id 5).id | Should -Be 5 }
        finally {
            Remove-Module Handed
            Remove-Item Function:\Get-HandedOrder
        }
    }

    It 'says that it was removed' {
        $kept = ($rpc | Import-RpcService -Prefix Kept -PassThru).ExportedCommands['Get-KeptOrder']
        Remove-Module Kept
        { & $kept -Id 1 -ErrorAction Stop } | Should -Throw -ErrorId 'ModuleRemoved,*' -ExpectedMessage '*Run Import-RpcService again*'
    }

    It 'stops with its pipeline: <_>' -ForEach 'Wait-StopOrders', 'Wait-StopStream -Id 1' {
        $path = Join-Path $TestDrive stop.proto
        Set-Content $path "syntax = 'proto3'; message M { int32 id = 1; } service S { rpc WaitOrders (M) returns (M); rpc WaitStream (M) returns (stream M); }"
        $listener = Start-RpcListener "inproc://$(New-TestName)" -Schema $path -Handler @{
            WaitOrders = { [Threading.Thread]::Sleep(20000); @{} }
            WaitStream = { @{ id = 1 }; [Threading.Thread]::Sleep(20000) }
        }
        $shell = [powershell]::Create()
        try {
            $null = $shell.AddScript('Import-Module $args[0]; Import-RpcService $args[1] -Schema $args[2] -Prefix Stop; & ([scriptblock]::Create($args[3]))').
                AddArgument($ModuleManifest).AddArgument($listener.Endpoint[0].ToString()).AddArgument($path).AddArgument($_)
            $null = $shell.BeginInvoke()
            Wait-Until { $listener.InFlight -gt 0 } | Should -BeTrue
            $watch = [Diagnostics.Stopwatch]::StartNew()
            $shell.Stop()
            $watch.Elapsed.TotalSeconds | Should -BeLessThan 10
        }
        finally {
            $shell.Dispose()
            $listener | Stop-RpcListener -DrainTimeout 0
        }
    }

    It 'has its help in a folder that only the user opens, until the last module with it is removed' {
        $proto = Join-Path $TestDrive "$(New-TestName).proto"
        Set-Content $proto "syntax = 'proto3'; message M {} service S { /* $(New-TestName) */ rpc GetIt (M) returns (M); }"
        $first = Import-RpcService -Schema $proto -Prefix Helped -PassThru
        $file = (Get-Command Get-HelpedIt).HelpFile
        $folder = Split-Path $file
        $file | Should -Exist
        @(Get-ChildItem $folder -Force) | Should -HaveCount 1
        if (-not $IsWindows) {
            (Get-Item $folder).UnixFileMode | Should -Be 'UserExecute, UserWrite, UserRead'
        }

        # Another runspace, which ends without removing its module.
        $shell = [powershell]::Create().AddScript({
            param($manifest, $proto)
            Import-Module $manifest
            Import-RpcService -Schema $proto -Prefix Helped
            (Get-Command Get-HelpedIt).HelpFile
            if ($args[0]) { Remove-Module Helped }
        }).AddArgument($ModuleManifest).AddArgument($proto).AddArgument($true)
        $shell.Invoke() | Should -Be $file
        $shell.Dispose()
        $file | Should -Exist

        $first | Remove-Module
        $folder | Should -Not -Exist
    }

    It 'can be mocked' {
        Mock Get-TestOrder { @{ id = 42 } } -ParameterFilter { $Id -eq 7 }
        (Get-TestOrder -Id 7).id | Should -Be 42
        (Get-TestOrder -Id 8).id | Should -Be 8
        Should -Invoke Get-TestOrder -Times 1 -Exactly -ParameterFilter { $Id -eq 7 }
    }
}
