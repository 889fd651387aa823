. (Join-Path $PSScriptRoot common.ps1)

Describe 'Error texts of the shell' {
    BeforeAll {
        $proto = Join-Path $TestProtos words.proto
        $schema = Import-RpcSchema $proto
        $folder = New-Item -ItemType Directory (Join-Path ([IO.Path]::GetTempPath()) (New-TestName))

        # A certificate with its key as a PEM file, which is valid until a number of days from now.
        function New-PemFile([int] $Days) {
            $key = [Security.Cryptography.ECDsa]::Create([Security.Cryptography.ECCurve+NamedCurves]::nistP256)
            $request = [Security.Cryptography.X509Certificates.CertificateRequest]::new('CN=localhost', $key, 'SHA256')
            $names = [Security.Cryptography.X509Certificates.SubjectAlternativeNameBuilder]::new()
            $names.AddDnsName('localhost')
            $request.CertificateExtensions.Add($names.Build())
            $now = [DateTimeOffset]::UtcNow
            $certificate = $request.CreateSelfSigned($now.AddDays(-30), $now.AddDays($Days))
            $path = Join-Path $folder "$(New-TestName).pem"
            Set-Content $path $certificate.ExportCertificatePem(), $key.ExportPkcs8PrivateKeyPem()
            $path
        }
    }

    AfterAll {
        Clear-Test
        Remove-Item $folder -Recurse
    }

    Context 'A request that is too large, over <_>' -ForEach 'ncacn_ip_tcp:127.0.0.1[0]', 'http://127.0.0.1:0/', 'grpc://127.0.0.1:0' {
        BeforeAll {
            $listener = Start-RpcListener -Schema $schema -Endpoint $_ -Limits @{ MaxMessageBytes = 1000 } -Handler @{ Say = { @{} } }
        }

        It 'names the limit of the server, whose parameters the caller does not have' {
            Invoke-RpcMethod Say @{ text = 'x' * 3000 } -Endpoint $listener.Endpoint[0] -Schema $schema `
                -ErrorAction SilentlyContinue -ErrorVariable failed

            "$($failed[0])" | Should -BeLike "*the server's limit*MaxMessageBytes of the server*"
            "$($failed[0])" | Should -Not -BeLike '*RpcLimits*'
        }
    }

    It 'names the own limit by the name of the setting' {
        $listener = Start-RpcListener -Schema $schema -Endpoint http://127.0.0.1:0/ -Handler @{ Say = { @{} } }
        Invoke-RpcMethod Say @{ text = 'x' * 3000 } -Endpoint $listener.Endpoint[0] -Schema $schema `
            -ConnectionOption @{ Limits = @{ MaxMessageBytes = 1000 } } -ErrorAction SilentlyContinue -ErrorVariable failed

        "$($failed[0])" | Should -BeLike '*the limit is 1,000*MaxMessageBytes of Limits*'
    }

    It 'tells how many attempts a retried call made' {
        $listener = Start-RpcListener -Schema $schema -Endpoint grpc://127.0.0.1:0 -Handler @{ Say = { @{} } }
        $gone = $listener.Endpoint[0]
        Stop-RpcListener $listener
        Invoke-RpcMethod Say @{} -Endpoint $gone -Schema $schema -RetryCount 2 `
            -ErrorAction SilentlyContinue -ErrorVariable failed

        $failed[0].Exception.Attempts | Should -Be 3
        "$($failed[0])" | Should -BeLike '*(Say, 3 attempts)'
    }

    It 'counts the replies before a deadline' {
        $listener = Start-RpcListener -Schema $schema -Endpoint grpc://127.0.0.1:0 -Handler @{
            Split = { @{ text = 'a' }; @{ text = 'b' }; while ($true) { Start-Sleep -Milliseconds 20 } }
        }
        $replies = Invoke-RpcMethod Split @{ text = 'x' } -Endpoint $listener.Endpoint[0] -Schema $schema -Deadline 1 `
            -ErrorAction SilentlyContinue -ErrorVariable failed

        $replies.text | Should -Be 'a', 'b'
        $failed[0].FullyQualifiedErrorId | Should -BeLike 'RpcStatus.DeadlineExceeded,*'
        "$($failed[0])" | Should -BeLike '*the deadline passed after 2 replies.*'
    }

    It 'says the encoding of a schema file of Windows PowerShell' {
        $path = Join-Path $folder wide.proto
        Get-Content $proto | Set-Content $path -Encoding unicode

        { Import-RpcSchema $path -ErrorAction Stop } |
            Should -Throw -ErrorId 'SchemaError,*' -ExpectedMessage '*encoding UTF-16*must be UTF-8*'
    }

    It 'guesses that <Text> means <Meant>, and names the help page' -ForEach @(
        @{ Text = 'localhost:50051'; Meant = 'grpc://localhost:50051' }
        @{ Text = '\\.\pipe\Shop'; Meant = 'pipe://./Shop' }
        @{ Text = 'htp://localhost/'; Meant = 'http://localhost/' }
    ) {
        Connect-RpcEndpoint $Text -Schema $schema -ErrorAction SilentlyContinue -ErrorVariable failed

        $shown = "$($failed[0])"
        $shown | Should -BeLike "*Did you mean '$($Meant -replace '([[\]])', '`$1')'*"
        $shown | Should -BeLike '*See about_ProtoRpc_Endpoints for all forms.*'
        $shown.Length | Should -BeLessThan 300
    }

    It 'warns at the start of a listener, and in its records, that its certificate expires' {
        $listener = Start-RpcListener -Schema $schema -Endpoint https://127.0.0.1:0/ -Certificate (New-PemFile 5) `
            -Handler @{ Say = { @{} } } -WarningAction SilentlyContinue -WarningVariable warned

        $warned | Should -HaveCount 1
        "$warned" | Should -BeLike "*'CN=localhost'*expires on 20??-??-??*"
        $records = Receive-RpcListener $listener 3>&1
        "$records" | Should -BeLike '*expires on 20??-??-??*'

        $null = Set-RpcListener $listener -Certificate (New-PemFile 90) -WarningVariable renewed
        $renewed | Should -BeNullOrEmpty
    }

    It 'says when the certificate of a server expired, and nothing that cannot help' {
        $pem = New-PemFile -2
        $listener = Start-RpcListener -Schema $schema -Endpoint https://127.0.0.1:0/ -Certificate $pem `
            -Handler @{ Say = { @{} } } -WarningAction SilentlyContinue
        Invoke-RpcMethod Say @{} -Endpoint "https://localhost:$($listener.Endpoint[0].Port)/" -Schema $schema `
            -ConnectionOption @{ CACertificate = $pem } -ErrorAction SilentlyContinue -ErrorVariable failed

        $failed[0].FullyQualifiedErrorId | Should -BeLike 'CertificateNotTrusted,*'
        "$($failed[0])" | Should -BeLike '*it expired on 20??-??-??*Renew the certificate*'
        "$($failed[0])" | Should -Not -BeLike '*ServerName*'
        "$($failed[0])" | Should -Not -BeLike '*CACertificate*'
    }
}
