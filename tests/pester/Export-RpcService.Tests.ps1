. (Join-Path $PSScriptRoot common.ps1)

Describe 'Export-RpcService' {
    BeforeAll {
        $proto = Join-Path $TestProtos shop.proto
        $folder = Join-Path $TestDrive Shop
        $shop = Start-RpcListener "inproc://$(New-TestName)" -Schema $proto -Handler @{
            GetOrder = { param($Request) @{ id = $Request.id; customer = 'Ann' } }
            Search = { param($Request) foreach ($i in 1..100) { @{ id = $Request.id + $i } } }
        }
        $endpoint = $shop.Endpoint[0].ToString()
    }

    AfterEach { Remove-Module Shop, Other -ErrorAction Ignore }

    AfterAll { Clear-Test }

    It 'writes a module that needs ProtoRpc and nothing else' {
        Export-RpcService -OutputModule $folder -Schema $proto -Prefix Shop | Should -BeNullOrEmpty
        (Get-ChildItem $folder).Name | Sort-Object |
            Should -Be ('schema.pb', 'Shop-Help.xml', 'Shop.psd1', 'Shop.psm1' | Sort-Object)

        $manifest = Import-PowerShellDataFile (Join-Path $folder Shop.psd1)
        $manifest.RequiredModules.ModuleName | Should -Be ProtoRpc
        $manifest.FunctionsToExport | Should -Be 'Connect-Shop'
        $manifest.CmdletsToExport | Sort-Object | Should -Be @(
            'Add-ShopOrders', 'Connect-ShopOrders', 'Get-ShopOrder', 'Invoke-ShopSayHello', 'New-ShopOrder', 'Search-Shop')
        $path = $env:PSModulePath
        try {
            $env:PSModulePath = "$(Split-Path (Split-Path $ModuleManifest))$([IO.Path]::PathSeparator)$path"
            Import-Module $folder -PassThru | Should -Not -BeNullOrEmpty
        }
        finally { $env:PSModulePath = $path }
        (Get-Command -Module Shop).Name | Sort-Object | Should -Be (@($manifest.CmdletsToExport; $manifest.FunctionsToExport) | Sort-Object)
    }

    It 'gives no command a name of the shell, and warns of the longer one' {
        $file = Join-Path $TestDrive secrets.proto
        Set-Content -LiteralPath $file -Value @'
syntax = "proto3"; package secrets;
message Secret { string string = 1; bool as_plain_text = 2; bool force = 3; }
service Secrets { rpc ConvertToSecureString(Secret) returns (Secret); rpc GetCredential(Secret) returns (Secret); }
'@
        $module = Join-Path $TestDrive PSSession
        Export-RpcService $module $file -WarningVariable warnings -WarningAction SilentlyContinue
        $warnings | Should -HaveCount 1
        "$warnings" | Should -BeLike '*Invoke-ConvertToSecureString (not ConvertTo-SecureString)*-Prefix*'

        Import-Module $module
        try {
            (Get-Command -Module PSSession).Name | Sort-Object |
                Should -Be 'Connect-PSSessionService', 'Invoke-ConvertToSecureString', 'Invoke-GetCredential'
            ConvertTo-SecureString secret -AsPlainText -Force | Should -BeOfType ([securestring])
        }
        finally { Remove-Module PSSession }

        Import-RpcService -Schema $file -Force -WarningVariable warnings -WarningAction SilentlyContinue
        try {
            "$warnings" | Should -BeLike '*Invoke-GetCredential (not Get-Credential)*'
            (Get-Command Get-Credential).ModuleName | Should -Be Microsoft.PowerShell.Security
        }
        finally { Remove-Module Secrets }
    }

    It 'knows every command of the shell and of its own' {
        $modules = @((Get-ChildItem (Join-Path $PSHOME Modules)).Name) + 'Microsoft.PowerShell.Core' + 'ProtoRpc'
        $names = (Get-Command -CommandType Cmdlet, Function).Where({ $_.ModuleName -in $modules }).Name -like '*-*'
        $names.Count | Should -BeGreaterThan 200
        $core = [AppDomain]::CurrentDomain.GetAssemblies().Where({ $_.GetName().Name -eq 'ProtoRpc' })[0]
        $known = $core.GetType('ProtoRpc.ServiceCommands.ShellCommands').GetProperty('Names').GetValue($null)
        $names.Where({ -not $known.Contains($_) }) | Should -BeNullOrEmpty
    }

    It 'makes the same commands as Import-RpcService' {
        Export-RpcService $folder $proto -Prefix Shop -Force
        Import-Module $folder
        Import-RpcService -Schema $proto -Prefix Other
        foreach ($name in 'Get-ShopOrder', 'New-ShopOrder', 'Search-Shop') {
            $same = $name -replace 'Shop', 'Other'
            (Get-Command $name).Parameters.Keys | Sort-Object |
                Should -Be ((Get-Command $same).Parameters.Keys | Sort-Object)
            (Get-Help $name).Synopsis | Should -Be (Get-Help $same).Synopsis
        }
        (Get-Help New-ShopOrder -Parameter Customer).description.Text | Should -Match 'Who ordered\.'
    }

    It 'connects by a command of its own' {
        Export-RpcService $folder $proto -Prefix Shop -Force
        Import-Module $folder
        $before = @(Get-RpcConnection).Count
        Connect-Shop $endpoint | Should -BeNullOrEmpty
        (Get-ShopOrder -Id 3).id | Should -Be 3
        (Search-Shop -Id 0 | Select-Object -First 2).id | Should -Be 1, 2
        (Connect-Shop $endpoint -PassThru -RetryCount 2) | Should -BeOfType ([ProtoRpc.RpcConnection])
        @(Get-RpcConnection).Count | Should -Be ($before + 1)

        Remove-Module Shop
        @(Get-RpcConnection).Count | Should -Be $before
    }

    It 'says which command failed to connect, and why' {
        Export-RpcService $folder $proto -Prefix Shop -Force
        Import-Module $folder
        { Connect-Shop "inproc://$(New-TestName)" } | Should -Throw -ErrorId 'RpcStatus.Unavailable,*'
        { Get-ShopOrder -Id 1 -ErrorAction Stop } | Should -Throw -ErrorId 'NoConnection,Get-ShopOrder'
    }

    It 'takes the common parameters when it connects' {
        Export-RpcService $folder $proto -Prefix Shop -Force
        Import-Module $folder

        Connect-Shop $endpoint -ErrorAction Stop

        (Get-ShopOrder -Id 3).id | Should -Be 3
        { Connect-Shop "inproc://$(New-TestName)" -ErrorAction SilentlyContinue } |
            Should -Throw -ErrorId 'RpcStatus.Unavailable,*'
    }

    It 'takes a connection without a schema' {
        Export-RpcService $folder $proto -Prefix Shop -Force
        Import-Module $folder
        $rpc = Connect-RpcEndpoint $endpoint -Schema (Join-Path $TestProtos greeter.proto)
        (Get-ShopOrder -Id 4 -Connection $rpc).id | Should -Be 4
        (Get-ShopOrder -Id 5).id | Should -Be 5
        $rpc | Disconnect-RpcEndpoint
    }

    It 'connects by itself to the endpoint that it was given' {
        Export-RpcService $folder $proto -Prefix Shop -Endpoint $endpoint -Force
        Import-Module $folder
        @(Get-RpcConnection).Count | Should -Be 0
        (Get-ShopOrder -Id 6).id | Should -Be 6
        Connect-Shop
        (Get-ShopOrder -Id 7).id | Should -Be 7
        Remove-Module Shop
        @(Get-RpcConnection).Count | Should -Be 0
    }

    It 'does not call its own endpoint after the connection that it was given is closed' {
        Export-RpcService $folder $proto -Prefix Shop -Endpoint $endpoint -Force
        Import-Module $folder
        $other = Start-RpcListener "inproc://$(New-TestName)" -Schema $proto -Handler @{ GetOrder = @{ id = 77 } }
        $before = $shop.Calls
        Connect-Shop "$($other.Endpoint[0])"
        (Get-ShopOrder -Id 1).id | Should -Be 77
        Get-RpcConnection | Disconnect-RpcEndpoint

        { Get-ShopOrder -Id 1 -ErrorAction Stop } |
            Should -Throw -ErrorId 'ConnectionClosed,Get-ShopOrder' -ExpectedMessage '*Run Connect-Shop again*'
        $shop.Calls | Should -Be $before

        Connect-Shop
        (Get-ShopOrder -Id 1).id | Should -Be 1
        $other | Stop-RpcListener
    }

    It 'can be exported again by another module: <_>' -ForEach 'NestedModules', 'Import-Module' {
        Export-RpcService $folder $proto -Prefix Shop -Endpoint $endpoint -Force
        $wrapper = New-Item -ItemType Directory (Join-Path $TestDrive "Wrapper$($_ -replace '-')")
        if ($_ -eq 'NestedModules') {
            $file = Join-Path $wrapper Wrapper.psd1
            New-ModuleManifest $file -NestedModules (Join-Path $folder Shop.psd1) -CmdletsToExport *
        }
        else {
            $file = Join-Path $wrapper Wrapper.psm1
            Set-Content $file "Import-Module '$folder'; Export-ModuleMember -Cmdlet *"
        }
        Import-Module $file
        try {
            (Get-Command Get-ShopOrder).ModuleName | Should -Be Wrapper
            (Get-ShopOrder -Id 8).id | Should -Be 8
        }
        finally { Remove-Module Wrapper }
    }

    It 'does not keep the commands of another module of its name' {
        Export-RpcService $folder $proto -Prefix Shop -Endpoint $endpoint -Force
        $second = Join-Path $TestDrive prod/Shop
        Export-RpcService $second $proto -Prefix Shop -Endpoint "inproc://$(New-TestName)"
        Import-Module $folder
        { Import-Module $second -ErrorAction Stop } | Should -Throw '*named ''Shop'' is loaded*Remove-Module Shop*'
        { Import-RpcService -Schema $proto -Prefix Shop -Force -ErrorAction Stop } |
            Should -Throw '*named ''Shop'' is loaded*Remove-Module Shop*'
        (Get-ShopOrder -Id 9).id | Should -Be 9
        Import-Module $folder -Force
        (Get-ShopOrder -Id 9).id | Should -Be 9

        Remove-Module Shop
        Import-Module $second
        { Get-ShopOrder -Id 9 -ErrorAction Stop } | Should -Throw
    }

    It 'works in ForEach-Object -Parallel' {
        Export-RpcService $folder $proto -Prefix Shop -Endpoint $endpoint -Force
        $ids = 1..4 | ForEach-Object -ThrottleLimit 2 -Parallel {
            Import-Module $using:ModuleManifest, $using:folder
            (Get-ShopOrder -Id $_).id
        }
        $ids | Sort-Object | Should -Be (1..4)
    }

    It 'writes what a connection offers' {
        $rpc = Connect-RpcEndpoint $endpoint -Schema $shop.Schema
        $rpc | Export-RpcService $folder -Force
        $rpc | Disconnect-RpcEndpoint
        (Import-PowerShellDataFile (Join-Path $folder Shop.psd1)).CmdletsToExport | Should -Contain 'Get-Order'
    }

    It 'gives the module the same id when it is made again' {
        $ids = foreach ($i in 1, 2) {
            Export-RpcService $folder $proto -Force
            (Import-PowerShellDataFile (Join-Path $folder Shop.psd1)).GUID
        }
        $ids[0] | Should -Not -BeNullOrEmpty
        $ids[1] | Should -Be $ids[0]
    }

    It 'replaces nothing unless told' {
        Export-RpcService $folder $proto -Force
        { Export-RpcService $folder $proto -ErrorAction Stop } | Should -Throw -ErrorId 'FileExists,*'
        Export-RpcService (Join-Path $TestDrive Never) $proto -WhatIf
        Test-Path (Join-Path $TestDrive Never) | Should -BeFalse
    }

    It 'refuses names that no module can have: <_>' -ForEach 'a b', '$(x)', '1st', "x'y" {
        { Export-RpcService (Join-Path $TestDrive $_) $proto -ErrorAction Stop } |
            Should -Throw -ErrorId 'InvalidModuleName,*'
    }
}
