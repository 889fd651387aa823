. (Join-Path $PSScriptRoot common.ps1)

Describe 'Authentication' {
    BeforeAll {
        function New-Credential([string] $User, [string] $Password) {
            [pscredential]::new($User, (ConvertTo-SecureString $Password -AsPlainText))
        }

        $bob = New-Credential 'CORP\bob' 'Pa55word'
        $who = {
            $told = $RpcContext.User.Name, $RpcContext.AuthenticationType, $RpcContext.ProtectionLevel
            @{ text = ($told + $RpcContext.IsAuthenticated) -join '|' }
        }
        $listener = Start-TestListener $who -Endpoint 'tcp://127.0.0.1:0', "ncalrpc:[$(New-TestName)]" -With @{
            Authentication = 'Negotiate', 'NTLM'
            ListenerOption = @{ NtlmAccount = $bob }
        }
        $to = @{ Endpoint = $listener.Endpoint[0]; Schema = $listener.Schema; Service = 'demo.Greeter' }
    }

    AfterEach { Get-RpcConnection | Disconnect-RpcEndpoint }

    AfterAll { Clear-Test }

    It 'tells the handler who calls, by <Mechanism> at level <Level>' -ForEach @(
        @{ Mechanism = 'Default'; Level = 'Integrity' }
        @{ Mechanism = 'Ntlm'; Level = 'Privacy' }
        @{ Mechanism = 'Negotiate'; Level = 'Integrity' }
        @{ Mechanism = 'Negotiate'; Level = 'Privacy' }
    ) {
        $rpc = Connect-RpcEndpoint @to -Credential $bob -ConnectionOption @{ Mechanism = $Mechanism; ProtectionLevel = $Level }

        ($rpc | Invoke-RpcMethod SayHello).text | Should -Be "CORP\bob|NTLM|$Level|True"
    }

    It 'takes the word of the kernel on local endpoints' {
        $rpc = Connect-RpcEndpoint $listener.Endpoint[1] -Schema $listener.Schema `
            -Service demo.Greeter -ConnectionOption @{ Authentication = 'Self' }

        ($rpc | Invoke-RpcMethod SayHello).text | Should -Be "$OwnName|Kernel|Privacy|True"
    }

    It 'refuses anonymous callers' {
        $rpc = Connect-RpcEndpoint @to

        { $rpc | Invoke-RpcMethod SayHello -ErrorAction Stop } |
            Should -Throw -ErrorId 'AuthenticationRequired,*' -ExpectedMessage '*requires authentication*'
    }

    It 'refuses a wrong password' {
        $rpc = Connect-RpcEndpoint @to -Credential (New-Credential 'CORP\bob' 'guessed')

        { $rpc | Invoke-RpcMethod SayHello -ErrorAction Stop } |
            Should -Throw -ErrorId 'AuthenticationFailed,*' -ExpectedMessage "*'CORP\bob'*password*"
    }

    It 'refuses less protection than it wants' {
        $rpc = Connect-RpcEndpoint @to -Credential $bob -ConnectionOption @{ ProtectionLevel = 'Connect' }

        { $rpc | Invoke-RpcMethod SayHello -ErrorAction Stop } |
            Should -Throw -ExpectedMessage '*protection level is too low*'
    }

    It 'serves anonymous callers beside the others where None is allowed' {
        $both = Start-TestListener $who -Endpoint 'tcp://127.0.0.1:0' -With @{
            Authentication = 'None, NTLM'
            ListenerOption = @{ NtlmAccount = @{ UserName = 'ann'; NtHash = '8846F7EAEE8FB117AD06BDD830B7586C' } }
        }

        (Connect-Test $both | Invoke-RpcMethod SayHello).text | Should -Be '||None|False'
        $rpc = $both | Connect-RpcEndpoint -Credential (New-Credential ann password)
        ($rpc | Invoke-RpcMethod SayHello).text | Should -Be 'ann|NTLM|Privacy|True'
    }

    It 'does not connect as Self where nothing proves the own account' -Skip:$IsWindows {
        { Connect-RpcEndpoint @to -ConnectionOption @{ Authentication = 'Self'; Mechanism = 'Ntlm' } -ErrorAction Stop } |
            Should -Throw -ErrorId 'NoOwnIdentity,*'
    }

    It 'does not connect as User without a credential' {
        { Connect-RpcEndpoint @to -ConnectionOption @{ Authentication = 'User' } -ErrorAction Stop } |
            Should -Throw -ErrorId 'InvalidCredential,*'
    }

    It 'does not leave a credential unused' {
        { Connect-RpcEndpoint @to -ConnectionOption @{ Authentication = 'Anonymous' } -Credential $bob -ErrorAction Stop } |
            Should -Throw -ErrorId 'InvalidCredential,*'
    }

    It 'does not listen for NTLM that nothing verifies' -Skip:$IsWindows {
        { Start-TestListener { } -Endpoint tcp://127.0.0.1:0 -With @{ Authentication = 'NTLM' } } |
            Should -Throw -ErrorId 'NoNtlmAccounts,*'
    }

    It 'does not negotiate without a Kerberos key and NTLM accounts' -Skip:($IsWindows -or (Test-Path /etc/krb5.keytab)) {
        { Start-TestListener { } -Endpoint tcp://127.0.0.1:0 -With @{ Authentication = 'Negotiate' } } |
            Should -Throw -ErrorId 'NothingToNegotiate,*'
    }

    It 'does not leave accounts or a name unused' {
        { Start-TestListener { } -Endpoint tcp://127.0.0.1:0 -With @{ ListenerOption = @{ NtlmAccount = $bob } } } |
            Should -Throw -ErrorId 'InvalidSecurity,*' -ExpectedMessage '*NtlmAccounts has no effect*NTLM or Negotiate*'
        { Start-TestListener { } -Endpoint tcp://127.0.0.1:0 -With @{ ListenerOption = @{ ServicePrincipalName = 'host/x' } } } |
            Should -Throw -ErrorId 'InvalidSecurity,*' -ExpectedMessage '*.ServicePrincipalName has no effect*'
    }

    It 'says what is wrong with an account' {
        { Start-TestListener { } -With @{ ListenerOption = @{ NtlmAccount = @{ UserName = 'ann'; Hash = '' } } } } |
            Should -Throw -ExpectedMessage "*'Hash' is not a known key*"
    }

    Context 'TLS' {
        BeforeAll {
            $key = [System.Security.Cryptography.ECDsa]::Create()
            $request = [System.Security.Cryptography.X509Certificates.CertificateRequest]::new(
                'CN=127.0.0.1', $key, 'SHA256')
            $names = [System.Security.Cryptography.X509Certificates.SubjectAlternativeNameBuilder]::new()
            $names.AddIpAddress([ipaddress]::Loopback)
            $request.CertificateExtensions.Add($names.Build())
            $certificate = $request.CreateSelfSigned(
                [datetimeoffset]::Now.AddDays(-1), [datetimeoffset]::Now.AddDays(1))
            $pfx = Join-Path $TestDrive server.pfx
            $pem = Join-Path $TestDrive server.pem
            [IO.File]::WriteAllBytes($pfx, $certificate.Export('Pfx'))
            [IO.File]::WriteAllText($pem, $certificate.ExportCertificatePem())
            $secured = Start-TestListener $who -Endpoint 'tcp://127.0.0.1:0' -With @{ Tls = $true; Certificate = $pfx }
            $over = @{
                Endpoint = $secured.Endpoint[0]
                Schema = $secured.Schema
                Service = 'demo.Greeter'
                ConnectionOption = @{ Tls = $true }
            }
        }

        It 'carries calls to a server that is trusted' {
            $rpc = Connect-RpcEndpoint @over -CACertificate $pem

            ($rpc | Invoke-RpcMethod SayHello).text | Should -Be '||Privacy|False'
        }

        It 'carries calls to any server when the check is skipped' {
            $rpc = Connect-RpcEndpoint @over -SkipCertificateCheck

            ($rpc | Invoke-RpcMethod SayHello).text | Should -Be '||Privacy|False'
        }

        It 'refuses a server that nobody vouches for' {
            { Connect-RpcEndpoint @over -ErrorAction Stop } | Should -Throw -ErrorId 'CertificateNotTrusted,*'
        }

        It 'is refused where no endpoint would speak it' {
            { Start-TestListener { } -With @{ Tls = $true; Certificate = $pfx } } |
                Should -Throw -ErrorId 'ParameterNotSupported,*' -ExpectedMessage '*tcp://*'
        }

        It 'carries the bytes of a raw interface, and nothing goes out in plain instead' {
            $to = @{ Endpoint = $secured.Endpoint[0]; InterfaceId = $secured.InterfaceId[0] }

            { Connect-RpcEndpoint @to -ErrorAction Stop } | Should -Throw
            (Connect-RpcEndpoint @to -ConnectionOption @{ Tls = $true } -CACertificate $pem).State | Should -Be 'Open'
        }

        It 'says that there is no such certificate' {
            $missing = @{ Tls = $true; Certificate = Join-Path $TestDrive none.pfx }
            { Start-TestListener { } -Endpoint tcp://127.0.0.1:0 -With $missing } |
                Should -Throw -ErrorId 'CertificateNotFound,*'
        }
    }
}
