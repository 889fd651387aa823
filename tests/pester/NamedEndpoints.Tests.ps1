. (Join-Path $PSScriptRoot common.ps1)

Describe 'Named endpoints' {
    BeforeAll {
        $greeter = Join-Path $TestProtos greeter.proto
        $handler = @{ SayHello = { param($Request) @{ text = "hi $($Request.name) of $($RpcContext.User.Name)" } } }
        $listeners = 1..3 | ForEach-Object { Start-TestListener $handler }
        $there = $listeners.Endpoint | ForEach-Object ToString
        $before = $env:PROTORPC_ENDPOINTS
        $with = @{ Schema = $greeter; Service = 'demo.Greeter' }
    }

    BeforeEach {
        $env:PROTORPC_ENDPOINTS = Join-Path $TestDrive "$(New-TestName)" endpoints.json
    }

    AfterAll {
        $env:PROTORPC_ENDPOINTS = $before
        Disconnect-RpcEndpoint -Pooled
        Clear-Test
    }

    AfterEach { Get-RpcConnection | Disconnect-RpcEndpoint }

    It 'are registered, listed and removed' {
        Register-RpcEndpoint shop $there[0] $greeter -Tag north, test
        Register-RpcEndpoint web-1 $there[1] -PassThru | Should -BeOfType ProtoRpc.RpcNamedEndpoint

        (Get-RpcEndpoint).Name | Should -Be shop, web-1
        (Get-RpcEndpoint shop).Endpoint.ToString() | Should -Be $there[0]
        (Get-RpcEndpoint -Tag nor*).Name | Should -Be shop
        (Get-RpcEndpoint w*, s*).Name | Should -Be web-1, shop
        Get-RpcEndpoint nobody* | Should -BeNullOrEmpty
        { Get-RpcEndpoint shpo -ErrorAction Stop } |
            Should -Throw -ErrorId 'EndpointNameNotFound,*' -ExpectedMessage "*'shop'*"
        Unregister-RpcEndpoint SHOP
        Get-RpcEndpoint web-* | Unregister-RpcEndpoint
        Get-RpcEndpoint | Should -BeNullOrEmpty
        { Unregister-RpcEndpoint shop -ErrorAction Stop } | Should -Throw -ErrorId 'EndpointNameNotFound,*'
    }

    It 'keep HttpGet and the text form of gRPC-Web' {
        Register-RpcEndpoint get connect://h -ConnectionOption @{ HttpGet = $true }
        $text = Register-RpcEndpoint text grpcweb://h -ConnectionOption @{ Format = 'GrpcWebText' } -PassThru

        (Get-RpcEndpoint get).HttpGet | Should -BeTrue
        $text.Format | Should -Be 'GrpcWebText'
        $file = Get-Content $env:PROTORPC_ENDPOINTS -Raw | ConvertFrom-Json
        $file.endpoints.get.httpGet | Should -BeTrue
        $file.endpoints.text.PSObject.Properties.Name | Should -Be endpoint, format
        'Name,Endpoint,Format', 'row,grpcwebs://h,grpcwebtext' | ConvertFrom-Csv | Register-RpcEndpoint -ErrorAction Stop
        (Get-RpcEndpoint row).Format | Should -Be 'grpcwebtext'
        { Register-RpcEndpoint wrong http://h -ConnectionOption @{ Format = 'GrpcWebText' } -ErrorAction Stop } |
            Should -Throw -ErrorId 'RpcStatus.InvalidArgument,*' `
                -ExpectedMessage "The format GrpcWebText does not apply to 'http://h*', only to grpcweb:// and grpcwebs:// endpoints."
    }

    It 'are registered from rows whose cells are empty: <Row>' -ForEach @(
        @{ Row = 'a,grpc://h:1,,,,,,,' }
        @{ Row = 'a,grpc://h:1' }
    ) {
        $id = [guid]'3b5f0f2e-6d0b-4c53-9f43-000000000001'
        $columns = 'Name,Endpoint,Schema,Service,InterfaceId,Tag,UserName,Credential,Token'
        $rows = @(ConvertFrom-Csv $columns, $Row, "full,grpc://h:2,$greeter,demo.Greeter,$id,north,,,")

        $first, $second = $rows[0, 1, 0] | Register-RpcEndpoint -PassThru -Force -ErrorAction Stop | Select-Object -Last 2

        $second.Name | Should -Be a
        foreach ($name in 'Schema', 'Service', 'InterfaceId', 'Tag', 'UserName', 'Credential', 'Token') {
            $second.$name | Should -BeNullOrEmpty -Because $name
        }
        $first.Schema | Should -Be $greeter
        $first.InterfaceId | Should -Be $id
        $first.Tag | Should -Be north
        (Get-RpcEndpoint).Name | Should -Be a, full
        (Register-RpcEndpoint b grpc://h:3 '', $greeter -Tag '', x -PassThru).Tag | Should -Be x
        (Get-RpcEndpoint b).Schema | Should -Be $greeter
    }

    It 'are used by Invoke-RpcMethod, from any location' {
        Push-Location $TestProtos
        Register-RpcEndpoint shop $there[0] greeter.proto -Service demo.Greeter
        Pop-Location

        (Invoke-RpcMethod SayHello @{ name = 'Ann' } -Endpoint shop).text | Should -BeLike 'hi Ann*'
        (Invoke-RpcMethod SayHello @{ name = 'Ann' } -Endpoint SHOP).text | Should -BeLike 'hi Ann*'
    }

    It 'find their schema in a folder whose name has brackets' {
        $folder = New-Item -ItemType Directory (Join-Path $TestDrive (New-TestName) 'v[1]')
        Copy-Item $greeter -Destination (Join-Path $folder.Parent.FullName greeter.proto)
        [IO.File]::Copy($greeter, "$folder/greeter.proto")
        Push-Location -LiteralPath $folder.Parent.FullName
        Register-RpcEndpoint shop $there[0] './v[1]/greeter.proto' -Service demo.Greeter
        Register-RpcEndpoint shed $there[0] './v[1]' -Service demo.Greeter
        Register-RpcEndpoint star $there[0] './*.proto' -Service demo.Greeter
        Pop-Location

        foreach ($name in 'shop', 'shed', 'star') {
            (Invoke-RpcMethod SayHello @{ name = 'Ann' } -Endpoint $name).text | Should -BeLike 'hi Ann*'
            (Complete "Invoke-RpcMethod -Endpoint $name SayH").CompletionText | Should -Contain SayHello
        }
    }

    It 'are used with wildcards wherever an endpoint is' {
        0..2 | ForEach-Object { Register-RpcEndpoint "web-$_" $there[$_] @with -Tag web }

        $rows = Invoke-RpcMethod SayHello -Endpoint web-* -PassThruResult
        $rows.Name | Sort-Object | Should -Be web-0, web-1, web-2
        $rows.Status | Should -Be (@([ProtoRpc.RpcStatusCode]::OK) * 3)
        (Connect-RpcEndpoint web-*).Endpoint | ForEach-Object ToString | Should -Be $there
        (Connect-RpcEndpoint web-?).Service | Should -Be (@('demo.Greeter') * 3)
        (Test-RpcEndpoint web-*).Endpoint | ForEach-Object ToString | Should -Be $there
        (Wait-RpcEndpoint web-*).Endpoint | ForEach-Object ToString | Should -HaveCount 3
        (Import-RpcSchema -Endpoint web-1).Services.FullName | Should -Contain 'demo.Greeter'
        Get-RpcEndpoint -Tag web | Connect-RpcEndpoint | Should -HaveCount 3
        Invoke-RpcMethod SayHello -Endpoint (Get-RpcEndpoint -Tag web) | Should -HaveCount 3
    }

    It 'give their commands with Import-RpcService' {
        0..1 | ForEach-Object { Register-RpcEndpoint "web-$_" $there[$_] @with }

        $module = Import-RpcService web-1 -Prefix Named -PassThru
        try {
            (Invoke-NamedSayHello -Name Ann).text | Should -BeLike 'hi Ann*'
        }
        finally {
            Remove-Module $module
        }

        { Import-RpcService web-* -ErrorAction Stop } |
            Should -Throw -ErrorId 'InvalidEndpoint,*' -ExpectedMessage '*2 endpoints: web-0, web-1*'
    }

    It 'find their connections' {
        0..1 | ForEach-Object { Register-RpcEndpoint "web-$_" $there[$_] @with }
        $rpc = Connect-RpcEndpoint $there[0], $there[1], $there[2] @with

        (Get-RpcConnection -Endpoint web-1).Id | Should -Be $rpc[1].Id
        (Get-RpcConnection -Endpoint WEB-*).Id | Should -Be $rpc[0, 1].Id
        (Get-RpcConnection -Endpoint 'ncalrpc:*').Id | Should -Be $rpc.Id
        (Get-RpcConnection -Endpoint $listeners[2].Endpoint[0].Uri).Id | Should -Be $rpc[2].Id
        Get-RpcConnection -Endpoint no-* | Should -BeNullOrEmpty
        { Get-RpcConnection -Endpoint web1 -ErrorAction Stop } |
            Should -Throw -ErrorId 'InvalidEndpoint,*' -ExpectedMessage "*'web-1'*"
    }

    It 'connect the modules of Export-RpcService, with their options' {
        $env:PROTORPC_TEST_SECRET = 'hunter2'
        $account = [pscredential]::new('ann', (ConvertTo-SecureString hunter2 -AsPlainText))
        $locked = Start-TestListener $handler -Endpoint 'tcp://127.0.0.1:0' -With @{
            Authentication = 'Ntlm'
            ListenerOption = @{ NtlmAccount = $account }
        }
        $options = @{ Mechanism = 'Ntlm'; UserName = 'ann'; Credential = 'env:PROTORPC_TEST_SECRET' }
        Register-RpcEndpoint web-0 "$($locked.Endpoint[0])" @with -ConnectionOption $options
        Register-RpcEndpoint web-1 $there[1] @with
        $folder = Join-Path $TestDrive NamedShop
        Export-RpcService $folder $greeter -Endpoint WEB-0 -Prefix Named -ErrorAction Stop
        Import-Module $folder
        try {
            (Invoke-NamedSayHello -Name Ann).text | Should -Match ' ann$'
            Connect-Named
            (Invoke-NamedSayHello -Name Ann).text | Should -Match ' ann$'
            Connect-Named web-1
            (Invoke-NamedSayHello -Name Ann).text | Should -Not -Match ' ann$'
            { Connect-Named web-* } | Should -Throw -ExpectedMessage '*2 endpoints*'
            @(Get-RpcConnection).Count | Should -Be 1
        }
        finally {
            Remove-Module NamedShop
            $env:PROTORPC_TEST_SECRET = $null
        }

        Get-RpcConnection | Should -BeNullOrEmpty
        { Export-RpcService $folder $greeter -Endpoint web-* -Force -ErrorAction Stop } |
            Should -Throw -ErrorId 'InvalidEndpoint,*' -ExpectedMessage '*2 endpoints*'
        { Export-RpcService $folder $greeter -Endpoint wep-0 -Force -ErrorAction Stop } |
            Should -Throw -ErrorId 'InvalidEndpoint,*' -ExpectedMessage "*'web-0'*"
    }

    It 'are copied with every option' {
        $all = @{
            Schema = $greeter
            Service = 'demo.Greeter'
            Tag = 'north', 'test'
        }
        $option = @{
            InterfaceId = [guid]'3b5f0f2e-6d0b-4c53-9f43-000000000001'
            Authentication = 'User'
            UserName = 'ann'
            Credential = 'env:NO_SUCH_SECRET'
            Token = 'secret:work/token'
            Mechanism = 'Ntlm'
            ProtectionLevel = 'Integrity'
            ServicePrincipalName = 'host/server.example.com'
            ServerUser = 'shop'
            Tls = $true
            CACertificate = $greeter, ('ab' * 20)
            ClientCertificate = 'cd' * 20
            ServerName = 'server.example.com'
            Format = 'json'
            Compression = 'Gzip'
            Retry = @{ Count = 4; StatusCodes = 'Unavailable'; InitialPause = '200ms' }
        }
        Register-RpcEndpoint full tcp://h:1 @all -ConnectionOption $option
        Register-RpcEndpoint bare tcp://h:2

        Get-RpcEndpoint full | Register-RpcEndpoint -Name full2 -ErrorAction Stop
        Get-RpcEndpoint bare | Register-RpcEndpoint -Name bare2 -ErrorAction Stop
        $before = Get-RpcEndpoint full, bare
        $after = @(Get-RpcEndpoint full2; Get-RpcEndpoint bare2)

        $properties = $before[0].PSObject.Properties.Name | Where-Object { $_ -ne 'Name' }
        foreach ($property in $properties) {
            $before[0].$property | Should -Not -BeNullOrEmpty -Because "the test sets $property"
            foreach ($i in 0, 1) {
                "$($after[$i].$property)" | Should -Be "$($before[$i].$property)" -Because $property
            }
        }
        $before | Register-RpcEndpoint -Force -ErrorAction Stop
        (Get-RpcEndpoint full).CACertificate | Should -HaveCount 2
        (Get-RpcEndpoint bare).Tls | Should -BeFalse
    }

    It 'take the options of rows' {
        $rows = 'Name,Endpoint,Tls,ServerName,RetryCount,Mechanism,ProtectionLevel,Compression,CACertificate,Format',
            'a,tcp://h:1,True,server,3,Ntlm,Packet,Gzip,,', 'b,tcp://h:2,False,,,,,,,', 'c,tcp://h:3' | ConvertFrom-Csv

        $rows | Register-RpcEndpoint -ErrorAction Stop

        $all = Get-RpcEndpoint
        $all.Tls | Should -Be $true, $false, $false
        $all[0].Retry | Should -Be ([ProtoRpc.RpcRetryPolicy]@{ Count = 3 })
        $all[0].ProtectionLevel | Should -Be Packet
        foreach ($name in 'ServerName', 'Retry', 'Mechanism', 'ProtectionLevel', 'Compression', 'Format') {
            $all[1].$name, $all[2].$name | Should -Be $null, $null -Because $name
        }
        { [pscustomobject]@{ Name = 'd'; Endpoint = 'tcp://h:1'; Tls = 'maybe' } |
            Register-RpcEndpoint -ErrorAction Stop } | Should -Throw -ErrorId '*,*'
        foreach ($name in 'CACertificate', 'ClientCertificate', 'ServerName', 'Format') {
            # A variable that is not set must not drop a setting, such as the certificates to trust.
            foreach ($empty in '', $null) {
                { Register-RpcEndpoint d tcp://h:1 -ConnectionOption @{ $name = $empty } -ErrorAction Stop } | Should -Throw
            }
        }
        { Register-RpcEndpoint d tcp://h:1 -ConnectionOption @{ Retry = 101 } } | Should -Throw -ExpectedMessage '*Count of -Retry*100*'
        { Register-RpcEndpoint d tcp://h:1 -ConnectionOption @{ ProtectionLevel = 'None' } } | Should -Throw -ExpectedMessage '*Packet*'
        (Get-RpcEndpoint).Name | Should -Be a, b, c
    }

    It 'give way to parameters' {
        Register-RpcEndpoint shop $there[0] ./nowhere.proto -Service demo.Nothing

        (Invoke-RpcMethod SayHello -Endpoint shop @with).text | Should -BeLike 'hi*'
        { Connect-RpcEndpoint shop -ErrorAction Stop } | Should -Throw -ErrorId 'SchemaNotFound,*'
        (Connect-RpcEndpoint shop @with).Service | Should -Be 'demo.Greeter'
    }

    It 'say that a name is unknown, with the nearest' {
        Register-RpcEndpoint shop $there[0] @with

        { Connect-RpcEndpoint shpo -ErrorAction Stop } |
            Should -Throw -ErrorId 'InvalidEndpoint,*' -ExpectedMessage "*not an endpoint*'shop'*"
        { Connect-RpcEndpoint web-* -ErrorAction Stop } |
            Should -Throw -ErrorId 'EndpointNameNotFound,*' -ExpectedMessage '*has shop*'
        $row = Invoke-RpcMethod SayHello -Endpoint shpo, shop -PassThruResult | Where-Object Name -EQ shpo
        $row.Error.Message | Should -BeLike "*'shop'*"
    }

    It 'complete' {
        Register-RpcEndpoint shop $there[0] @with
        Register-RpcEndpoint shed $there[1]

        (Complete 'Connect-RpcEndpoint sh').CompletionText | Should -Be shed, shop
        (Complete 'Invoke-RpcMethod Send -Endpoint sh').CompletionText | Should -Be shed, shop
        (Complete 'Get-RpcEndpoint sho').CompletionText | Should -Be shop
        (Complete 'Unregister-RpcEndpoint sho').CompletionText | Should -Be shop
        (Complete 'Test-RpcEndpoint sho').CompletionText | Should -Be shop
    }

    It 'are left alone with -WhatIf' {
        Register-RpcEndpoint shop $there[0] -WhatIf
        $env:PROTORPC_ENDPOINTS | Should -Not -Exist
        Register-RpcEndpoint shop $there[0]
        Unregister-RpcEndpoint shop -WhatIf
        (Get-RpcEndpoint).Name | Should -Be shop
    }

    It 'refuse <Why>' -ForEach @(
        @{ Name = 'grpc://a:1'; Id = 'InvalidEndpointName'; Why = 'a name that looks like an endpoint' }
        @{ Name = 'a*'; Id = 'InvalidEndpointName'; Why = 'a name with wildcards' }
        @{ Name = "a`e[2J"; Id = 'InvalidEndpointName'; Why = 'a name with terminal control' }
        @{ Name = 'a'; Endpoint = 'nonsense'; Id = 'InvalidEndpoint'; Why = 'what is no endpoint' }
        @{ Name = 'a'; More = @{ Token = 'hunter2' }; Id = 'ParameterArgumentTransformationError'; Why = 'a plain token' }
        @{ Name = 'a'; More = @{ Credential = 'env:X' }; Id = 'InvalidCredential'; Why = 'a password without a user' }
    ) {
        $where = $Endpoint ? $Endpoint : 'grpc://a:1'
        $arguments = $More ? $More : @{}
        { Register-RpcEndpoint $Name $where -ConnectionOption $arguments -ErrorAction Stop } | Should -Throw -ErrorId "$Id,*"
        $env:PROTORPC_ENDPOINTS | Should -Not -Exist
    }

    It 'refuse a credential itself' {
        $user = [pscredential]::new('ann', (ConvertTo-SecureString hunter2 -AsPlainText))

        { Register-RpcEndpoint shop grpcs://a:1 -ConnectionOption @{ Credential = $user } } | Should -Throw -ExpectedMessage '*secret:NAME*'
        { Register-RpcEndpoint shop grpcs://a:1 -ConnectionOption @{ Token = $user.Password } } |
            Should -Throw -ExpectedMessage '*env:VARIABLE*'
    }

    It 'are replaced only with -Force' {
        Register-RpcEndpoint shop $there[0]
        { Register-RpcEndpoint Shop $there[1] -ErrorAction Stop } | Should -Throw -ErrorId 'EndpointNameTaken,*'
        Register-RpcEndpoint Shop $there[1] -Force

        (Get-RpcEndpoint).Endpoint.ToString() | Should -Be $there[1]
    }

    It 'refuse a file that others can write' -Skip:$IsWindows {
        Register-RpcEndpoint shop $there[0] @with
        chmod go+w $env:PROTORPC_ENDPOINTS

        { Invoke-RpcMethod SayHello -Endpoint shop -ErrorAction Stop } | Should -Throw -ErrorId 'EndpointFileNotSafe,*'
        { Get-RpcEndpoint -ErrorAction Stop } | Should -Throw -ErrorId 'EndpointFileNotSafe,*'
        (Complete 'Get-RpcEndpoint sho').CompletionText | Should -Not -Contain shop
        # An endpoint itself needs no file.
        (Invoke-RpcMethod SayHello -Endpoint $there[0] @with).text | Should -BeLike 'hi*'
    }

    It 'say where a damaged file is wrong' {
        $null = New-Item -Force $env:PROTORPC_ENDPOINTS -Value "{`n  nonsense"

        { Get-RpcEndpoint -ErrorAction Stop } |
            Should -Throw -ErrorId 'InvalidEndpointFile,*' -ExpectedMessage '*line 2, column 3*'
    }

    It 'are in the folder of the user''s settings' -Skip:$IsWindows {
        $result = Invoke-Pwsh @"
            `$env:PROTORPC_ENDPOINTS = ''
            `$env:XDG_CONFIG_HOME = '$TestDrive/config'
            Import-Module '$ModuleManifest'
            Register-RpcEndpoint shop grpc://a:1
"@
        $result.Error | Should -BeNullOrEmpty
        "$TestDrive/config/ProtoRpc/endpoints.json" | Should -Exist
    }

    It 'are written by several runspaces at once' {
        1..8 | ForEach-Object -Parallel {
            Import-Module $using:ModuleManifest
            Register-RpcEndpoint "e$_" grpc://a:1
        } -ThrottleLimit 4

        Get-RpcEndpoint e* | Should -HaveCount 8
    }

    Context 'with secrets' {
        BeforeAll {
            $account = [pscredential]::new('ann', (ConvertTo-SecureString hunter2 -AsPlainText))
            $locked = Start-TestListener $handler -Endpoint 'tcp://127.0.0.1:0' -With @{
                Authentication = 'Ntlm'
                ListenerOption = @{ NtlmAccount = $account }
            }
            $where = "$($locked.Endpoint[0])"
            $env:PROTORPC_TEST_SECRET = 'hunter2'

            # Stands in for the module, with two vaults.
            $module = New-Item -ItemType Directory "$TestDrive/modules/Microsoft.PowerShell.SecretManagement"
            Set-Content "$module/Microsoft.PowerShell.SecretManagement.psm1" @'
function Get-Secret {
    [CmdletBinding()] param([string] $Name, [string] $Vault)
    $secret = ConvertTo-SecureString hunter2 -AsPlainText
    switch ("$Vault/$Name") {
        '/user' { [pscredential]::new('ann', $secret) }
        'work/password' { $secret }
        '/number' { 7 }
        default { Write-Error "The secret $Name was not found." }
    }
}
'@
            $paths = $env:PSModulePath
        }

        AfterAll {
            $env:PROTORPC_TEST_SECRET = $null
            $env:PSModulePath = $paths
            Remove-Module Microsoft.PowerShell.SecretManagement -ErrorAction Ignore
        }

        BeforeEach { $env:PSModulePath = "$TestDrive/modules$([IO.Path]::PathSeparator)$paths" }

        It 'take the password of an environment variable' {
            Register-RpcEndpoint shop $where @with -ConnectionOption @{ Mechanism = 'Ntlm'; UserName = 'ann'; Credential = 'env:PROTORPC_TEST_SECRET' }

            (Invoke-RpcMethod SayHello -Endpoint shop).text | Should -Match ' ann'
            Get-Content $env:PROTORPC_ENDPOINTS -Raw | Should -Not -Match hunter2
        }

        It 'say that the variable is not set' {
            Register-RpcEndpoint shop $where @with -ConnectionOption @{ UserName = 'ann'; Credential = 'env:PROTORPC_NO_SUCH_SECRET' }

            { Invoke-RpcMethod SayHello -Endpoint shop -ErrorAction Stop } |
                Should -Throw -ErrorId 'SecretNotFound,*' -ExpectedMessage '*PROTORPC_NO_SUCH_SECRET*not set*'
        }

        It 'take a secret of SecretManagement: <Reference>' -ForEach @(
            @{ Reference = 'secret:user'; User = @{} }
            @{ Reference = 'secret:work/password'; User = @{ UserName = 'ann' } }
        ) {
            Register-RpcEndpoint shop $where @with -ConnectionOption (@{ Mechanism = 'Ntlm'; Credential = $Reference } + $User)

            $rpc = Connect-RpcEndpoint shop
            ($rpc | Invoke-RpcMethod SayHello).text | Should -Match ' ann'
        }

        It 'say that there is no such secret, or that it is none' {
            Register-RpcEndpoint shop $where @with -ConnectionOption @{ Credential = 'secret:nothing' }
            Register-RpcEndpoint number $where @with -ConnectionOption @{ Credential = 'secret:number' }

            { Connect-RpcEndpoint shop -ErrorAction Stop } |
                Should -Throw -ErrorId 'SecretNotFound,*' -ExpectedMessage '*was not found*'
            { Connect-RpcEndpoint number -ErrorAction Stop } | Should -Throw -ErrorId 'SecretNotFound,*'
        }

        It 'say that SecretManagement is not there' {
            $env:PSModulePath = $paths
            Remove-Module Microsoft.PowerShell.SecretManagement -ErrorAction Ignore
            Register-RpcEndpoint shop $where @with -ConnectionOption @{ Credential = 'secret:user' }
            if (Get-Module -ListAvailable Microsoft.PowerShell.SecretManagement) {
                Set-ItResult -Skipped -Because 'SecretManagement is installed'
            }

            { Connect-RpcEndpoint shop -ErrorAction Stop } |
                Should -Throw -ErrorId 'SecretNotFound,*' -ExpectedMessage '*not installed*'
        }

        It 'send no password in clear' {
            Register-RpcEndpoint shop grpc://192.0.2.1:50051 @with -ConnectionOption @{ UserName = 'ann'; Credential = 'env:PROTORPC_TEST_SECRET' }
            Register-RpcEndpoint web http://192.0.2.1/ @with -ConnectionOption @{ Token = 'env:PROTORPC_TEST_SECRET' }

            foreach ($name in 'shop', 'web') {
                { Invoke-RpcMethod SayHello -Endpoint $name -Deadline 5 -ErrorAction Stop } |
                    Should -Throw -ExceptionType ([ProtoRpc.RpcException]) -ExpectedMessage '*TLS*'
            }
        }

        It 'give way to a credential that is given' {
            Register-RpcEndpoint shop $where @with -ConnectionOption @{ Mechanism = 'Ntlm'; UserName = 'ann'; Credential = 'env:PROTORPC_NO_SUCH_SECRET' }

            (Invoke-RpcMethod SayHello -Endpoint shop -Credential $account).text | Should -Match ' ann'
        }
    }
}
