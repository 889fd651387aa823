. (Join-Path $PSScriptRoot common.ps1)

Describe 'A listener whose checks do not run on all of its endpoints' {
    BeforeAll {
        $tcp = 'ncacn_ip_tcp:127.0.0.1[0]'
        $message = "*'ncacn_ip_tcp:127.0.0.1``[0``]' would serve anonymous callers: *-Authentication without None*" +
            '-Authorization with authorization rules*-Authentication None*'
        $bob = [pscredential]::new('bob', (ConvertTo-SecureString 'Pa55word' -AsPlainText))
        $key = [Security.Cryptography.RSA]::Create(2048)
        $request = [Security.Cryptography.X509Certificates.CertificateRequest]::new('CN=server', $key, 'SHA256',
            [Security.Cryptography.RSASignaturePadding]::Pkcs1)
        $now = [DateTimeOffset]::UtcNow
        $pfx = Join-Path $TestDrive server.pfx
        [IO.File]::WriteAllBytes($pfx, $request.CreateSelfSigned($now.AddDays(-1), $now.AddDays(1)).Export('Pfx'))
    }

    AfterEach { Clear-Test }

    It 'does not start on TCP with -<Check> on <First>' -ForEach @(
        @{ Check = 'BearerCheck'; First = 'grpc://127.0.0.1:0' }
        @{ Check = 'BearerCheck'; First = 'http://127.0.0.1:0/' }
        @{ Check = 'BasicCheck'; First = 'http://127.0.0.1:0/' }
        @{ Check = 'CertificateCheck'; First = 'https://127.0.0.1:0/' }
    ) {
        $with = @{ $Check = { $true } }
        if ($Check -eq 'CertificateCheck') { $with.Certificate = $pfx }

        $failed = { Start-TestListener { } -Endpoint $First, $tcp -With $with } |
            Should -Throw -ErrorId 'UncheckedEndpoint,*' -PassThru
        "$failed" | Should -BeLike $message
        Get-RpcListener | Should -BeNullOrEmpty
    }

    It 'starts with <Way>' -ForEach @(
        @{ Way = '-Authentication None'; With = @{ Authentication = 'None' } }
        @{ Way = '-Authentication NTLM'; With = @{ Authentication = 'NTLM'; ListenerOption = @{} } }
        @{ Way = '-Authorization without anonymous callers'; With = @{ Authorization = @{ '*' = '*' } } }
    ) {
        if ($With.ListenerOption) { $With.ListenerOption.NtlmAccount = $bob }
        $listener = Start-TestListener { } -Endpoint http://127.0.0.1:0/, $tcp -With ($With + @{ BearerCheck = { $true } })
        $listener.Endpoint | Should -HaveCount 2
    }

    It 'does not start with rules that leave a method to anonymous callers' {
        { Start-TestListener { } -Endpoint http://127.0.0.1:0/, $tcp -With @{
                BearerCheck = { $true }; Authorization = @{ '*' = '*'; 'demo.Greeter/SayHello' = 'anonymous' } } } |
            Should -Throw -ErrorId 'UncheckedEndpoint,*'
    }

    It 'starts beside endpoints whose callers the system identifies' {
        $name = New-TestName
        $listener = Start-TestListener { } -Endpoint http://127.0.0.1:0/, "ncalrpc:[$name]", "ncacn_np:[\pipe\$name]", "inproc://$name" -With @{
            BearerCheck = { $false } }
        Connect-Test $listener 1 | Invoke-RpcMethod SayHello @{} | Should -Not -BeNullOrEmpty
    }

    It 'does not start as a gateway either' {
        $back = Start-TestListener { }
        $rpc = Connect-Test $back
        { Start-RpcListener http://127.0.0.1:0/, $tcp $rpc -BasicCheck { $true } } |
            Should -Throw -ErrorId 'UncheckedEndpoint,*'
    }

    It 'gets no TCP endpoint from Set-RpcListener, and stays as it was' {
        $listener = Start-TestListener @{ SayHello = @{ text = 'old' } } -Endpoint http://127.0.0.1:0/ -With @{
            BearerCheck = { 'ann' } }
        $before = $listener.Endpoint

        $failed = { Set-RpcListener $listener -Endpoint $before[0], $tcp -Handler @{ SayHello = @{ text = 'new' } } -ErrorAction Stop } |
            Should -Throw -ErrorId 'UncheckedEndpoint,*' -PassThru

        "$failed" | Should -BeLike $message
        $listener.Endpoint | Should -Be $before
        $rpc = Connect-RpcEndpoint $before[0] -Schema $listener.Schema -Service demo.Greeter -Token (
            ConvertTo-SecureString x -AsPlainText)
        ($rpc | Invoke-RpcMethod SayHello @{}).text | Should -Be 'old'
        Set-RpcListener $listener -Endpoint $before[0], "ncalrpc:[$(New-TestName)]"
        $listener.Endpoint | Should -HaveCount 2
    }
}
