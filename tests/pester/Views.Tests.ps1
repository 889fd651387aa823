. (Join-Path $PSScriptRoot common.ps1)

BeforeDiscovery {
    # What the shell shows well by itself, and messages, which are custom objects.
    $native = @(
        [bool], [byte[]], [string], [void], [psobject], [System.Collections.Specialized.OrderedDictionary]
        [System.IO.FileInfo], [System.IO.DirectoryInfo], [System.Management.Automation.PSModuleInfo]
        [System.Management.Automation.FunctionInfo], [hashtable]
    )
    $types = (Get-Command -Module ProtoRpc).OutputType.Type |
        Where-Object { $_ -and $_ -notin $native } |
        ForEach-Object { $_.IsArray ? $_.GetElementType() : $_ } |
        Sort-Object FullName -Unique
    $files = Get-ChildItem (Join-Path (Split-Path $ModuleManifest) cmdlets/views) -Filter *.ps1xml
}

Describe 'The views of the module' {
    It 'has one of <_>, which a cmdlet writes' -ForEach $types {
        # Of the type itself, or of one that it derives from.
        $names = for ($type = $_; $type -and $type -ne [object]; $type = $type.BaseType) { $type.FullName }

        Get-FormatData -TypeName $names -PowerShellVersion $PSVersionTable.PSVersion |
            Should -Not -BeNullOrEmpty -Because "$_ would be shown as a list of all of its properties"
    }

    It 'has one of messages and of <_>' -ForEach @(
        'ProtoRpc.Message', 'ProtoRpc.DynamicMessage', 'ProtoRpc.RpcEndpoint', 'ProtoRpc.RpcEnumInfo'
        'ProtoRpc.RpcFieldInfo', 'ProtoRpc.RpcOneofInfo', 'ProtoRpc.RpcException'
    ) {
        Get-FormatData -TypeName $_ -PowerShellVersion $PSVersionTable.PSVersion | Should -Not -BeNullOrEmpty
    }

    It 'loads <_.Name>' -ForEach $files {
        (Import-PowerShellDataFile $ModuleManifest).FormatsToProcess | Should -Contain "cmdlets/views/$($_.Name)"
    }
}

Describe 'The view of an endpoint' {
    It 'is a row with both of its forms' {
        $lines = [ProtoRpc.RpcEndpoint[]] ('ncacn_ip_tcp:localhost[8080]', 'http://localhost:81/') |
            Out-String -Width 100
        $lines.Trim() -replace '\e\[[\d;]*m' -split '\r?\n' | ForEach-Object TrimEnd | Should -Be @(
            'Transport Endpoint                     Uri'
            '--------- --------                     ---'
            'Tcp       ncacn_ip_tcp:localhost[8080] tcp://localhost:8080'
            'Http      http://localhost:81/         http://localhost:81/'
        )
    }
}

Describe 'The view of an option' {
    It 'lists what was given, and shows no secret' {
        $option = New-RpcConnectionOption -Token (ConvertTo-SecureString hunter2 -AsPlainText) -Compression None

        $text = ($option | Out-String -Width 100).Trim() -replace '\e\[[\d;]*m'
        $text -split '\r?\n' | ForEach-Object TrimEnd | Should -Be 'Compression : None', 'Token       : SecureString'
    }
}

Describe 'The view of an RpcException' {
    AfterAll { Clear-Test }

    It 'lists what is known of the failure, without what is empty and without the stack' {
        $failure = [ProtoRpc.RpcException]::new('NotFound', "not`e[31m here")

        $text = ($failure | Out-String -Width 100).Trim() -replace '\e\[[\d;]*m'
        $text -split '\r?\n' | ForEach-Object TrimEnd | Should -Be @(
            'Code    : NotFound'
            'Message : not\u001B[31m here'
            'ErrorId : RpcStatus.NotFound'
        )
    }

    It 'names method and endpoint' {
        $listener = Start-TestListener { throw [ProtoRpc.RpcException]::new('NotFound', 'no') }
        $rpc = Connect-Test $listener
        Invoke-RpcMethod SayHello -Connection $rpc -ErrorAction SilentlyContinue -ErrorVariable failed

        $text = $failed[0].Exception | Out-String -Width 200
        $text | Should -Match 'MethodName\S* *: \S*demo.Greeter/SayHello'
        $text | Should -Match 'Endpoint\S* *: '
        $text | Should -Not -Match 'TargetSite|HResult|FieldPath'
    }
}

Describe 'The view of a oneof' {
    It 'names its fields' {
        $schema = Import-RpcSchema (Join-Path $RepositoryRoot tests unit Schema protos parcels.proto)

        (Get-RpcMessageType Parcel -Schema $schema).Oneofs | Out-String -Width 100 |
            Should -Match '(?m)how +parcels.Parcel +plane, ship'
    }
}

Describe 'The views of mocks' {
    AfterAll { Clear-Test }

    It 'are those of listeners, and a table of calls' {
        $mock = New-RpcMock -Schema (Join-Path $TestProtos greeter.proto) -Service demo.Greeter -Reply @{ SayHello = @{ text = 'hi' } }
        $null = Invoke-RpcMethod SayHello @{ name = 'Ann' } -Connection $mock.Connection

        $mock | Out-String -Width 120 | Should -Match 'Service and endpoints'
        Get-RpcMockCall -Mock $mock | Out-String -Width 120 |
            Should -Match '(?m)^\d\d:\d\d:\d\d SayHello +OK +[\d.]+ .*Ann'
    }
}

Describe 'The view of a connection' {
    It 'names the services of its schema, without those of gRPC itself' {
        $one = Start-RpcListener grpc://127.0.0.1:0 { } -Schema (Join-Path $RepositoryRoot protos sample.proto)
        $rpc = Connect-RpcEndpoint $one.Endpoint[0]
        try {
            $rpc.Service | Should -BeNullOrEmpty
            ($rpc | Out-String -Width 80) | Should -Match 'Sample\.MyService'
            ($rpc | Out-String -Width 80) | Should -Not -Match 'grpc\.health'
        }
        finally {
            $rpc | Disconnect-RpcEndpoint
            $one | Stop-RpcListener
        }
    }
}

Describe 'The views in a window of 80 columns' {
    BeforeAll {
        function Show($Value) {
            ($Value | Out-String -Width 80) -replace '\e\[[\d;]*m' -split '\r?\n' | ForEach-Object TrimEnd | Where-Object { $_ }
        }
        $file = $env:PROTORPC_ENDPOINTS
    }

    AfterAll {
        $env:PROTORPC_ENDPOINTS = $file
        Clear-Test
    }

    It 'show endpoint, health, server and services of a ping' {
        $ping = [ProtoRpc.RpcPingResult]::new(
            'grpcs://shop.production.eu-west-1.example.com:443', [timespan]::FromMilliseconds(1.5), 'ProtoRpc', '1.2.3',
            [string[]] ('shop.catalog.v1.Catalog', 'shop.orders.v1.Orders'), '1.02:03:04')

        $lines = Show $ping
        $lines[0] | Should -Match '^Endpoint +ms Health +Server +Services$'
        $text = $lines -join "`n"
        $text | Should -Match '1\.500 +ProtoRpc 1\.2\.3 +Catalog, Orders'
        ($lines[2..9].ForEach{ $_.PadRight(80).Substring(0, 29).Trim() } -join '') |
            Should -Be 'grpcs://shop.production.eu-west-1.example.com:443' -Because 'a long endpoint is wrapped and not cut'
        $ping | Format-List | Out-String -Width 200 | Should -Match 'Uptime +: 1\.02:03:04\s+Services +: shop\.catalog\.v1\.Catalog, shop\.orders\.v1\.Orders'
    }

    It 'show usual pings in one line each' {
        $endpoint = [ProtoRpc.RpcEndpoint]::Parse('ncacn_ip_tcp:127.0.0.1[38695]')
        $good = [ProtoRpc.RpcPingResult]::new(
            $endpoint, [timespan]::FromMilliseconds(1234.5), 'ProtoRpc', '0.1.0', [string[]] 'ProtoService.SearchService', '1.02:03:04')
        # Nothing listens on port 1.
        $bad = Test-RpcEndpoint 'ncacn_ip_tcp:127.0.0.1[1]' -ErrorAction SilentlyContinue
        $bad.Error | Should -Not -BeNullOrEmpty

        $lines = Show ($good, $bad)
        $lines | Should -HaveCount 4
        $lines[2] | Should -Match '^ncacn_ip_tcp:127\.0\.0\.1\[38695\] +123[45] +ProtoRpc 0\.1\.0 +SearchService$'
        $lines[3] | Should -Match 'Failed +Unavailable$'
    }

    It 'show the text of an error in a list, and not its stack' {
        $row = Test-RpcEndpoint 'ncalrpc:[NobodyIsHere]' -ErrorAction SilentlyContinue
        $lines = Show ($row | Format-List)

        $lines -match '^Error +: ' | Should -HaveCount 1
        $lines.Count | Should -BeLessThan 12
        $lines -match '^\s+at ' | Should -BeNullOrEmpty
    }

    It 'are cells of a CSV file with the texts of lists' {
        $ping = [ProtoRpc.RpcPingResult]::new('inproc://x', [timespan]::Zero, '', '', [string[]] ('a.B', 'c.D'), $null)

        ($ping | ConvertTo-Csv | ConvertFrom-Csv).Services | Should -Be 'a.B, c.D'
    }

    It 'show name, endpoint, tags and schema of a registered endpoint' {
        $env:PROTORPC_ENDPOINTS = Join-Path $TestDrive endpoints.json
        Register-RpcEndpoint shop-eu 'grpc://shop.example.com:443' -Tag prod, eu -Schema (Join-Path $TestProtos greeter.proto)

        $lines = Show (Get-RpcEndpoint)
        $lines[0] | Should -Match '^Name +Endpoint +Tag +Schema$'
        $lines[2] | Should -Match '^shop-eu +grpc://shop\.example\.com:443 +prod, eu +greeter\.proto$'
    }

    It 'show more than a few letters of the reply or the error of a call' {
        $listener = Start-TestListener { throw [ProtoRpc.RpcException]::new('FailedPrecondition', 'The shop is closed.') }
        $rpc = Connect-Test $listener

        $lines = Show (Invoke-RpcMethod SayHello -Connection $rpc -PassThruResult)
        $lines[-1] | Should -Match 'FailedPrecondition +[\d.]+ The shop is closed\.$'
    }
}

Describe 'The views of what came from a job' {
    BeforeAll {
        $mock = New-RpcMock (Join-Path $TestProtos greeter.proto) -Service demo.Greeter -Endpoint "ncalrpc:[$(New-TestName)]" -Reply @{
            SayHello = { param($Request) $Request.name -eq 'Bob' ? $(throw [ProtoRpc.RpcException]::new('NotFound', 'no Bob')) : @{ text = 'hi' } }
        }
        $endpoint = "$($mock.Endpoint[0])"
        $output = Start-Job {
            Import-Module $using:ModuleManifest
            $schema = Import-RpcSchema (Join-Path $using:TestProtos greeter.proto)
            $call = @{ Endpoint = $using:endpoint; Schema = $schema; Service = 'demo.Greeter' }
            $rpc = Connect-RpcEndpoint @call
            Measure-RpcEndpoint SayHello @{ name = 'Ann' } -Connection $rpc -Count 5 -Histogram
            Measure-RpcEndpoint SayHello @{ name = 'Bob' } -Connection $rpc -Count 5 -ErrorAction SilentlyContinue
            Invoke-RpcMethod SayHello @{ name = 'Ann' } -Connection $rpc -PassThruResult
            Invoke-RpcMethod SayHello @{ name = 'Bob' } -Connection $rpc -PassThruResult
            $own = New-RpcMock $schema -Service demo.Greeter -Reply @{ SayHello = @{ text = 'hi' } }
            $null = Invoke-RpcMethod SayHello @{ name = 'Eve' } -Connection $own.Connection
            Get-RpcMockCall $own
        } | Complete-Job

        function Show($Value) { ($Value | Out-String -Width 80) -replace '\e\[[\d;]*m' }
    }

    AfterAll {
        Get-Job | Remove-Job -Force
        Clear-Test
    }

    It 'are the whole report of a load test' {
        $text = Show $output[0]
        $text | Should -Match '(?m)^  Calls +5, 0 failed'
        $text | Should -Match '(?m)^  Latency +min '
        $text | Should -Match '(?m)^  [\d.]+ .s - .*#'
        Show $output[1] | Should -Match '(?m)^  Failed +5 NotFound, first: no Bob'
    }

    It 'are the rows of calls and of a mock' {
        Show $output[2] | Should -Match '(?m)^ncalrpc\S+ +OK +[\d.]+ {"text":"hi"'
        Show $output[3] | Should -Match '(?m)^ncalrpc\S+ +NotFound +[\d.]+ no Bob'
        Show $output[2, 3] | Should -Not -Match 'Summary|running'
        $list = Show ($output[3] | Format-List)
        $list | Should -Match '(?m)^Error +: no Bob'
        $list | Should -Not -Match '(?m)^\s+at |StackTrace'
        Show ($output[0] | Format-List) | Should -Match '^\s*Name +: '
        Show ($output[0] | Format-List) | Should -Not -Match '@report'
        Show $output[4] | Should -Match '(?m)^\d\d:\d\d:\d\d SayHello +OK +[\d.]+ {"name":"Eve"'
    }
}
