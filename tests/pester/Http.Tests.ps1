. (Join-Path $PSScriptRoot common.ps1)

Describe 'HTTP endpoints' {
    BeforeAll {
        $greet = { @{ text = "hi $($Request.name), $($RpcContext.User.Name)" } }
        $listener = Start-TestListener @{ SayHello = $greet } `
            -Endpoint 'http://127.0.0.1:0/', "ncalrpc:[$(New-TestName)]"
        $address = $listener.Endpoint[0].Uri
    }

    AfterEach { Get-RpcConnection | Disconnect-RpcEndpoint }

    AfterAll { Clear-Test }

    It 'answers a browser in XML, at the path of the file in any case' {
        $reply = Invoke-WebRequest "${address}GREETER.proto/sayhello?name=Ann" -Headers @{
            Accept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
        }

        $reply.Headers['Content-Type'] | Should -Match '^application/xml'
        ([xml]$reply.Content).root.text | Should -Be 'hi Ann, '
    }

    It 'answers on loopback only to names of loopback and of -AllowedHost' {
        $named = Start-TestListener @{ SayHello = $greet } -Endpoint 'http://127.0.0.1:0/' -With @{
            ListenerOption = @{ AllowedHost = 'rpc.example.com', '*.intern.example' }
        }
        $status = foreach ($uri in $address, $named.Endpoint[0].Uri) {
            foreach ($name in 'localhost', 'rpc.example.com', 'a.intern.example', 'evil.example') {
                (Invoke-WebRequest "${uri}greeter.proto" -Headers @{ Host = $name } -SkipHttpErrorCheck).StatusCode
            }
        }
        $refused = Invoke-WebRequest $address -Headers @{ Host = 'evil.example' } -SkipHttpErrorCheck

        $status | Should -Be 200, 403, 403, 403, 200, 200, 200, 403
        $refused.Content | Should -Match "'evil.example'.*AllowedHost"
        { Start-TestListener @{ SayHello = $greet } -Endpoint 'http://127.0.0.1:0/' -With @{ ListenerOption = @{ AllowedHost = 'a:80' } } } |
            Should -Throw -ErrorId 'InvalidAllowedHost,*'
    }

    It 'calls methods by GET off loopback only with AllowGet' {
        $status = foreach ($with in @{ AllowUnencrypted = $true }, @{ AllowUnencrypted = $true; ListenerOption = @{ AllowGet = $true } }) {
            $open = Start-TestListener @{ SayHello = $greet } -Endpoint 'http://0.0.0.0:0/' -With $with
            $uri = "http://127.0.0.1:$($open.Endpoint[0].Port)/demo.Greeter/SayHello?name=Ann"
            (Invoke-WebRequest $uri -SkipHttpErrorCheck).StatusCode
        }

        $status | Should -Be 405, 200
    }

    It 'compresses replies within the machine only with -ReplyCompression Always' {
        $encoding = foreach ($when in 'Automatic', 'Always', 'Never') {
            $server = Start-TestListener @{ SayHello = $greet } -Endpoint 'http://127.0.0.1:0/' -With @{ ListenerOption = @{ ReplyCompression = $when } }
            $connection = Connect-RpcEndpoint $server.Endpoint[0] -Schema $server.Schema -Service demo.Greeter -ConnectionOption @{ ReplyCompression = 'Always' }
            $connection | Invoke-RpcMethod SayHello @{ name = 'Ann' * 1000 } -ReplyInfoVariable info | Out-Null
            "$($info.Headers['Vary'])"
        }

        $encoding | Should -Be '', 'Accept-Encoding', ''
    }

    It 'says what a server of another protocol speaks' {
        $grpc = Start-TestListener @{ SayHello = $greet } -Endpoint 'grpc://127.0.0.1:0'
        $port = $grpc.Endpoint[0].Port
        $to = @{ Schema = $listener.Schema; Service = 'demo.Greeter'; ErrorAction = 'Stop' }

        { Connect-RpcEndpoint "http://127.0.0.1:$port/" @to } |
            Should -Throw -ErrorId 'WrongProtocol,*' -ExpectedMessage "*Use grpc://127.0.0.1:$port.*"
        { Connect-RpcEndpoint "tcp://127.0.0.1:$port" @to } |
            Should -Throw -ErrorId 'WrongProtocol,*' -ExpectedMessage "*Use grpc://127.0.0.1:$port.*"
        { Connect-RpcEndpoint ($address -replace 'http:', 'https:') @to } |
            Should -Throw -ErrorId 'WrongProtocol,*' -ExpectedMessage "*Use $address.*"
    }

    It 'stops a handler at the time of -Limits' {
        $short = Start-TestListener @{ SayHello = { Start-Sleep -Seconds 30 } } -Endpoint 'http://127.0.0.1:0/' -With @{
            Limits = @{ HandlerTimeout = '00:00:00.5' }
        }
        $rpc = Connect-RpcEndpoint $short.Endpoint[0] -Schema $short.Schema -Service demo.Greeter

        { $rpc | Invoke-RpcMethod SayHello @{ name = 'Ann' } -ErrorAction Stop } |
            Should -Throw -ErrorId 'RpcStatus.DeadlineExceeded,*'
    }

    It 'answers JSON with JSON' {
        $reply = Invoke-RestMethod "${address}demo.Greeter/SayHello" -Method Post `
            -ContentType application/json -Body '{"name":"Ann"}'

        $reply.text | Should -Be 'hi Ann, '
    }

    It 'is called by a connection in <Format>' -ForEach @(
        @{ Format = 'Binary' }
        @{ Format = 'Json' }
        @{ Format = 'Xml' }
        @{ Format = 'Form' }
    ) {
        $rpc = Connect-RpcEndpoint $address -Schema $listener.Schema -Service demo.Greeter -ConnectionOption @{ Format = $Format }

        ($rpc | Invoke-RpcMethod SayHello @{ name = 'Ann' }).text | Should -Be 'hi Ann, '
    }

    It 'gives its schema to whoever calls' {
        $schema = Import-RpcSchema "${address}greeter.proto"

        $schema.Services.FullName | Should -Contain 'demo.Greeter'
    }

    It 'asks for the address of a file where its own is given for a schema' {
        { Import-RpcSchema $address -ErrorAction Stop } |
            Should -Throw -ExpectedMessage "'$address' is not the address of a file.*'${address}Service.proto'*"
    }

    It 'lets handlers read the headers of a request and set those of the reply' {
        $asked = Start-TestListener @{
            SayHello = {
                $RpcContext.ReplyHeaders['x-said'] = "$($RpcContext.RequestHeaders['x-asked'])!"
                @{ text = 'x' }
            }
        } -Endpoint 'http://127.0.0.1:0/'

        $reply = Invoke-WebRequest "$($asked.Endpoint[0].Uri)demo.Greeter/SayHello?name=Ann" `
            -Headers @{ 'X-Asked' = 'why' }

        $reply.Headers['x-said'] | Should -Be 'why!'
        Stop-RpcListener $asked
    }

    It 'counts its calls with those of the others' {
        $before = $listener.Calls
        $null = Invoke-RestMethod "${address}demo.Greeter/SayHello?name=Ann"
        $null = Connect-Test $listener 1 | Invoke-RpcMethod SayHello @{ name = 'Ann' }

        $listener.Calls - $before | Should -Be 2
    }

    It 'streams replies to a connection in <Format> as they are written, and the failure behind them' -ForEach @(
        @{ Format = 'Binary' }
        @{ Format = 'Json' }
    ) {
        $gate = [Threading.ManualResetEventSlim]::new()
        $watched = Start-TestListener @{
            Watch = {
                1..$Request.times | ForEach-Object { @{ text = "hi $($Request.name)"; number = $_ } }
                $null = ($using:gate).Wait(20000)
                if ($Request.name -eq 'Eve') { throw 'not you' }
            }
        } -Endpoint 'http://127.0.0.1:0/'
        $rpc = Connect-RpcEndpoint $watched.Endpoint[0] -Schema $watched.Schema -Service demo.Greeter -ConnectionOption @{ Format = $Format }

        # The gate opens only when the replies are here.
        $first = $rpc | Invoke-RpcMethod Watch @{ name = 'Ann'; times = 3 } | ForEach-Object {
            if ($_.number -eq 3) { $gate.Set() }
            $_
        }
        $second = $rpc | Invoke-RpcMethod Watch @{ name = 'Eve'; times = 2 } -ErrorVariable failed `
            -ErrorAction SilentlyContinue

        $first.number | Should -Be 1, 2, 3
        $second.text | Should -Be 'hi Eve', 'hi Eve'
        $failed[0] | Should -Match 'not you'
        Stop-RpcListener $watched
    }

    It 'tells the caller by what a script block says of its <Kind>' -ForEach @(
        @{ Kind = 'password'; With = @{ Credential = $true } }
        @{ Kind = 'token'; With = @{ Header = @{ Authorization = 'Bearer right' } } }
    ) {
        $token = 'right'
        $asking = Start-TestListener @{ SayHello = $greet } -Endpoint 'http://127.0.0.1:0/' -With @{
            BasicCheck = { param($Credential) $Credential.GetNetworkCredential().Password -eq 'pw' }
            BearerCheck = { param($Token) if ($Token -eq $using:token) { 'robot' } }
        }
        if ($With.Credential) {
            $With.Credential = [pscredential]::new('ann', (ConvertTo-SecureString pw -AsPlainText))
        }
        $rpc = Connect-RpcEndpoint $asking.Endpoint[0] -Schema $asking.Schema -Service demo.Greeter @With
        $anonymous = Connect-RpcEndpoint $asking.Endpoint[0] -Schema $asking.Schema -Service demo.Greeter

        ($rpc | Invoke-RpcMethod SayHello @{ name = 'x' }).text |
            Should -Be "hi x, $($With.Credential ? 'ann' : 'robot')"
        { $anonymous | Invoke-RpcMethod SayHello @{ name = 'x' } -ErrorAction Stop } |
            Should -Throw -ErrorId 'RpcStatus.Unauthenticated,*'
        Stop-RpcListener $asking
    }

    It 'keeps what a check throws as a record, and tells the caller nothing of it' {
        $asking = Start-TestListener @{ SayHello = $greet } -Endpoint 'http://127.0.0.1:0/' -With @{
            BearerCheck = { param($Token) throw 'the table of tokens is gone' }
        }
        $rpc = Connect-RpcEndpoint $asking.Endpoint[0] -Schema $asking.Schema -Service demo.Greeter `
            -Header @{ Authorization = 'Bearer right' }

        $rpc | Invoke-RpcMethod SayHello @{ name = 'x' } -ErrorAction SilentlyContinue -ErrorVariable errors
        $records = Receive-RpcListener $asking 2>&1

        $errors[0].FullyQualifiedErrorId | Should -BeLike 'RpcStatus.Unauthenticated,*'
        "$($errors[0])" | Should -Not -BeLike '*table*'
        "$records" | Should -BeLike '*BearerCheck failed*the table of tokens is gone*line*'
        Stop-RpcListener $asking
    }

    It 'accepts nobody by a variable that the check of an earlier caller has set' {
        $asking = Start-TestListener @{ SayHello = $greet } -Endpoint 'http://127.0.0.1:0/' -With @{
            BearerCheck = { param($Token) if ($Token -eq 'right') { $user = 'robot' }; $user }
        }
        $right, $wrong = 'right', 'wrong' | ForEach-Object {
            Connect-RpcEndpoint $asking.Endpoint[0] -Schema $asking.Schema -Service demo.Greeter `
                -Header @{ Authorization = "Bearer $_" }
        }

        ($right | Invoke-RpcMethod SayHello @{ name = 'x' }).text | Should -Be 'hi x, robot'
        # More often than there are runspaces for checks.
        1..8 | ForEach-Object {
            { $wrong | Invoke-RpcMethod SayHello @{ name = 'x' } -ErrorAction Stop } |
                Should -Throw -ErrorId 'RpcStatus.Unauthenticated,*'
        }
        Stop-RpcListener $asking
    }

    It 'rejects a password without a user name before the check' {
        $asking = Start-TestListener @{ SayHello = $greet } -Endpoint 'http://127.0.0.1:0/' -With @{
            BasicCheck = { param($Credential) $true }
        }
        $nobody = [Convert]::ToBase64String([Text.Encoding]::UTF8.GetBytes(':pw'))

        $reply = Invoke-WebRequest "$($asking.Endpoint[0])demo.Greeter/SayHello?name=x" `
            -Headers @{ Authorization = "Basic $nobody" } -SkipHttpErrorCheck

        $reply.StatusCode | Should -Be 401
        Receive-RpcListener $asking 2>&1 | Should -BeNullOrEmpty
        Stop-RpcListener $asking
    }

    It 'gives the token to the parameter of a function that is the check' {
        function Test-TestToken($Token) { $Token -ne 'revoked' }
        $listener = Start-TestListener { @{ text = 'served' } } -Endpoint http://127.0.0.1:0/ -With @{
            BearerCheck = ${function:Test-TestToken}
        }
        $address = "$($listener.Endpoint[0].Uri)demo.Greeter/SayHello"
        $call = @{ Method = 'Post'; Body = '{}'; ContentType = 'application/json'; SkipHttpErrorCheck = $true }

        $answers = foreach ($token in 'revoked', 'good') {
            Invoke-WebRequest $address @call -Headers @{ Authorization = "Bearer $token" }
        }

        $answers.StatusCode | Should -Be 401, 200
    }

    It 'runs checks with the functions of the session that they call' {
        function Test-TestToken($Token) { Test-RightToken $Token }
        function Test-RightToken($Token) { $Token -eq 'right' }
        $asking = Start-TestListener @{ SayHello = $greet } -Endpoint 'http://127.0.0.1:0/' -With @{
            BearerCheck = { param($Token) if (Test-TestToken $Token) { 'robot' } }
        }
        $rpc = Connect-RpcEndpoint $asking.Endpoint[0] -Schema $asking.Schema -Service demo.Greeter `
            -Header @{ Authorization = 'Bearer right' }

        ($rpc | Invoke-RpcMethod SayHello @{ name = 'x' }).text | Should -Be 'hi x, robot'
        Stop-RpcListener $asking
    }

    It 'says when to come again while too many calls wait, and goes on when they are done' {
        $gate = [Threading.ManualResetEventSlim]::new()
        $slow = { $null = ($using:gate).Wait(20000); @{ text = 'done' } }
        $busy = Start-TestListener @{ SayHello = $slow } -Endpoint 'http://127.0.0.1:0/' -With @{
            ListenerOption = @{ WorkerCount = 1 }
            Limits = @{ MaxQueuedCalls = 1 } -as [ProtoRpc.RpcLimits]
        }
        $http = [Net.Http.HttpClient]::new()
        try {
            $path = "$($busy.Endpoint[0].Uri)demo.Greeter/SayHello?name=x"
            $calls = 1..8 | ForEach-Object { $http.GetAsync($path) }
            Wait-Until { ($calls.IsCompleted -eq $true).Count -ge 6 } | Should -BeTrue
            $refused = $calls.Where({ $_.IsCompleted }).Result
            $schema = Invoke-WebRequest "$($busy.Endpoint[0].Uri)greeter.proto"
            $gate.Set()
            $null = [Threading.Tasks.Task]::WaitAll($calls, 20000)

            $refused.StatusCode | Sort-Object -Unique | Should -Be 'ServiceUnavailable'
            $refused[0].Headers.RetryAfter.Delta.TotalSeconds | Should -BeGreaterThan 0
            $schema.StatusCode | Should -Be 200
            ($calls.Result.StatusCode -eq 'OK').Count | Should -BeGreaterThan 0
            (Invoke-WebRequest $path).StatusCode | Should -Be 200
        }
        finally {
            $gate.Set()
            $http.Dispose()
            Stop-RpcListener $busy
        }
    }

    It 'refuses an endpoint that everybody could read' {
        $refused = { Start-TestListener $greet -Endpoint 'http://0.0.0.0:0/' } |
            Should -Throw -ErrorId 'UnencryptedEndpoint,*' -PassThru
        "$refused" | Should -BeLike '*or use -AllowUnencrypted.'
    }

    It 'serves TLS with a certificate of a file' {
        $key = [Security.Cryptography.ECDsa]::Create(
            [Security.Cryptography.ECCurve]::CreateFromFriendlyName('nistP256'))
        $request = [Security.Cryptography.X509Certificates.CertificateRequest]::new('CN=localhost', $key, 'SHA256')
        $certificate = $request.CreateSelfSigned(
            [DateTimeOffset]::UtcNow.AddDays(-1), [DateTimeOffset]::UtcNow.AddDays(1))
        Set-Content TestDrive:/mine.pem ($certificate.ExportCertificatePem() + "`n" + $key.ExportPkcs8PrivateKeyPem())
        $secure = Start-TestListener @{ SayHello = $greet } -Endpoint 'https://127.0.0.1:0/' -With @{
            Certificate = (Resolve-Path TestDrive:/mine.pem).ProviderPath
        }

        $to = @{ Endpoint = $secure.Endpoint[0]; Schema = $secure.Schema; Service = 'demo.Greeter' }
        { Connect-RpcEndpoint @to -ErrorAction Stop } | Should -Throw -ErrorId 'CertificateNotTrusted,*'
        (Connect-RpcEndpoint @to -SkipCertificateCheck | Invoke-RpcMethod SayHello @{ name = 'x' }).text |
            Should -Be 'hi x, '
        Stop-RpcListener $secure
    }

    It 'serves TLS with a certificate of a store, and knows callers by theirs' {
        $made = 'CN=localhost', 'CN=caller' | ForEach-Object {
            $key = [Security.Cryptography.ECDsa]::Create(
                [Security.Cryptography.ECCurve]::CreateFromFriendlyName('nistP256'))
            $request = [Security.Cryptography.X509Certificates.CertificateRequest]::new($_, $key, 'SHA256')
            $signed = $request.CreateSelfSigned(
                [DateTimeOffset]::UtcNow.AddDays(-1), [DateTimeOffset]::UtcNow.AddDays(1))
            [Security.Cryptography.X509Certificates.X509CertificateLoader]::LoadPkcs12(
                $signed.Export('Pkcs12'), $null, 'Exportable, PersistKeySet')
        }
        $store = [Security.Cryptography.X509Certificates.X509Store]::new('My', 'CurrentUser', 'ReadWrite')
        $made | ForEach-Object { $store.Add($_) }
        try {
            $secure = Start-TestListener @{ SayHello = $greet } -Endpoint 'https://127.0.0.1:0/' -With @{
                Certificate = $made[0].Thumbprint
                CertificateCheck = { param($Certificate) if ($Certificate.Subject -eq 'CN=caller') { 'caller' } }
            }
            $to = @{
                Endpoint = $secure.Endpoint[0]
                Schema = $secure.Schema
                Service = 'demo.Greeter'
                SkipCertificateCheck = $true
            }

            (Connect-RpcEndpoint @to -ClientCertificate $made[1] | Invoke-RpcMethod SayHello @{ name = 'x' }).text |
                Should -Be 'hi x, caller'
            {
                Connect-RpcEndpoint @to -ClientCertificate $made[0] |
                    Invoke-RpcMethod SayHello @{ name = 'x' } -ErrorAction Stop
            } | Should -Throw -ErrorId 'RpcStatus.Unauthenticated,*'
            { Connect-RpcEndpoint @to | Invoke-RpcMethod SayHello @{ name = 'x' } -ErrorAction Stop } |
                Should -Throw -ErrorId 'RpcStatus.Unauthenticated,*'
            Stop-RpcListener $secure
        }
        finally {
            $made | ForEach-Object { $store.Remove($_) }
            $store.Dispose()
        }
    }

    Context 'without such a listener, and without ASP.NET Core' {
        BeforeAll {
            $run = Invoke-Pwsh @"
                Import-Module '$ModuleManifest'
                `$with = @{
                    Schema = '$TestProtos/greeter.proto'
                    Service = 'demo.Greeter'
                    Handler = { @{ text = 'served' } }
                }
                `$l = Start-RpcListener -Endpoint tcp://127.0.0.1:0 @with
                "loaded: " + ([AppDomain]::CurrentDomain.GetAssemblies().GetName().Name -like 'Microsoft.AspNetCore.*')
                `$env:PROTORPC_ASPNETCORE = '/no/such/folder'
                try { Start-RpcListener -Endpoint http://127.0.0.1:0/ @with } catch { `$_.FullyQualifiedErrorId; "`$_" }
                (Connect-RpcEndpoint -Listener `$l | Invoke-RpcMethod SayHello @{ name = 'x' }).text
"@
        }

        It 'leaves ASP.NET Core alone until the first such listener starts' {
            $run.Output | Should -Match '(?m)^loaded: \r?$'
        }

        It 'says what to install, and serves all else' {
            $run.Output | Should -Match 'AspNetCoreMissing'
            $run.Output | Should -Match 'aspnetcore-runtime-10\.0'
            $run.Output | Should -Match '(?m)^served\r?$'
        }
    }
}
