. (Join-Path $PSScriptRoot common.ps1)

BeforeDiscovery {
    # Each of them starts or changes a listener with the settings $with. A mock ends with its script block, so they
    # are dot-sourced.
    $cmdlets = @(
        @{ Cmdlet = 'Start-RpcListener'; Run = { Start-TestListener $handler -With $with } }
        @{ Cmdlet = 'Set-RpcListener'; Run = {
                $changed = Start-TestListener @{ SayHello = @{ text = 'old' } }
                $changed | Set-RpcListener -Handler $handler @with -ErrorAction Stop
                $changed
            } }
        @{ Cmdlet = 'New-RpcMock'; Run = { New-RpcMock $greeter -Reply @{ SayHello = $handler } @with } }
        @{ Cmdlet = 'Set-RpcMock'; Run = {
                $changed = New-RpcMock $greeter
                $changed | Set-RpcMock -Reply @{ SayHello = $handler } @with
                $changed
            } }
    )
}

Describe '-ListenerOption' {
    BeforeAll {
        $greeter = Import-RpcSchema (Join-Path $TestProtos greeter.proto)
        $module = Join-Path $TestDrive Greeting.psm1
        Set-Content $module 'function Get-Greeting { "hello" }'
        $gate = [Threading.ManualResetEventSlim]::new()
        $handler = {
            param($Request)
            if ($Request.name -eq 'wait') { $null = ($using:gate).Wait(20000) }
            @{ text = "$(Get-Command Get-Greeting -ErrorAction Ignore | ForEach-Object { & $_ }) $global:prepared" }
        }
        $settings = @{
            WorkerCount = 1
            Module = $module
            InitializationScript = { $global:prepared = 'Ann' }
        }
        $secret = ConvertTo-SecureString hush -AsPlainText

        # Whether the second of two calls waits for the only worker.
        function Test-OneWorker($Listener, $Connection) {
            $gate.Reset()
            $jobs = 1..2 | ForEach-Object { Invoke-RpcMethod SayHello @{ name = 'wait' } -Connection $Connection -AsJob }
            Wait-Until { $Listener.InFlight -eq 2 -and $Listener.Queued -eq 1 }
            $gate.Set()
            $null = $jobs | Complete-Job
        }
    }

    AfterEach {
        $gate.Set()
        Clear-Test
    }

    Context '<Cmdlet>' -ForEach $cmdlets {
        It 'sets the workers, as <_>' -ForEach 'a hashtable', 'an object' {
            $with = @{ ListenerOption = $_ -eq 'an object' ? (New-RpcListenerOption @settings) : $settings }
            $listener = . $Run
            $rpc = Connect-Test $listener

            ($rpc | Invoke-RpcMethod SayHello).text | Should -Be 'hello Ann'
            Test-OneWorker $listener $rpc | Should -BeTrue
        }

        It 'sets <Name> alone, as <As>' -ForEach @(
            @{ Name = 'Module'; As = 'a hashtable'; Text = 'hello ' }
            @{ Name = 'Module'; As = 'an object'; Text = 'hello ' }
            @{ Name = 'InitializationScript'; As = 'a hashtable'; Text = ' Ann' }
            @{ Name = 'InitializationScript'; As = 'an object'; Text = ' Ann' }
        ) {
            $one = @{ $Name = $settings[$Name] }
            $with = @{ ListenerOption = $As -eq 'an object' ? (New-RpcListenerOption @one) : $one }

            $listener = . $Run

            (Connect-Test $listener | Invoke-RpcMethod SayHello).text | Should -Be $Text
        }

        It 'rejects Impersonate where threads cannot act as others' -Skip:$IsWindows {
            foreach ($option in @{ Impersonate = $true }, (New-RpcListenerOption -Impersonate)) {
                $with = @{ ListenerOption = $option }
                { . $Run } | Should -Throw -ErrorId 'ImpersonationNotSupported,*' `
                    -ExpectedMessage 'Impersonate of -ListenerOption works only on Windows*'
            }
        }

        It 'checks <Name> = <Value>' -ForEach @(
            @{ Name = 'WorkerCount'; Value = 0 }
            @{ Name = 'WorkerCount'; Value = 1025 }
            @{ Name = 'Module'; Value = @() }
            @{ Name = 'InitializationScript'; Value = $null }
        ) {
            $with = @{ ListenerOption = @{ $Name = $Value } }
            { . $Run } | Should -Throw -ErrorId 'ParameterArgumentTransformationError,*' -ExpectedMessage "*'$Name'*"
        }
    }

    Context 'Set-RpcListener' {
        It 'does not change the number of workers unless it is set' {
            $listener = Start-TestListener { } -With @{ ListenerOption = @{ WorkerCount = 1 } }
            Set-RpcListener $listener -Handler $handler
            $rpc = Connect-Test $listener

            Test-OneWorker $listener $rpc | Should -BeTrue
        }

        It 'forwards and blocks headers, as <_>' -ForEach 'a hashtable', 'an object' {
            $server = Start-TestListener {
                @{ text = "$($RpcContext.RequestHeaders['authorization'])|$($RpcContext.RequestHeaders['x-a'])" }
            } -Endpoint 'grpc://127.0.0.1:0'
            $back = Connect-RpcEndpoint $server.Endpoint[0] -Schema $greeter -Service demo.Greeter
            $listener = Start-TestListener { } -Endpoint 'grpc://127.0.0.1:0'
            $headers = @{ ForwardHeader = 'authorization'; BlockHeader = 'x-*' }
            $option = $_ -eq 'an object' ? (New-RpcListenerOption @headers) : $headers
            $rpc = Connect-RpcEndpoint $listener.Endpoint[0] -Schema $greeter -Service demo.Greeter
            $sent = @{ Header = @{ authorization = 'Bearer x'; 'x-a' = 'a' } }

            Set-RpcListener $listener -Handler $back
            ($rpc | Invoke-RpcMethod SayHello @sent).text | Should -Be '|a'
            Set-RpcListener $listener -Handler $back -ListenerOption $option
            ($rpc | Invoke-RpcMethod SayHello @sent).text | Should -Be 'Bearer x|'
        }

        It 'rejects <Setting>, which cannot change' -ForEach @(
            @{ Setting = 'AllowedOrigin'; Value = '*' }
            @{ Setting = 'AllowedUser'; Value = 'root' }
            @{ Setting = 'ErrorDetail'; Value = 'None' }
            @{ Setting = 'MaxCalls'; Value = 3 }
            @{ Setting = 'ReplyCompression'; Value = 'Never' }
        ) {
            $listener = Start-TestListener { @{ text = 'old' } }
            $problem = { Set-RpcListener $listener -Handler { } -ListenerOption @{ $Setting = $Value; WorkerCount = 2 } } |
                Should -Throw -ErrorId 'ParameterNotSupported,*' -PassThru

            "$problem" | Should -Be ("$Setting of -ListenerOption cannot change while the listener runs. Stop the " +
                'listener, and start it again with this setting. Set-RpcListener supports WorkerCount, Module, ' +
                'InitializationScript, Impersonate, CertificatePassword, ForwardHeader, BlockHeader.')
            (Connect-Test $listener | Invoke-RpcMethod SayHello).text | Should -Be 'old'
        }

        It 'needs <Needs> for <Setting>' -ForEach @(
            @{ Setting = 'WorkerCount'; Value = 2; With = @{ Endpoint = 'inproc://x' }; Needs = '-Handler or -Filter' }
            @{ Setting = 'Module'; Value = 'x'; With = @{ Endpoint = 'inproc://x' }; Needs = '-Handler, -Filter or a check' }
            @{ Setting = 'InitializationScript'; Value = { }; With = @{ Endpoint = 'inproc://x' }; Needs = '-Handler, -Filter or a check' }
            @{ Setting = 'ForwardHeader'; Value = 'x'; With = @{ Handler = { } }; Needs = '-Handler, with a connection' }
            @{ Setting = 'BlockHeader'; Value = 'x'; With = @{ Handler = { } }; Needs = '-Handler, with a connection' }
            @{ Setting = 'CertificatePassword'; Value = [securestring]::new(); With = @{ Handler = { } }; Needs = '-Certificate' }
        ) {
            $listener = Start-TestListener { }
            { Set-RpcListener $listener @With -ListenerOption @{ $Setting = $Value } } |
                Should -Throw -ErrorId 'ParameterNotSupported,*' `
                    -ExpectedMessage "$Setting of -ListenerOption requires $Needs. Give both or neither."
        }

        It 'needs something else to set' {
            $listener = Start-TestListener { }
            { Set-RpcListener $listener -ListenerOption @{ WorkerCount = 2 } } | Should -Throw -ErrorId 'NothingToSet,*'
        }
    }

    Context 'mocks' {
        It 'have the settings of HTTP and gRPC endpoints' {
            $option = New-RpcListenerOption -NoReflection -NoHealth
            $mock = New-RpcMock $greeter -Endpoint 'grpc://127.0.0.1:0' -ListenerOption $option

            { Connect-RpcEndpoint $mock.Endpoint -Service demo.Greeter -ErrorAction Stop } | Should -Throw
            { New-RpcMock $greeter -ListenerOption @{ AllowedOrigin = '*' } } |
                Should -Throw -ErrorId 'ParameterNotSupported,*' `
                    -ExpectedMessage "AllowedOrigin of -ListenerOption does not apply to 'inproc://*"
        }

        It 'send as much of an exception as ErrorDetail says' {
            $reply = @{ SayHello = { [int]::Parse('pw=1') } }
            $texts = foreach ($option in @{}, @{ ErrorDetail = 'None' }) {
                $mock = New-RpcMock $greeter -Reply $reply -ListenerOption $option
                Invoke-RpcMethod SayHello -Connection $mock.Connection -ErrorAction SilentlyContinue -ErrorVariable failed
                "$($failed[0].Exception.Message) $($failed[0].Exception.Remote)"
            }

            $texts[0] | Should -BeLike '*pw=1*'
            $texts[1] | Should -Not -BeLike '*pw=1*'
        }

        It 'reject <Setting>, which they do not have' -ForEach @(
            @{ Setting = 'NtlmAccount'; Value = [pscredential]::new('bob', [securestring]::new()) }
            @{ Setting = 'AllowedUser'; Value = 'root' }
            @{ Setting = 'CertificatePassword'; Value = [securestring]::new() }
            @{ Setting = 'ForwardHeader'; Value = 'authorization' }
            @{ Setting = 'MaxCalls'; Value = 3 }
        ) {
            $option = @{ WorkerCount = 2; $Setting = $Value }
            $text = "$Setting of -ListenerOption does not apply to a mock. Use Start-RpcListener, whose -Handler also " +
                'accepts fixed replies.'
            { New-RpcMock $greeter -ListenerOption $option } | Should -Throw -ErrorId 'ParameterNotSupported,*' `
                -ExpectedMessage "$text New-RpcMock supports WorkerCount, *, ReplyCompression."
            $mock = New-RpcMock $greeter
            { $mock | Set-RpcMock -Reset -ListenerOption $option } |
                Should -Throw -ErrorId 'ParameterNotSupported,*' `
                    -ExpectedMessage "$text Set-RpcMock supports WorkerCount, Module, InitializationScript, Impersonate."
        }

        It 'reject <Setting>, which cannot change' -ForEach @(
            @{ Setting = 'ErrorDetail'; Value = 'None' }
            @{ Setting = 'NoHealth'; Value = $true }
        ) {
            $mock = New-RpcMock $greeter -Reply @{ SayHello = @{ text = 'old' } }
            $problem = { $mock | Set-RpcMock -Reply @{ SayHello = @{ text = 'new' } } -ListenerOption @{ $Setting = $Value } } |
                Should -Throw -ErrorId 'ParameterNotSupported,*' -PassThru

            "$problem" | Should -Be ("$Setting of -ListenerOption cannot change while the mock runs. Stop the mock, and " +
                'create one with this setting. Set-RpcMock supports WorkerCount, Module, InitializationScript, Impersonate.')
            (Connect-Test $mock | Invoke-RpcMethod SayHello).text | Should -Be 'old'
        }
    }

    Context 'New-RpcListenerOption' {
        It 'rejects a password in text, without showing it' {
            $problem = { New-RpcListenerOption -CertificatePassword hunter2 } | Should -Throw -PassThru
            "$problem" | Should -BeLike '*not a SecureString*Read-Host*'
            $table = { Start-TestListener { } -With @{ ListenerOption = @{ CertificatePassword = 'hunter2' } } } |
                Should -Throw -PassThru
            "$table" | Should -BeLike '*not a SecureString*Read-Host*'

            "$($problem.Exception) $($table.Exception)" | Should -Not -BeLike '*hunter2*'
        }

        It 'shows the settings that are given' {
            $shown = New-RpcListenerOption -WorkerCount 4 -Module a -InitializationScript { 1 } -CertificatePassword $secret |
                Out-String

            foreach ($line in 'WorkerCount +: 4', 'Module +: \{a\}', 'InitializationScript +: +1', 'CertificatePassword +: \S+SecureString') {
                $shown | Should -Match $line
            }
            $shown | Should -Not -BeLike '*Impersonate*'
        }
    }
}
