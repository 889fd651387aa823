. (Join-Path $PSScriptRoot common.ps1)

Describe 'Set-RpcListener' {
    AfterEach {
        Get-RpcConnection | Disconnect-RpcEndpoint
        Get-RpcListener | Stop-RpcListener -DrainTimeout 0
    }

    Context 'handlers' {
        It 'replaces script blocks, by object and by id' {
            $listener = Start-TestListener @{ SayHello = { @{ text = 'one' } } }
            $rpc = Connect-Test $listener
            $two = 'two'

            $listener | Set-RpcListener -Handler @{ SayHello = { @{ text = $using:two } } } | Should -BeNullOrEmpty
            ($rpc | Invoke-RpcMethod SayHello @{}).text | Should -Be 'two'

            Set-RpcListener $listener.Id -Handler @{ SayHello = @{ text = 'three' } }
            ($rpc | Invoke-RpcMethod SayHello @{}).text | Should -Be 'three'
        }

        It 'leaves methods without a handler that it does not name' {
            $listener = Start-TestListener @{ SayHello = { }; Fail = { } }

            Set-RpcListener $listener -Handler @{ SayHello = { } }

            Connect-Test $listener | Invoke-RpcMethod Fail @{} -ErrorAction SilentlyContinue -ErrorVariable failed
            $failed[0].Exception.Code | Should -Be 'Unimplemented'
        }

        It 'lets calls that run end with the old handler' {
            $began = [Threading.ManualResetEventSlim]::new()
            $goesOn = [Threading.ManualResetEventSlim]::new()
            $listener = Start-TestListener @{
                SayHello = {
                    ($using:began).Set()
                    $null = ($using:goesOn).Wait(20000)
                    @{ text = 'old' }
                }
            }
            $running = Connect-Test $listener | Invoke-RpcMethod SayHello @{} -AsJob
            $began.Wait(20000) | Should -BeTrue

            Set-RpcListener $listener -Handler @{ SayHello = { @{ text = 'new' } } }

            (Connect-Test $listener | Invoke-RpcMethod SayHello @{}).text | Should -Be 'new'
            $goesOn.Set()
            ($running | Complete-Job).text | Should -Be 'old'
            Wait-Until { $listener.Workers -le 2 } | Should -BeTrue
        }

        It 'ends the workers of handlers that are gone' {
            $listener = Start-TestListener @{ SayHello = { @{ text = "$(Get-Variable n -ValueOnly)" } } } `
                -With @{ ListenerOption = @{ InitializationScript = { $global:n = 1 } } }
            $rpc = Connect-Test $listener
            ($rpc | Invoke-RpcMethod SayHello @{}).text | Should -Be '1'

            foreach ($i in 1..5) {
                Set-RpcListener $listener -Handler @{ SayHello = { @{ text = $using:i } } }
                ($rpc | Invoke-RpcMethod SayHello @{}).text | Should -Be "$i"
            }
            Wait-Until { $listener.Workers -le 2 } | Should -BeTrue
            Set-RpcListener $listener -Handler @{ SayHello = @{ text = 'canned' } }
            Wait-Until { $listener.Workers -eq 0 } | Should -BeTrue
        }

        It 'forwards to a connection' {
            $server = Start-TestListener @{ SayHello = { @{ text = "behind $($Request.name)" } } }
            $listener = Start-TestListener @{ SayHello = { @{ text = 'own' } } }

            Set-RpcListener $listener -Handler (Connect-Test $server)

            (Connect-Test $listener | Invoke-RpcMethod SayHello @{ name = 'x' }).text | Should -Be 'behind x'
        }

        It 'keeps the records of the listener' {
            $listener = Start-TestListener @{ SayHello = { Write-Warning 'one' } }
            $rpc = Connect-Test $listener
            $null = $rpc | Invoke-RpcMethod SayHello @{}
            Set-RpcListener $listener -Handler @{ SayHello = { Write-Warning 'two' } }
            $null = $rpc | Invoke-RpcMethod SayHello @{}

            $warnings = Receive-RpcListener $listener 3>&1
            "$warnings" | Should -Be 'one two'
        }
    }

    Context 'filters' {
        It 'replaces and removes them, and keeps handlers and -Authorization' {
            $listener = Start-TestListener @{ SayHello = { @{ text = 'x' } } } -With @{
                Filter = { $reply = $Next.Invoke(); $reply.text += '1'; $reply }
                Authorization = @{ 'demo.Greeter/SayHello' = 'anonymous' }
            }
            $rpc = Connect-Test $listener
            ($rpc | Invoke-RpcMethod SayHello @{}).text | Should -Be 'x1'

            Set-RpcListener $listener -Filter { $reply = $Next.Invoke(); $reply.text += '2'; $reply }
            ($rpc | Invoke-RpcMethod SayHello @{}).text | Should -Be 'x2'

            Set-RpcListener $listener -Filter @()
            ($rpc | Invoke-RpcMethod SayHello @{}).text | Should -Be 'x'
            $rpc | Invoke-RpcMethod Fail @{} -ErrorAction SilentlyContinue -ErrorVariable failed
            $failed[0].Exception.Code | Should -BeIn 'PermissionDenied', 'Unauthenticated'
        }

        It 'keeps them while handlers are replaced' {
            $listener = Start-TestListener @{ SayHello = { @{ text = 'x' } } } -With @{
                Filter = { $reply = $Next.Invoke(); $reply.text += '!'; $reply }
            }
            $rpc = Connect-Test $listener

            Set-RpcListener $listener -Handler @{ SayHello = { @{ text = 'y' } } }

            ($rpc | Invoke-RpcMethod SayHello @{}).text | Should -Be 'y!'
            Set-RpcListener $listener -Handler @{ SayHello = { @{ text = 'z' } } } -Filter {
                $reply = $Next.Invoke(); $reply.text += '?'; $reply
            }
            ($rpc | Invoke-RpcMethod SayHello @{}).text | Should -Be 'z?'
        }
    }

    Context 'endpoints' {
        It 'keeps those that stay, and closes the others' {
            $listener = Start-TestListener @{ SayHello = { @{ text = 'x' } } } `
                -Endpoint 'ncacn_ip_tcp:127.0.0.1[0]', "ncalrpc:[$(New-TestName)]"
            $tcp, $local = $listener.Endpoint
            $rpc = Connect-Test $listener
            $null = $rpc | Invoke-RpcMethod SayHello @{}

            Set-RpcListener $listener -Endpoint $tcp, "ncalrpc:[$(New-TestName)]"

            $listener.Endpoint[0] | Should -Be $tcp
            $listener.Endpoint | Should -Not -Contain $local
            ($rpc | Invoke-RpcMethod SayHello @{}).text | Should -Be 'x'
            $rpc.Calls | Should -Be 2
            { Connect-RpcEndpoint $local -Schema $listener.Schema -Service demo.Greeter -ErrorAction Stop } |
                Should -Throw
        }

        It 'adds HTTP to a listener that had none' {
            $listener = Start-TestListener @{ SayHello = { @{ text = "hi $($Request.name)" } } }

            Set-RpcListener $listener -Endpoint ($listener.Endpoint + 'http://127.0.0.1:0/' + 'grpc://127.0.0.1:0')

            $uri = "$($listener.Endpoint[1])demo.Greeter/SayHello"
            (Invoke-RestMethod $uri -Method Post -ContentType application/json -Body '{"name":"Bo"}').text |
                Should -Be 'hi Bo'
            (Connect-Test $listener 2 | Invoke-RpcMethod SayHello @{ name = 'Cy' }).text | Should -Be 'hi Cy'
        }
    }

    Context 'all or none' {
        It 'changes nothing when an endpoint is taken' {
            $other = Start-TestListener { } -Endpoint 'ncacn_ip_tcp:127.0.0.1[0]'
            $listener = Start-TestListener @{ SayHello = { @{ text = 'old' } } }
            $before = $listener.Endpoint

            { Set-RpcListener $listener -Handler @{ SayHello = { @{ text = 'new' } } } -ErrorAction Stop `
                    -Endpoint "ncalrpc:[$(New-TestName)]", $other.Endpoint[0] } | Should -Throw

            $listener.Endpoint | Should -Be $before
            (Connect-Test $listener | Invoke-RpcMethod SayHello @{}).text | Should -Be 'old'
            $listener.Workers | Should -Be 1
        }

        It 'changes nothing when <Name>' -TestCases @(
            @{ Name = 'a method is unknown'; With = @{ Handler = @{ SayHelo = { } } }; Id = 'MethodNotFound,*' }
            @{ Name = 'a field is unknown'; With = @{ Handler = @{ SayHello = @{ txt = 1 } } }; Id = 'UnknownField,*' }
            @{
                Name = 'the initialization fails'
                With = @{ Handler = @{ SayHello = { } }; ListenerOption = @{ InitializationScript = { throw 'no' } } }
                Id = '*'
            }
            @{ Name = 'an endpoint is none'; With = @{ Endpoint = 'nowhere' }; Id = 'InvalidEndpoint,*' }
        ) {
            $listener = Start-TestListener @{ SayHello = { @{ text = 'old' } } }

            { Set-RpcListener $listener @With -ErrorAction Stop } | Should -Throw -ErrorId $Id

            (Connect-Test $listener | Invoke-RpcMethod SayHello @{}).text | Should -Be 'old'
        }

        It 'does nothing with -WhatIf' {
            $listener = Start-TestListener @{ SayHello = { @{ text = 'old' } } }

            Set-RpcListener $listener -Handler @{ SayHello = { @{ text = 'new' } } } -WhatIf

            (Connect-Test $listener | Invoke-RpcMethod SayHello @{}).text | Should -Be 'old'
        }
    }

    Context 'certificates' {
        BeforeAll {
            function New-Certificate([string] $Name) {
                $key = [Security.Cryptography.ECDsa]::Create(
                    [Security.Cryptography.ECCurve]::CreateFromFriendlyName('nistP256'))
                $request = [Security.Cryptography.X509Certificates.CertificateRequest]::new("CN=$Name", $key, 'SHA256')
                $names = [Security.Cryptography.X509Certificates.SubjectAlternativeNameBuilder]::new()
                $names.AddIpAddress([ipaddress]::Loopback)
                $request.CertificateExtensions.Add($names.Build())
                $signed = $request.CreateSelfSigned([datetimeoffset]::Now.AddDays(-1), [datetimeoffset]::Now.AddDays(1))
                [Security.Cryptography.X509Certificates.X509CertificateLoader]::LoadPkcs12($signed.Export('Pkcs12'), $null)
            }
            function Connect-Trusting($Certificate, $Listener, [int] $Index = 0) {
                $tls = @{ Tls = "$($Listener.Endpoint[$Index])" -like 'ncacn*' }
                Connect-RpcEndpoint $Listener.Endpoint[$Index] -Schema $Listener.Schema -Service demo.Greeter `
                    -CACertificate $Certificate -ErrorAction Stop -ConnectionOption $tls
            }
            $old = New-Certificate old
            $new = New-Certificate new
            $all = 'tcp://127.0.0.1:0', 'https://127.0.0.1:0/', 'grpcs://127.0.0.1:0'
        }

        It 'replaces that of TCP, HTTP and gRPC, while calls run on' {
            $began = [Threading.CountdownEvent]::new(3)
            $goesOn = [Threading.ManualResetEventSlim]::new()
            $listener = Start-TestListener @{
                SayHello = {
                    if ($Request.name -eq 'slow') {
                        $null = ($using:began).Signal()
                        $null = ($using:goesOn).Wait(20000)
                    }
                    @{ text = "hi $($Request.name)" }
                }
            } -Endpoint $all -With @{ Certificate = $old; Tls = $true }
            $jobs = 0..2 | ForEach-Object {
                Connect-Trusting $old $listener $_ | Invoke-RpcMethod SayHello @{ name = 'slow' } -AsJob
            }
            $began.Wait(20000) | Should -BeTrue

            Set-RpcListener $listener -Certificate $new | Should -BeNullOrEmpty

            foreach ($i in 0..2) {
                (Connect-Trusting $new $listener $i | Invoke-RpcMethod SayHello @{ name = 'Bo' }).text | Should -Be 'hi Bo'
                { Connect-Trusting $old $listener $i } | Should -Throw -ErrorId 'CertificateNotTrusted,*'
            }
            $goesOn.Set()
            ($jobs | Complete-Job).text | Should -Be @('hi slow', 'hi slow', 'hi slow')
        }

        It 'takes a file with a password, as a renewal writes it' {
            $file = Join-Path $TestDrive renewed.pfx
            $listener = Start-TestListener @{ SayHello = @{ text = 'x' } } -Endpoint 'https://127.0.0.1:0/' `
                -With @{ Certificate = $old }
            [IO.File]::WriteAllBytes($file, $new.Export('Pfx', 'hush'))

            { Set-RpcListener $listener -Certificate $file -ErrorAction Stop } |
                Should -Throw -ErrorId 'InvalidCertificate,*' -ExpectedMessage '*password*'
            (Connect-Trusting $old $listener | Invoke-RpcMethod SayHello).text | Should -Be 'x'
            $password = ConvertTo-SecureString hush -AsPlainText
            foreach ($option in @{ CertificatePassword = $password }, (New-RpcListenerOption -CertificatePassword $password)) {
                $listener | Set-RpcListener -Certificate $old
                Set-RpcListener $listener.Id -Certificate $file -ListenerOption $option
                (Connect-Trusting $new $listener | Invoke-RpcMethod SayHello).text | Should -Be 'x'
            }
        }

        It 'refuses one on endpoints without TLS, and one without its key' {
            $plain = Start-TestListener @{ SayHello = @{ text = 'x' } } -Endpoint 'tcp://127.0.0.1:0'
            $tls = Start-TestListener @{ SayHello = @{ text = 'x' } } -Endpoint 'https://127.0.0.1:0/' `
                -With @{ Certificate = $old }
            $bare = [Security.Cryptography.X509Certificates.X509CertificateLoader]::LoadCertificate($new.RawData)

            { Set-RpcListener $plain -Certificate $new -ErrorAction Stop } | Should -Throw -ErrorId 'TlsNotSupported,*'
            { Set-RpcListener $tls -Certificate $bare -ErrorAction Stop } | Should -Throw -ErrorId 'InvalidCertificate,*'
            { Set-RpcListener $tls -ListenerOption @{ CertificatePassword = ConvertTo-SecureString x -AsPlainText } -Filter @() -ErrorAction Stop } |
                Should -Throw -ErrorId 'ParameterNotSupported,*'
            Set-RpcListener $tls -Certificate $new -WhatIf
            (Connect-Trusting $old $tls | Invoke-RpcMethod SayHello).text | Should -Be 'x'
        }
    }

    Context 'checks of callers' {
        BeforeAll {
            function Connect-As([string] $Password, $Listener, [int] $Index = 0) {
                Connect-RpcEndpoint $Listener.Endpoint[$Index] -Schema $Listener.Schema -Service demo.Greeter `
                    -Credential ([pscredential]::new('ann', (ConvertTo-SecureString $Password -AsPlainText)))
            }
            function Call($Connection) {
                try { ($Connection | Invoke-RpcMethod SayHello @{} -ErrorAction Stop).text }
                catch { $_.Exception.Code }
            }
            $greet = { @{ text = "hi $($RpcContext.User.Name)" } }
        }

        It 'replaces the check of passwords, also for connections that are open, and leaves the others' {
            $listener = Start-TestListener @{ SayHello = $greet } -Endpoint 'http://127.0.0.1:0/', 'grpc://127.0.0.1:0' -With @{
                BasicCheck = { param($Credential) $Credential.GetNetworkCredential().Password -eq 'old' }
                BearerCheck = { param($Token) if ($Token -eq 'right') { 'robot' } }
            }
            $old = Connect-As old $listener
            $new = Connect-As new $listener 1
            $robot = Connect-RpcEndpoint $listener.Endpoint[0] -Schema $listener.Schema -Service demo.Greeter `
                -Header @{ Authorization = 'Bearer right' }
            Call $old | Should -Be 'hi ann'
            Call $new | Should -Be 'Unauthenticated'

            $password = 'new'
            Set-RpcListener $listener -BasicCheck {
                param($Credential) if ($Credential.GetNetworkCredential().Password -eq $using:password) { 'anna' }
            }

            Call $old | Should -Be 'Unauthenticated'
            Call $new | Should -Be 'hi anna'
            Call $robot | Should -Be 'hi robot'
            Set-RpcListener $listener -BearerCheck { 'other' } -Handler @{ SayHello = { @{ text = "new $($RpcContext.User.Name)" } } }
            Call $robot | Should -Be 'new other'
            Call $new | Should -Be 'new anna'
        }

        It 'checks a caller to the end by the check that began' {
            $began = [Threading.ManualResetEventSlim]::new()
            $goesOn = [Threading.ManualResetEventSlim]::new()
            $listener = Start-TestListener @{ SayHello = $greet } -Endpoint 'http://127.0.0.1:0/' -With @{
                BasicCheck = { ($using:began).Set(); $null = ($using:goesOn).Wait(20000); $true }
            }
            $running = Connect-As x $listener | Invoke-RpcMethod SayHello @{} -AsJob
            $began.Wait(20000) | Should -BeTrue

            Set-RpcListener $listener -BasicCheck { $false }

            Call (Connect-As x $listener) | Should -Be 'Unauthenticated'
            $goesOn.Set()
            ($running | Complete-Job).text | Should -Be 'hi ann'
        }

        It 'ends the runspaces of checks that are gone' {
            $listener = Start-TestListener @{ SayHello = @{ text = 'x' } } -Endpoint 'http://127.0.0.1:0/' -With @{
                BasicCheck = { $true }
            }
            $rpc = Connect-As x $listener
            Call $rpc | Should -Be 'x'
            $before = @(Get-Runspace).Count
            foreach ($i in 1..5) {
                Set-RpcListener $listener -BasicCheck { $true }
                Call $rpc | Should -Be 'x'
            }
            Wait-Until { @(Get-Runspace).Count -le $before } | Should -BeTrue
            $listener | Stop-RpcListener
            Wait-Until { @(Get-Runspace).Count -lt $before } | Should -BeTrue
        }

        It 'changes nothing where one of the values cannot be used' {
            $listener = Start-TestListener @{ SayHello = $greet } -Endpoint 'http://127.0.0.1:0/' -With @{
                BasicCheck = { $true }
            }
            $rpc = Connect-As x $listener
            { Set-RpcListener $listener -BasicCheck { $false } -BearerCheck { $true } -ErrorAction Stop } |
                Should -Throw -ErrorId 'NoSuchCheck,*' -ExpectedMessage '*-BearerCheck*'
            { Set-RpcListener $listener -BasicCheck { $false } -Handler @{ Nothing = { } } -ErrorAction Stop } |
                Should -Throw
            Set-RpcListener $listener -BasicCheck { $false } -WhatIf
            Call $rpc | Should -Be 'hi ann'
        }

        It 'refuses checks of listeners that have none' {
            $native = Start-TestListener @{ SayHello = $greet }
            { Set-RpcListener $native -CertificateCheck { } -ErrorAction Stop } |
                Should -Throw -ErrorId 'NoSuchCheck,*'
            $raw = Start-RpcListener "ncalrpc:[$(New-TestName)]" -InterfaceId (New-Guid) -Handler { $Bytes }
            { Set-RpcListener $raw -BasicCheck { } -ErrorAction Stop } | Should -Throw -ErrorId 'RawListener,*'
            { Set-RpcListener $native -BasicCheck { } -ListenerOption @{ WorkerCount = 2 } } | Should -Throw
        }
    }

    Context 'bad arguments' {
        It 'needs something to set' {
            { Start-TestListener { } | Set-RpcListener } | Should -Throw -ErrorId 'NothingToSet,*'
        }

        It 'refuses a listener of the raw layer' {
            $raw = Start-RpcListener "ncalrpc:[$(New-TestName)]" -InterfaceId (New-Guid) -Handler { $Bytes }
            { $raw | Set-RpcListener -Filter { } -ErrorAction Stop } | Should -Throw -ErrorId 'RawListener,*'
        }

        It 'refuses a listener that has stopped' {
            $listener = Start-TestListener { }
            $listener | Stop-RpcListener
            { $listener | Set-RpcListener -Handler { } -ErrorAction Stop } |
                Should -Throw -ErrorId 'RpcStatus.FailedPrecondition,*'
        }

        It 'says which id no listener has' {
            { Set-RpcListener 99999 -Handler { } -ErrorAction Stop } | Should -Throw '*99999*'
        }
    }
}
