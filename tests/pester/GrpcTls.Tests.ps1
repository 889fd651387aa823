. (Join-Path $PSScriptRoot common.ps1)

Describe 'gRPC endpoints with TLS' {
    BeforeAll {
        # A certificate with its key, by an authority or by itself, and its PEM files in TestDrive.
        function New-Certificate($Name, $Issuer) {
            $key = [Security.Cryptography.RSA]::Create(2048)
            $request = [Security.Cryptography.X509Certificates.CertificateRequest]::new(
                "CN=$Name", $key, 'SHA256', [Security.Cryptography.RSASignaturePadding]::Pkcs1)
            $names = [Security.Cryptography.X509Certificates.SubjectAlternativeNameBuilder]::new()
            $names.AddDnsName($Name)
            $request.CertificateExtensions.Add($names.Build())
            $request.CertificateExtensions.Add(
                [Security.Cryptography.X509Certificates.X509BasicConstraintsExtension]::new(
                    -not $Issuer, $false, 0, $true))
            $now = [DateTimeOffset]::UtcNow
            $from = $Issuer ? $Issuer.NotBefore : $now.AddHours(-1)
            $to = $Issuer ? $Issuer.NotAfter : $now.AddHours(1)
            $certificate = $Issuer ?
                $request.Create($Issuer, $from, $to, [guid]::NewGuid().ToByteArray()) :
                $request.CreateSelfSigned($from, $to)
            Set-Content "TestDrive:/$Name.pem" (
                $certificate.ExportCertificatePem() + "`n" + $key.ExportPkcs8PrivateKeyPem())
            $certificate.HasPrivateKey ? $certificate :
                [Security.Cryptography.X509Certificates.RSACertificateExtensions]::CopyWithPrivateKey(
                    $certificate, $key)
        }

        function Get-PemPath($Name) { (Resolve-Path "TestDrive:/$Name.pem").ProviderPath }

        $authority = New-Certificate 'authority.test'
        $null = New-Certificate 'rpc.test' $authority
        $null = New-Certificate 'caller.test' $authority
        $null = New-Certificate 'stranger.test'

        $proto = Join-Path $TestProtos words.proto
        $handler = @{ Say = { @{ text = "$($RpcContext.User.Name) said $($Request.text)" } } }
        $listener = Start-RpcListener -Schema $proto -Endpoint grpcs://127.0.0.1:0 -Handler $handler `
            -Certificate (Get-PemPath 'rpc.test') -CertificateCheck {
            param($Certificate) if ($Certificate.Subject -eq 'CN=caller.test') { 'ann' }
        }
        $plain = Start-RpcListener -Schema $proto -Endpoint grpc://127.0.0.1:0 -Handler $handler
        $to = @{ Endpoint = $listener.Endpoint[0]; Schema = $proto; CACertificate = Get-PemPath 'authority.test' }
        $called = @{ Method = 'Say'; Message = @{ text = 'hi' }; ErrorAction = 'Stop' }
    }

    AfterAll { Clear-Test }

    It 'are called with an authority, a name and a certificate of our own' {
        $rpc = Connect-RpcEndpoint @to -ConnectionOption @{ ServerName = 'rpc.test' } -ClientCertificate (Get-PemPath 'caller.test')

        (Invoke-RpcMethod @called -Connection $rpc).text | Should -Be 'ann said hi'
    }

    It 'refuse callers without a certificate, or with one that they do not know' {
        $nobody = Connect-RpcEndpoint @to -ConnectionOption @{ ServerName = 'rpc.test' }
        $stranger = Connect-RpcEndpoint @to -ConnectionOption @{ ServerName = 'rpc.test' } -ClientCertificate (Get-PemPath 'stranger.test')

        { Invoke-RpcMethod @called -Connection $nobody } | Should -Throw -ErrorId 'RpcStatus.Unauthenticated,*'
        { Invoke-RpcMethod @called -Connection $stranger } | Should -Throw -ErrorId 'RpcStatus.Unauthenticated,*'
    }

    It 'are refused by another name, and by an authority that is not asked for' {
        { Connect-RpcEndpoint @to -ErrorAction Stop } |
            Should -Throw -ErrorId 'CertificateNotTrusted,*' -ExpectedMessage '*another name (CN=rpc.test)*'
        Connect-RpcEndpoint @to -ErrorAction SilentlyContinue -ErrorVariable shown
        "$shown" | Should -BeLike '*Set ServerName of*with -SkipCertificateCheck.*'
        Test-RpcEndpoint $listener.Endpoint[0] -ErrorAction SilentlyContinue -ErrorVariable other
        "$other" | Should -BeLike '*CACertificate of -ConnectionOption*'
        { Connect-RpcEndpoint $listener.Endpoint[0] -Schema $proto -ConnectionOption @{ ServerName = 'rpc.test' } -ErrorAction Stop } |
            Should -Throw -ErrorId 'CertificateNotTrusted,*'
        { Connect-RpcEndpoint $listener.Endpoint[0] -Schema $proto -ConnectionOption @{ ServerName = 'rpc.test' } `
            -CACertificate (Get-PemPath 'stranger.test') -ErrorAction Stop } |
            Should -Throw -ErrorId 'CertificateNotTrusted,*'
    }

    It 'are told at once from those without' {
        $watch = [Diagnostics.Stopwatch]::StartNew()

        {
            Connect-RpcEndpoint ($listener.Endpoint[0] -replace '^grpcs', 'grpc') -Schema $proto -ErrorAction Stop |
                Invoke-RpcMethod @called
        } | Should -Throw -ErrorId 'WrongProtocol,*' -ExpectedMessage '*it speaks TLS. Use grpcs://*'
        { Connect-RpcEndpoint ($plain.Endpoint[0] -replace '^grpc', 'grpcs') -Schema $proto `
            -SkipCertificateCheck -ErrorAction Stop } |
            Should -Throw -ErrorId 'WrongProtocol,*' -ExpectedMessage '*without TLS. Use grpc://*'

        $watch.Elapsed.TotalSeconds | Should -BeLessThan 5
    }
}
