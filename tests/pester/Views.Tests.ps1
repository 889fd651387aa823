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
            Should -Match '(?m)^\d\d:\d\d:\d\d demo.Greeter/SayHello +OK +[\d.]+ .*Ann'
    }
}
