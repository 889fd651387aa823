. (Join-Path $PSScriptRoot common.ps1)

Describe '-Schema' {
    BeforeAll {
        $greet = { param($Request) @{ text = "hi $($Request.name)" } }
        $guard = { param($Token) $Token -eq 'secret' ? 'bob' : $null }
        $token = ConvertTo-SecureString 'secret' -AsPlainText -Force

        $key = [System.Security.Cryptography.ECDsa]::Create()
        $request = [System.Security.Cryptography.X509Certificates.CertificateRequest]::new(
            'CN=localhost', $key, 'SHA256')
        $names = [System.Security.Cryptography.X509Certificates.SubjectAlternativeNameBuilder]::new()
        $names.AddIpAddress('127.0.0.1')
        $request.CertificateExtensions.Add($names.Build())
        $certificate = $request.CreateSelfSigned((Get-Date).AddDays(-1), (Get-Date).AddDays(1))
        $pem = Join-Path $TestDrive ca.pem
        $pfx = Join-Path $TestDrive server.pfx
        [IO.File]::WriteAllText($pem, $certificate.ExportCertificatePem())
        [IO.File]::WriteAllBytes($pfx, $certificate.Export('Pfx'))

        $listener = Start-TestListener @{ SayHello = $greet } -Endpoint 'grpc://127.0.0.1:0', 'http://127.0.0.1:0/'
        $guarded = Start-TestListener @{ SayHello = $greet } -Endpoint 'grpcs://127.0.0.1:0', 'https://127.0.0.1:0/' -With @{
            Certificate = $pfx
            BearerCheck = $guard
        }
        $plain = Start-TestListener @{ SayHello = $greet } -Endpoint 'grpc://127.0.0.1:0' -With @{ ListenerOption = @{ NoReflection = $true } }
        $grpc = $listener.Endpoint[0].ToString()
        $proto = "$($listener.Endpoint[1])greeter.proto"
        $grpcs = $guarded.Endpoint[0].ToString()
        $set = Join-Path $TestDrive greeter.pb
        $listener.Schema | Export-RpcSchema $set
    }

    AfterAll { Clear-Test }

    It 'takes <Kind> in every cmdlet' -ForEach @(
        @{ Kind = 'an endpoint'; Source = { $grpc } }
        @{ Kind = 'an endpoint object'; Source = { $listener.Endpoint[0] } }
        @{ Kind = 'the address of a file'; Source = { $proto } }
        @{ Kind = 'the address of a file as a URI'; Source = { [uri] $proto } }
        @{ Kind = 'a descriptor set'; Source = { $set } }
        @{ Kind = 'a hashtable'; Source = { @{ Endpoint = $grpcs; ConnectionOption = @{ Token = $token; CACertificate = $pem } } } }
        @{ Kind = 'a hashtable with a path'; Source = { @{ Path = $set } } }
    ) {
        $source = & $Source

        (Get-RpcService -Schema $source).FullName | Should -Contain 'demo.Greeter'
        (Get-RpcMethod -Schema $source).FullName | Should -Contain 'demo.Greeter/SayHello'
        (Get-RpcMessageType -Schema $source).FullName | Should -Contain 'demo.HelloRequest'
        (New-RpcMessage -Schema $source demo.HelloRequest).Keys | Should -Contain 'name'
        $bytes = ConvertTo-RpcMessage -Schema $source demo.HelloRequest @{ name = 'Ann' }
        (ConvertFrom-RpcMessage -Schema $source demo.HelloRequest $bytes).name | Should -Be 'Ann'
        $file = Join-Path $TestDrive "$(New-TestName).pb"
        Export-RpcSchema $file -Schema $source
        (Import-RpcSchema $file).Services.FullName | Should -Contain 'demo.Greeter'
        $again = Start-TestListener @{ SayHello = $greet } -With @{ Schema = $source }
        $rpc = Connect-RpcEndpoint $again.Endpoint[0] -Schema $source -Service demo.Greeter
        ($rpc | Invoke-RpcMethod SayHello @{ name = 'Ann' }).text | Should -Be 'hi Ann'
        (Test-RpcEndpoint $again.Endpoint[0] -Schema $source -Service demo.Greeter).Services |
            Should -Contain 'demo.Greeter'
        Wait-RpcEndpoint $again.Endpoint[0] -Schema $source -Service demo.Greeter -Timeout 5
    }

    It 'takes a folder' {
        $folder = New-Item -ItemType Directory (Join-Path $TestDrive folder)
        Copy-Item (Join-Path $TestProtos greeter.proto) $folder

        (Get-RpcService -Schema $folder).FullName | Should -Contain 'demo.Greeter'
        (Get-RpcService -Schema $folder.FullName).FullName | Should -Contain 'demo.Greeter'
    }

    It 'takes files and folders whose names have brackets, one or several' {
        $folder = New-Item -ItemType Directory (Join-Path $TestDrive 'v[1]')
        foreach ($name in 'greeter', 'words') {
            [IO.File]::Copy((Join-Path $TestProtos "$name.proto"), "$folder/$name.proto")
        }
        $files = [IO.DirectoryInfo]::new($folder).GetFiles()

        (Get-RpcService -Schema $files[0]).FullName | Should -Not -BeNullOrEmpty
        foreach ($list in $files, @(Get-ChildItem -LiteralPath $folder), @($folder)) {
            $source = [ProtoRpc.RpcSchemaSource] $list
            (Get-RpcService -Schema $source).FullName | Should -Contain 'demo.Greeter'
        }
    }

    It 'reads the schema from the host that is called as the same user' {
        $to = @{ CACertificate = $pem; Token = $token; Service = 'demo.Greeter' }

        $rpc = Connect-RpcEndpoint $guarded.Endpoint[1] -Schema $grpcs @to

        ($rpc | Invoke-RpcMethod SayHello @{ name = 'Ann' }).text | Should -Be 'hi Ann'
    }

    It 'gives no credential to another host' {
        $other = $grpcs -replace '127\.0\.0\.1', 'localhost'

        { Connect-RpcEndpoint $guarded.Endpoint[1] -Schema $other -Token $token -CACertificate $pem -ErrorAction Stop } |
            Should -Throw -ErrorId 'RpcStatus.Unauthenticated,*'
        { Get-RpcService -Schema $grpcs -ErrorAction Stop } | Should -Throw -ErrorId 'CertificateNotTrusted,*'
        { Get-RpcService -Schema @{ Endpoint = $grpcs; ConnectionOption = @{ CACertificate = $pem } } -ErrorAction Stop } |
            Should -Throw -ErrorId 'RpcStatus.Unauthenticated,*'
        { Get-RpcService -Schema @{ Endpoint = $grpcs; CACertificate = $pem } -ErrorAction Stop } |
            Should -Throw -ErrorId 'InvalidSchemaSource,*' -ExpectedMessage "*'CACertificate'*ConnectionOption*"
    }

    It 'says why a server does not tell' {
        { Get-RpcService -Schema $plain.Endpoint[0] -ErrorAction Stop } |
            Should -Throw -ErrorId 'NoReflection,*'
    }

    It 'says what a hashtable takes' {
        { Get-RpcService -Schema @{ Endpont = $grpc } -ErrorAction Stop } |
            Should -Throw -ErrorId 'InvalidSchemaSource,*' -ExpectedMessage '*Import-RpcSchema*Endpont*'
    }

    It 'is given by Import-RpcSchema -Endpoint, too' {
        (Import-RpcSchema -Endpoint $grpcs -ConnectionOption @{ Token = $token; CACertificate = $pem }).Services.FullName |
            Should -Contain 'demo.Greeter'
        (Import-RpcSchema -Endpoint $proto).Services.FullName | Should -Contain 'demo.Greeter'
        (Import-RpcSchema $grpc).Services.FullName | Should -Contain 'demo.Greeter'
    }

    It 'is a list of files, in every cmdlet that takes a schema' {
        $files = "$PSScriptRoot/../../protos/search.proto", "$PSScriptRoot/../../protos/sample.proto"

        (Get-RpcService -Schema $files).FullName | Should -Be 'ProtoService.SearchService', 'Sample.MyService'
        (Get-RpcMethod -Schema ([string[]]$files)).Name | Should -Be 'Search', 'Send'
        (New-RpcMessage MyRequest -Schema ([Collections.Generic.List[string]]$files)).Keys |
            Should -Contain 'message'
        $mock = New-RpcMock $files -Service Sample.MyService
        try {
            $null = Invoke-RpcMethod Send @{ message = 'x' } -Endpoint $mock.Endpoint -Schema $files
            (Get-RpcMockCall $mock Send).Request.message | Should -BeExactly 'x'
        }
        finally {
            Stop-RpcListener $mock
            Disconnect-RpcEndpoint -Pooled
        }
    }
}
