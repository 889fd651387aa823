. (Join-Path $PSScriptRoot common.ps1)

Describe 'Client certificates of an authority' {
    BeforeAll {
        # Makes a certificate file with its key: issued by an authority, or self-signed as one.
        function New-CertificateFile($Name, $Issuer, $From = -1, $To = 1) {
            $key = [Security.Cryptography.RSA]::Create(2048)
            $request = [Security.Cryptography.X509Certificates.CertificateRequest]::new(
                "CN=$Name", $key, 'SHA256', [Security.Cryptography.RSASignaturePadding]::Pkcs1)
            $names = [Security.Cryptography.X509Certificates.SubjectAlternativeNameBuilder]::new()
            $names.AddDnsName($Name)
            $names.AddIpAddress('127.0.0.1')
            $request.CertificateExtensions.Add($names.Build())
            $request.CertificateExtensions.Add(
                [Security.Cryptography.X509Certificates.X509BasicConstraintsExtension]::new(
                    -not $Issuer, $false, 0, $true))
            $now = [DateTimeOffset]::UtcNow
            $certificate = $Issuer ?
                $request.Create($Issuer, $now.AddDays($From), $now.AddDays($To), [guid]::NewGuid().ToByteArray()) :
                $request.CreateSelfSigned($now.AddDays(-10), $now.AddDays(10))
            $file = Join-Path $TestDrive "$(New-TestName).pem"
            Set-Content $file ($certificate.ExportCertificatePem() + "`n" + $key.ExportPkcs8PrivateKeyPem())
            [pscustomobject]@{ File = $file; Certificate = $certificate }
        }

        $authority = New-CertificateFile 'authority.test'
        $own = New-CertificateFile 'localhost' $authority.Certificate
        $files = @{
            right = (New-CertificateFile 'ann' $authority.Certificate).File
            other = (New-CertificateFile 'bob' $authority.Certificate).File
            foreign = (New-CertificateFile 'ann' (New-CertificateFile 'authority.test').Certificate).File
            expired = (New-CertificateFile 'ann' $authority.Certificate -5 -2).File
            authority = $authority.File
        }
        $handler = @{ SayHello = { @{ text = "$($RpcContext.User.Name) by $($RpcContext.AuthenticationType)" } } }
        $endpoints = 'https://127.0.0.1:0/', 'grpcs://127.0.0.1:0'
        $option = @{ ClientCACertificate = $authority.File }
        $listener = Start-TestListener $handler -Endpoint $endpoints -With @{
            Certificate = $own.File; ListenerOption = $option
        }
        $checked = Start-TestListener $handler -Endpoint $endpoints -With @{
            Certificate = $own.File; ListenerOption = New-RpcListenerOption @option
            CertificateCheck = {
                param($Certificate)
                if ($Certificate.GetNameInfo('SimpleName', $false) -eq 'bob') { Get-NoSuchCaller }
                "checked $($Certificate.Subject)"
            }
        }

        function Get-Answer($Endpoint, $Name, $With = @{}) {
            if ($Name -ne 'none') { $With += @{ ClientCertificate = $files[$Name] } }
            $reply = Invoke-RpcMethod SayHello @{} -Endpoint $Endpoint -Schema $listener.Schema -Service demo.Greeter `
                -CACertificate $authority.File @With -ErrorAction SilentlyContinue -ErrorVariable failed
            $failed ? "$($failed[0])" : $reply.text
        }
    }

    AfterAll {
        Disconnect-RpcEndpoint -Pooled
        Clear-Test
    }

    It 'are callers with their common names on <_>' -ForEach 'https', 'grpcs' {
        $index = $_ -eq 'https' ? 0 : 1

        Get-Answer $listener.Endpoint[$index] right | Should -Be 'ann by Certificate'
        Get-Answer $listener.Endpoint[$index] other | Should -Be 'bob by Certificate'
    }

    It 'are rejected if they are <Name>, on <Scheme>' -ForEach @(
        foreach ($scheme in 'https', 'grpcs') {
            foreach ($name in 'foreign', 'expired', 'authority', 'none') { @{ Name = $name; Scheme = $scheme } }
        }
    ) {
        $index = $Scheme -eq 'https' ? 0 : 1
        $expected = @{
            none = '*requires authentication: a client certificate. (*) To authenticate, use -ClientCertificate.'
            authority = '*certificate authority*'
        }

        foreach ($one in $listener, $checked) {
            Get-Answer $one.Endpoint[$index] $Name | Should -BeLike ($expected[$Name] ?? '*not accepted. (*)')
        }
        Receive-RpcListener $checked 2>&1 | Should -BeNullOrEmpty
    }

    It 'are checked by the script block after the authority, on <_>' -ForEach 'https', 'grpcs' {
        $index = $_ -eq 'https' ? 0 : 1

        Get-Answer $checked.Endpoint[$index] right | Should -Be 'checked CN=ann by Certificate'
        Get-Answer $checked.Endpoint[$index] other | Should -BeLike '*not accepted. (*)'
        "$(Receive-RpcListener $checked 2>&1)" | Should -BeLike '*CertificateCheck failed for CN=bob*Get-NoSuchCaller*line*'
    }

    It 'advise nothing else to a caller with a token' {
        $token = ConvertTo-SecureString wrong -AsPlainText

        foreach ($endpoint in $listener.Endpoint) {
            Get-Answer $endpoint none @{ Token = $token } |
                Should -BeLike '*not accepted. (*) To authenticate, use -ClientCertificate.'
            Get-Answer $endpoint foreign | Should -Not -BeLike '*To authenticate*'
        }
    }

    It 'need an endpoint with TLS, and a file that is there' {
        { Start-TestListener $handler -Endpoint http://127.0.0.1:0/ -With @{ ListenerOption = $option } } |
            Should -Throw -ErrorId 'ParameterNotSupported,*' -ExpectedMessage 'ClientCACertificate of -ListenerOption*'
        { Start-TestListener $handler -Endpoint $endpoints -With @{
                Certificate = $own.File; ListenerOption = @{ ClientCACertificate = Join-Path $TestDrive none.pem } } } |
            Should -Throw -ErrorId 'CertificateNotFound,*'
    }

    It 'do not protect a native endpoint of the same listener' {
        { Start-TestListener $handler -Endpoint ($endpoints + 'tcp://127.0.0.1:0') -With @{
                Certificate = $own.File; ListenerOption = $option } } | Should -Throw -ErrorId 'UncheckedEndpoint,*'
    }

    It 'are completed as a setting' {
        (Complete 'Start-RpcListener https://127.0.0.1:0 -ListenerOption @{ ClientC').CompletionText |
            Should -Contain 'ClientCACertificate'
    }
}
