. (Join-Path $PSScriptRoot common.ps1)

BeforeDiscovery {
    $forms = @(
        'a certificate', 'a PFX file', 'a PEM file', 'a relative path', 'a file object', 'a thumbprint'
        'a SHA-256 thumbprint', 'a thumbprint with colons'
    ) | ForEach-Object { @{ Form = $_ } }
}

Describe 'Certificate parameters' {
    BeforeAll {
        $key = [Security.Cryptography.ECDsa]::Create(
            [Security.Cryptography.ECCurve]::CreateFromFriendlyName('nistP256'))
        $request = [Security.Cryptography.X509Certificates.CertificateRequest]::new('CN=127.0.0.1', $key, 'SHA256')
        $names = [Security.Cryptography.X509Certificates.SubjectAlternativeNameBuilder]::new()
        $names.AddIpAddress([ipaddress]::Loopback)
        $request.CertificateExtensions.Add($names.Build())
        $signed = $request.CreateSelfSigned([datetimeoffset]::Now.AddDays(-1), [datetimeoffset]::Now.AddDays(1))
        $certificate = [Security.Cryptography.X509Certificates.X509CertificateLoader]::LoadPkcs12(
            $signed.Export('Pkcs12'), $null, 'Exportable, PersistKeySet')
        $store = [Security.Cryptography.X509Certificates.X509Store]::new('My', 'CurrentUser', 'ReadWrite')
        $store.Add($certificate)

        $secret = ConvertTo-SecureString 'hush' -AsPlainText -Force
        $parameters = [Security.Cryptography.PbeParameters]::new('Aes256Cbc', 'SHA256', 1000)
        $file = @{}
        'key.pfx', 'locked.pfx', 'key.pem', 'locked.pem', 'bare.pem', 'bare.cer', 'none.txt' |
            ForEach-Object { $file[$_] = Join-Path $TestDrive $_ }
        [IO.File]::WriteAllBytes($file['key.pfx'], $certificate.Export('Pfx'))
        [IO.File]::WriteAllBytes($file['locked.pfx'], $certificate.Export('Pfx', 'hush'))
        [IO.File]::WriteAllBytes($file['bare.cer'], $certificate.Export('Cert'))
        $pem = $certificate.ExportCertificatePem()
        Set-Content -LiteralPath $file['bare.pem'] $pem
        Set-Content -LiteralPath $file['key.pem'] $pem, $key.ExportPkcs8PrivateKeyPem()
        Set-Content -LiteralPath $file['locked.pem'] $pem, $key.ExportEncryptedPkcs8PrivateKeyPem('hush', $parameters)
        Set-Content -LiteralPath $file['none.txt'] 'nothing'

        # A root, an authority below it, and what that one signed.
        $curve = [Security.Cryptography.ECCurve]::CreateFromFriendlyName('nistP256')
        $begin, $end = [datetimeoffset]::Now.AddHours(-1), [datetimeoffset]::Now.AddHours(1)
        $root, $middle, $leaf = foreach ($name in 'CN=root', 'CN=middle', 'CN=127.0.0.1') {
            $nextKey = [Security.Cryptography.ECDsa]::Create($curve)
            $next = [Security.Cryptography.X509Certificates.CertificateRequest]::new($name, $nextKey, 'SHA256')
            $isAuthority = $name -ne 'CN=127.0.0.1'
            $next.CertificateExtensions.Add(
                [Security.Cryptography.X509Certificates.X509BasicConstraintsExtension]::new(
                    $isAuthority, $false, 0, $true))
            if (-not $isAuthority) {
                $next.CertificateExtensions.Add($names.Build())
            }
            $issuer = if ($issuer) {
                [Security.Cryptography.X509Certificates.ECDsaCertificateExtensions]::CopyWithPrivateKey(
                    $next.Create($issuer, $begin, $end, [guid]::NewGuid().ToByteArray()), $nextKey)
            }
            else {
                $next.CreateSelfSigned($begin, $end)
            }
            $issuer
        }
        'chain.pem', 'chain.pfx' | ForEach-Object { $file[$_] = Join-Path $TestDrive $_ }
        Set-Content -LiteralPath $file['chain.pem'] $leaf.ExportCertificatePem(), $middle.ExportCertificatePem(),
            $nextKey.ExportPkcs8PrivateKeyPem()
        $bare = [Security.Cryptography.X509Certificates.X509CertificateLoader]::LoadCertificate($middle.RawData)
        [IO.File]::WriteAllBytes($file['chain.pfx'],
            [Security.Cryptography.X509Certificates.X509Certificate2Collection]::new(@($leaf, $bare)).Export('Pfx'))

        function Get-As([string] $Form) {
            switch ($Form) {
                'a certificate' { , $certificate }
                'a PFX file' { $file['key.pfx'] }
                'a PEM file' { $file['key.pem'] }
                'a relative path' { './key.pfx' }
                'a file object' { Get-Item -LiteralPath $file['key.pem'] }
                'a thumbprint' { $certificate.Thumbprint }
                'a thumbprint with colons' { $certificate.Thumbprint -replace '..(?!$)', '$&:' }
                'a SHA-256 thumbprint' { $certificate.GetCertHashString('SHA256').ToLowerInvariant() }
            }
        }

        function Start-Tcp([hashtable] $With) {
            Start-TestListener { @{ text = 'hi' } } -Endpoint 'tcp://127.0.0.1:0' -With $With
        }

        function Get-To($Listener) {
            @{ Endpoint = $Listener.Endpoint[0]; Schema = $Listener.Schema; Service = 'demo.Greeter' }
        }

        # Nothing listens there: they are refused before anything is connected.
        $nowhere = @{
            Endpoint = 'https://127.0.0.1:1/'
            Schema = Join-Path $TestProtos greeter.proto
            Service = 'demo.Greeter'
        }

        Push-Location $TestDrive
    }

    AfterAll {
        Pop-Location
        $store.Remove($certificate)
        $store.Dispose()
        Clear-Test
    }

    It 'take <Form>, for TLS on TCP and as authority' -ForEach $forms {
        $to = Get-To (Start-Tcp @{ Tls = $true; Certificate = Get-As $Form })

        (Connect-RpcEndpoint @to -ConnectionOption @{ Tls = $true } -CACertificate (Get-As $Form) | Invoke-RpcMethod SayHello).text | Should -Be 'hi'
    }

    It 'take <Form>, for HTTPS and of callers' -ForEach $forms {
        $to = Get-To (Start-TestListener { @{ text = $RpcContext.User.Name } } -Endpoint 'https://127.0.0.1:0/' -With @{
                Certificate = Get-As $Form
                CertificateCheck = { param($Certificate) $Certificate.Subject }
            })
        $as = @{ CACertificate = Get-As $Form; ClientCertificate = Get-As $Form }

        (Connect-RpcEndpoint @to @as | Invoke-RpcMethod SayHello).text | Should -Be 'CN=127.0.0.1'
    }

    It 'take a <_> as authority, which needs no key' -ForEach 'bare.pem', 'bare.cer' {
        $to = Get-To (Start-Tcp @{ Tls = $true; Certificate = $certificate })

        (Connect-RpcEndpoint @to -ConnectionOption @{ Tls = $true } -CACertificate $file[$_] | Invoke-RpcMethod SayHello).text | Should -Be 'hi'
    }

    It 'take a <_> with its password' -ForEach 'locked.pfx', 'locked.pem' {
        $to = Get-To (Start-Tcp @{ Tls = $true; Certificate = $file[$_]; ListenerOption = @{ CertificatePassword = $secret } })
        $https = Get-To (Start-TestListener { @{ text = 'hi' } } -Endpoint 'https://127.0.0.1:0/' -With @{
                Certificate = $file[$_]; ListenerOption = New-RpcListenerOption -CertificatePassword $secret
            })

        (Connect-RpcEndpoint @to -ConnectionOption @{ Tls = $true } -CACertificate $certificate | Invoke-RpcMethod SayHello).text | Should -Be 'hi'
        (Connect-RpcEndpoint @https -CACertificate $certificate | Invoke-RpcMethod SayHello).text | Should -Be 'hi'
        { Start-Tcp @{ Tls = $true; Certificate = $file[$_] } } |
            Should -Throw -ErrorId 'InvalidCertificate,*' -ExpectedMessage '*password*'
    }

    It 'take one for TLS on TCP and for HTTPS, and a password that it does not need' {
        $listener = Start-TestListener { @{ text = 'hi' } } -Endpoint 'tcp://127.0.0.1:0', 'https://127.0.0.1:0/' -With @{
            Tls = $true; Certificate = $file['key.pem']; ListenerOption = @{ CertificatePassword = $secret }
        }
        $to = @{ Schema = $listener.Schema; Service = 'demo.Greeter'; CACertificate = $certificate }

        foreach ($rpc in @(
                Connect-RpcEndpoint $listener.Endpoint[0] -ConnectionOption @{ Tls = $true } @to
                Connect-RpcEndpoint $listener.Endpoint[1] @to)) {
            ($rpc | Invoke-RpcMethod SayHello).text | Should -Be 'hi'
        }
    }

    It 'leave endpoints on TCP without TLS unless -Tls asks for it' {
        $listener = Start-TestListener { @{ text = 'hi' } } -Endpoint 'tcp://127.0.0.1:0', 'https://127.0.0.1:0/' -With @{
            Certificate = $file['key.pem']
        }

        (Connect-RpcEndpoint $listener.Endpoint[0] -Schema $listener.Schema -Service demo.Greeter |
            Invoke-RpcMethod SayHello).text | Should -Be 'hi'
    }

    It 'say that there is no certificate <_>' -ForEach './nowhere.pfx', ('0' * 40), ('f' * 64), 'nodrive:/key.pfx' {
        $id = @{ ErrorId = 'CertificateNotFound,*'; ExpectedMessage = "*'$_'*" }

        { Start-Tcp @{ Tls = $true; Certificate = $_ } } | Should -Throw @id
        { Start-TestListener { } -Endpoint 'https://127.0.0.1:0/' -With @{ Certificate = $_ } } | Should -Throw @id
        { Connect-RpcEndpoint @nowhere -CACertificate $_ -ErrorAction Stop } | Should -Throw @id
        { Connect-RpcEndpoint @nowhere -ClientCertificate $_ -ErrorAction Stop } | Should -Throw @id
    }

    It 'say that <_> has no private key' -ForEach 'bare.pem', 'bare.cer' {
        $id = @{
            ErrorId = 'InvalidCertificate,*'
            ExpectedMessage = "*$_' cannot be used as a certificate: it has no private key*"
        }

        { Start-Tcp @{ Tls = $true; Certificate = $file[$_] } } | Should -Throw @id
        { Start-TestListener { } -Endpoint 'https://127.0.0.1:0/' -With @{ Certificate = $file[$_] } } |
            Should -Throw @id
        { Connect-RpcEndpoint @nowhere -ClientCertificate $file[$_] -ErrorAction Stop } | Should -Throw @id
    }

    It 'show the authorities that a <_> holds beside the certificate' -ForEach 'chain.pem', 'chain.pfx' {
        $to = Get-To (Start-Tcp @{ Tls = $true; Certificate = $file[$_] })
        $https = Get-To (Start-TestListener { @{ text = 'hi' } } -Endpoint 'https://127.0.0.1:0/' -With @{
                Certificate = $file[$_]
            })

        (Connect-RpcEndpoint @to -ConnectionOption @{ Tls = $true } -CACertificate $root | Invoke-RpcMethod SayHello).text | Should -Be 'hi'
        (Connect-RpcEndpoint @https -CACertificate $root | Invoke-RpcMethod SayHello).text | Should -Be 'hi'
    }

    It 'say how a <_> with a password is read' -ForEach 'locked.pfx' {
        { Connect-RpcEndpoint grpcs://127.0.0.1:1 -ClientCertificate $file[$_] -ErrorAction Stop } |
            Should -Throw -ErrorId 'InvalidCertificate,*' -ExpectedMessage '*password is missing or wrong. Read the file with Get-PfxCertificate*'
    }

    It 'say that a path is empty' {
        { Start-Tcp @{ Tls = $true; Certificate = '' } } |
            Should -Throw -ErrorId 'InvalidCertificate,*' -ExpectedMessage '*the path is empty*'
    }

    It 'say that a file holds none' {
        { Connect-RpcEndpoint @nowhere -CACertificate $file['none.txt'] -ErrorAction Stop } |
            Should -Throw -ErrorId 'InvalidCertificate,*' -ExpectedMessage '*none.txt*'
        { Connect-RpcEndpoint @nowhere -ClientCertificate $file['none.txt'] -ErrorAction Stop } |
            Should -Throw -ErrorId 'InvalidCertificate,*' -ExpectedMessage '*none.txt*'
    }
}
