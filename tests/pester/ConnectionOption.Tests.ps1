. (Join-Path $PSScriptRoot common.ps1)

Describe '-ConnectionOption' {
    BeforeAll {
        $schema = Join-Path $TestProtos greeter.proto
        $tokens = [System.Collections.Concurrent.ConcurrentQueue[string]]::new()
        $handler = @{ SayHello = {
                @{ text = "$($RpcContext.RequestHeaders['authorization'])|$($RpcContext.RequestHeaders['x-a'])|$($RpcContext.RequestHeaders['x-b'])" }
            } }
        $listener = Start-TestListener $handler -Endpoint 'grpc://127.0.0.1:0'
        $to = @{ Schema = $schema; Service = 'demo.Greeter' }
        $where = "$($listener.Endpoint[0].Uri)"
        $before = $env:PROTORPC_ENDPOINTS
        $env:PROTORPC_ENDPOINTS = Join-Path $TestDrive endpoints.json
        $env:PROTORPC_TEST_FIRST = 'first'
        $env:PROTORPC_TEST_SECOND = 'second'

        function Get-Text([string] $Endpoint, $With) {
            (Invoke-RpcMethod SayHello -Endpoint $Endpoint @to @With).text
        }
    }

    AfterAll {
        $env:PROTORPC_ENDPOINTS = $before
        $env:PROTORPC_TEST_FIRST = $env:PROTORPC_TEST_SECOND = $null
        Disconnect-RpcEndpoint -Pooled
        Clear-Test
    }

    AfterEach { Get-RpcConnection | Disconnect-RpcEndpoint }

    It 'is an object or a hashtable, for <Cmdlet>' -ForEach @(
        @{ Cmdlet = 'Connect-RpcEndpoint'; With = @{} }
        @{ Cmdlet = 'Invoke-RpcMethod'; With = @{ Method = 'SayHello' } }
        @{ Cmdlet = 'Measure-RpcEndpoint'; With = @{ Method = 'SayHello'; Count = 2 } }
        @{ Cmdlet = 'Test-RpcEndpoint'; With = @{} }
        @{ Cmdlet = 'Wait-RpcEndpoint'; With = @{} }
    ) {
        foreach ($option in @{ Compression = 'Gzip' }, (New-RpcConnectionOption -Compression Gzip), ([ordered]@{ compression = 'gzip' })) {
            & $Cmdlet -Endpoint $where @to @With -ConnectionOption $option -ErrorAction Stop | Should -Not -BeNullOrEmpty
        }
    }

    It 'takes the reference of a secret where a cmdlet takes a secret' {
        Get-Text $where @{ Token = 'env:PROTORPC_TEST_FIRST' } | Should -Be 'Bearer first||'
        Get-Text $where @{ ConnectionOption = @{ Token = 'env:PROTORPC_TEST_SECOND' } } | Should -Be 'Bearer second||'
        { Connect-RpcEndpoint $where @to -Token hunter2 } |
            Should -Throw -ErrorId 'ParameterArgumentTransformationError,*' -ExpectedMessage "*'env:NAME'*'secret:NAME'*SecureString*"
        { Connect-RpcEndpoint $where @to -Token env:PROTORPC_NO_SUCH -ErrorAction Stop } |
            Should -Throw -ErrorId 'SecretNotFound,*' -ExpectedMessage '*PROTORPC_NO_SUCH*'
    }

    It 'refuses a token as plain text wherever it stands: <Why>' -ForEach @(
        @{ Why = 'splatted'; Act = { $with = @{ Token = 'hunter2' }; Connect-RpcEndpoint $where @to @with } }
        @{ Why = 'of a call'; Act = { Invoke-RpcMethod SayHello -Endpoint $where @to -Token hunter2 } }
        @{ Why = 'in -ConnectionOption'; Act = { Connect-RpcEndpoint $where @to -ConnectionOption @{ Token = 'hunter2' } } }
        @{ Why = 'of New-RpcConnectionOption'; Act = { New-RpcConnectionOption -Token hunter2 } }
        @{ Why = 'empty'; Act = { $token = ''; Connect-RpcEndpoint $where @to -Token $token } }
    ) {
        $problem = $Act | Should -Throw -PassThru

        "$problem" | Should -BeLike "*'env:NAME'*'secret:NAME'*Read-Host -AsSecureString*"
        "$problem$($problem.Exception)" | Should -Not -Match 'hunter2'
    }

    It 'refuses to register a token as plain text' {
        $problem = { Register-RpcEndpoint shop $where -ConnectionOption @{ Token = 'hunter2' } -Force } | Should -Throw -PassThru

        "$problem" | Should -BeLike '*never written to a file*env:VARIABLE*'
        "$problem$($problem.Exception)" | Should -Not -Match 'hunter2'
    }

    It 'shows no secret that is taken for a reference' {
        $problem = { Connect-RpcEndpoint $where @to -Token hunter2 } | Should -Throw -PassThru

        "$problem$($problem.Exception)" | Should -Not -Match 'hunter2'
    }

    It 'comes before what is registered, and after parameters' {
        Register-RpcEndpoint shop $where -ConnectionOption @{ Token = 'env:PROTORPC_TEST_FIRST'; RetryCount = 3 } -Force

        Get-Text shop @{} | Should -Be 'Bearer first||'
        Get-Text shop @{ ConnectionOption = @{ Token = 'env:PROTORPC_TEST_SECOND' } } | Should -Be 'Bearer second||'
        Get-Text shop @{ ConnectionOption = @{ Token = 'env:PROTORPC_TEST_FIRST' }; Token = 'env:PROTORPC_TEST_SECOND' } |
            Should -Be 'Bearer second||'
        Get-Text shop @{ ConnectionOption = @{ Authentication = 'Anonymous' } } | Should -Be '||'
    }

    It 'joins headers' {
        Get-Text $where @{ ConnectionOption = @{ Header = @{ 'x-a' = 'option'; 'X-B' = 'option' } }; Header = @{ 'x-b' = 'own' } } |
            Should -Be '|option|own'
        $rpc = Connect-RpcEndpoint $where @to -Header @{ 'x-a' = 'connection' }
        (Invoke-RpcMethod SayHello -Connection $rpc -ConnectionOption @{ Header = @{ 'x-b' = 'call' } }).text |
            Should -Be '|connection|call'
    }

    It 'replaces a registered identity as a whole: <Why>' -ForEach @(
        @{ Why = 'a user name'; With = @{ UserName = 'mallory' } }
        @{ Why = 'a token'; With = @{ Token = 'env:PROTORPC_TEST_SECOND' } }
        @{ Why = 'anonymous calls'; With = @{ Authentication = 'Anonymous' } }
    ) {
        Register-RpcEndpoint who $where -Force -ConnectionOption @{ UserName = 'ann'; Credential = 'env:PROTORPC_TEST_FIRST' }

        $text = try { Get-Text who @{ ConnectionOption = $With; ErrorAction = 'Stop' } } catch { "$_" }

        # What is sent for ann: neither her name nor her password goes with the other identity.
        $text | Should -Not -Match ([Convert]::ToBase64String([byte[]][char[]]'ann:first'))
        $text | Should -Not -Match 'Basic|first'
    }

    It 'gives way to the credential or token of the cmdlet as a whole: <Why>' -ForEach @(
        @{ Why = 'a credential'; Option = @{ UserName = 'alice'; Credential = 'env:PROTORPC_TEST_FIRST' }; User = 'bob'; Sent = 'Basic bob:pw' }
        @{ Why = 'a token'; Option = @{ UserName = 'alice'; Credential = 'env:PROTORPC_TEST_FIRST' }; User = ''; Sent = 'Bearer second' }
        @{ Why = 'a credential beside a token'; Option = @{ Token = 'env:PROTORPC_TEST_FIRST' }; User = 'bob'; Sent = 'Basic bob:pw' }
    ) {
        $given = $User ? @{ Credential = [pscredential]::new($User, (ConvertTo-SecureString pw -AsPlainText)) } : @{ Token = 'env:PROTORPC_TEST_SECOND' }

        $text = Get-Text $where (@{ ConnectionOption = $Option } + $given)

        $kind, $proof = $text.Split('|')[0].Split(' ')
        $shown = $kind -eq 'Basic' ? [Text.Encoding]::UTF8.GetString([Convert]::FromBase64String($proof)) : $proof
        "$kind $shown" | Should -Be $Sent
    }

    It 'has the user name for the reference of a password' {
        $text = Get-Text $where @{ ConnectionOption = @{ UserName = 'ann' }; Credential = 'env:PROTORPC_TEST_FIRST' }

        $text | Should -Be "Basic $([Convert]::ToBase64String([byte[]][char[]]'ann:first'))||"
    }

    It 'ignores a credential and its user name together where one of several endpoints cannot take them' {
        $all = Connect-RpcEndpoint http://rpc.test:1/, $where @to -Lazy -ErrorAction Stop -ConnectionOption @{
            UserName = 'ann'; Credential = 'env:PROTORPC_TEST_FIRST'
        }

        $all | Should -HaveCount 2
    }

    It 'sends no secret header in clear text, in a load test either' {
        $rpc = Connect-RpcEndpoint http://rpc.test:1/ @to -Lazy
        $with = @{ Header = @{ 'X-Api-Key' = ConvertTo-SecureString hush -AsPlainText } }

        { $rpc | Measure-RpcEndpoint SayHello -Count 1 -ConnectionOption $with -ErrorAction Stop } |
            Should -Throw -ErrorId 'UnencryptedEndpoint,*'
        { $rpc | Invoke-RpcMethod SayHello -ConnectionOption $with -ErrorAction Stop } |
            Should -Throw -ErrorId 'UnencryptedEndpoint,*'
    }

    It 'goes to no other host for the schema of a registered name' {
        $seen = [System.Collections.Concurrent.ConcurrentQueue[string]]::new()
        $other = Start-TestListener @{ SayHello = { @{} } } -Endpoint 'http://127.0.0.1:0/' -With @{
            BearerCheck = { param($token) ($using:seen).Enqueue("$token"); 'someone' }
            Authentication = 'None'
            AllowUnencrypted = $true
        }
        $proto = "http://localhost:$($other.Endpoint[0].Port)/greeter.proto"
        Register-RpcEndpoint far $where $proto -ConnectionOption @{ Token = 'env:PROTORPC_TEST_FIRST' } -Force

        (Import-RpcSchema -Endpoint far -ErrorAction Stop).Services.FullName | Should -Contain 'demo.Greeter'
        (Invoke-RpcMethod SayHello -Endpoint far -Service demo.Greeter -ErrorAction Stop).text | Should -Be 'Bearer first||'
        $seen.ToArray() | Should -Not -Contain 'first'
        $near = "http://127.0.0.1:$($other.Endpoint[0].Port)/greeter.proto"
        Register-RpcEndpoint near $near.Replace('greeter.proto', '') $near -ConnectionOption @{ Token = 'env:PROTORPC_TEST_FIRST' } -Force
        $null = Import-RpcSchema -Endpoint near -ErrorAction Stop
        $seen.ToArray() | Should -Contain 'first' -Because 'the check sees what is sent to its own host'
    }

    It 'names the service of a ping' {
        (Test-RpcEndpoint $where -ConnectionOption @{ Service = 'demo.Greeter' } -ErrorAction Stop).Health | Should -Be 'Serving'
        { Test-RpcEndpoint $where -ConnectionOption @{ Service = 'demo.Nothing' } -ErrorAction Stop } |
            Should -Throw -ErrorId 'ServiceNotServed,*'
    }

    It 'is joined with a row that is registered' {
        Register-RpcEndpoint first $where -Force -ConnectionOption @{ Token = 'env:PROTORPC_TEST_FIRST'; ServerName = 'a'; RetryCount = 3 }

        $copy = Get-RpcEndpoint first | Register-RpcEndpoint -Name second -Force -PassThru -ConnectionOption @{ ServerName = 'b' }
        $other = Get-RpcEndpoint first | Register-RpcEndpoint -Name third -Force -PassThru -ConnectionOption @{ UserName = 'ann'; Credential = 'env:X' }

        $copy.Token, $copy.ServerName, $copy.Retry.Count | Should -Be 'env:PROTORPC_TEST_FIRST', 'b', 3
        $other.Token | Should -BeNullOrEmpty
        $other.ServerName | Should -Be 'a'
    }

    It 'goes to no other host that only has the schema' {
        $seen = [System.Collections.Concurrent.ConcurrentQueue[string]]::new()
        $other = Start-TestListener @{ SayHello = { @{} } } -Endpoint 'http://127.0.0.1:0/' -With @{
            BearerCheck = { param($token) ($using:seen).Enqueue("$token"); 'someone' }
            Authentication = 'None'
            AllowUnencrypted = $true
        }
        $proto = "http://localhost:$($other.Endpoint[0].Port)/greeter.proto"

        foreach ($with in @{ ConnectionOption = @{ Token = 'env:PROTORPC_TEST_FIRST' } }, @{ Token = 'env:PROTORPC_TEST_FIRST' }) {
            $text = (Invoke-RpcMethod SayHello -Endpoint $where -Schema $proto -Service demo.Greeter @with).text

            $text | Should -Be 'Bearer first||'
        }
        $seen.ToArray() | Should -Not -Contain 'first'
    }

    It 'names the setting that a typing error meant' {
        { Connect-RpcEndpoint $where @to -ConnectionOption @{ Compresion = 'Gzip' } } |
            Should -Throw -ExpectedMessage "*'Compresion' is not a setting*'Compression'*"
        { Start-RpcListener grpc://127.0.0.1:0 @{} -Schema $schema -ListenerOption @{ AllowGot = $true } } |
            Should -Throw -ExpectedMessage "*'AllowGot' is not a setting*'AllowGet'*"
    }

    It 'checks values as parameters do: <Key>' -ForEach @(
        @{ Key = 'Retry'; Value = 101; Why = '*Count of -Retry is 101*100*' }
        @{ Key = 'Compression'; Value = 'Zip'; Why = '*Gzip*' }
        @{ Key = 'Format'; Value = 'Yaml'; Why = '*Json*' }
        @{ Key = 'KeepAlive'; Value = 'soon'; Why = "*'soon' is not a time*" }
        @{ Key = 'ProtectionLevel'; Value = 'None'; Why = '*Privacy*' }
        @{ Key = 'ServerName'; Value = ''; Why = '*ServerName*' }
        @{ Key = 'Limits'; Value = @{ MaxMesageBytes = 1 }; Why = '*MaxMessageBytes*' }
    ) {
        { Connect-RpcEndpoint $where @to -Lazy -ConnectionOption @{ $Key = $Value } } |
            Should -Throw -ErrorId 'ParameterArgumentTransformationError,*' -ExpectedMessage $Why
    }

    It 'takes no function in the place of the cmdlet' {
        function New-RpcConnectionOption { throw 'a function of the script' }

        (Connect-RpcEndpoint $where @to -ConnectionOption @{ Compression = 'Gzip' }).State | Should -Be Open
    }

    It 'takes for a call over a connection only what may differ: <Key>' -ForEach @(
        @{ Key = 'Tls'; Value = $true }
        @{ Key = 'Token'; Value = 'env:PROTORPC_TEST_FIRST' }
        @{ Key = 'Format'; Value = 'Json' }
        @{ Key = 'CallContext'; Value = @{ a = 'b' } }
    ) {
        $rpc = Connect-RpcEndpoint $where @to

        { Invoke-RpcMethod SayHello -Connection $rpc -ConnectionOption @{ $Key = $Value } -ErrorAction Stop } |
            Should -Throw -ErrorId 'ParameterNotSupported,*' -ExpectedMessage "$Key of -ConnectionOption*Connect-RpcEndpoint*"
        { $rpc | Measure-RpcEndpoint SayHello -Count 1 -ConnectionOption @{ $Key = $Value } -ErrorAction Stop } |
            Should -Throw -ErrorId 'ParameterNotSupported,*'
    }

    It 'refuses a call context that no connection would keep' {
        { Invoke-RpcMethod SayHello -Endpoint $where @to -ConnectionOption @{ CallContext = @{ a = 'b' } } -ErrorAction Stop } |
            Should -Throw -ErrorId 'ParameterNotSupported,*' -ExpectedMessage '*Connect-RpcEndpoint*'
    }

    It 'is not registered where a file cannot keep it: <Key>' -ForEach @(
        @{ Key = 'Header'; Value = @{ authorization = 'x' } }
        @{ Key = 'SkipCertificateCheck'; Value = $true }
        @{ Key = 'KeepAlive'; Value = 60 }
    ) {
        { Register-RpcEndpoint no $where -ConnectionOption @{ $Key = $Value } -ErrorAction Stop } |
            Should -Throw -ErrorId 'ParameterNotSupported,*' -ExpectedMessage "$Key of -ConnectionOption is not stored*"
    }

    It 'waits for a server with each call of a connection that was told to' {
        $free = Start-TestListener $handler -Endpoint 'grpc://127.0.0.1:0'
        $late = "$($free.Endpoint[0].Uri)"
        $free | Stop-RpcListener
        $rpc = Connect-RpcEndpoint $late @to -Lazy -ConnectionOption @{ WaitForReady = $true }
        $job = Invoke-RpcMethod SayHello -Connection $rpc -Deadline 30 -AsJob
        $again = Start-RpcListener $late $handler @to

        (Complete-Job $job).text | Should -Be '||'
        $again | Stop-RpcListener
        { Invoke-RpcMethod SayHello -Connection $rpc -Deadline 30 -ConnectionOption @{ WaitForReady = $false } -ErrorAction Stop } |
            Should -Throw -ErrorId 'RpcStatus.Unavailable,*'
    }

    It 'retries a call of a connection as often as the call says' {
        $free = Start-TestListener $handler -Endpoint 'grpc://127.0.0.1:0'
        $gone = "$($free.Endpoint[0].Uri)"
        $free | Stop-RpcListener
        $rpc = Connect-RpcEndpoint $gone @to -Lazy

        foreach ($with in @{ RetryCount = 1 }, @{ ConnectionOption = @{ RetryCount = 1 } }) {
            $null = Invoke-RpcMethod SayHello -Connection $rpc @with -ReplyInfoVariable info -ErrorAction SilentlyContinue

            $info.Retries | Should -Be 1
        }
    }

    It 'completes settings and their values' {
        Enable-RpcCompletion
        try {
            $offered = 'Connect-RpcEndpoint grpc://h:1 -ConnectionOption @{ Compr',
                'Test-RpcEndpoint grpc://h:1 -ConnectionOption @{ Compression = ',
                'Start-RpcListener grpc://h:1 -ListenerOption @{ NoRe',
                'Connect-RpcEndpoint grpc://h:1 -ConnectionOption @{ Header = @{ x-req' |
                ForEach-Object { , (TabExpansion2 $_ $_.Length).CompletionMatches }
        }
        finally { Disable-RpcCompletion }

        $offered[0].CompletionText | Should -Be Compression
        $offered[1].ListItemText | Should -Contain Gzip
        $offered[2].CompletionText | Should -Be NoReflection
        $offered[3].CompletionText | Should -Be "'x-request-id'"
        (Complete 'New-RpcConnectionOption -Compr').CompletionText | Should -Be '-Compression'
    }
}

Describe 'The parameters of the cmdlets' {
    BeforeAll {
        $common = [System.Management.Automation.PSCmdlet]::CommonParameters +
            [System.Management.Automation.PSCmdlet]::OptionalCommonParameters
        $parameters = foreach ($command in Get-Command -Module ProtoRpc -CommandType Cmdlet) {
            $command.Parameters.Values | Where-Object Name -NotIn $common |
                Select-Object Name, ParameterType, @{ Name = 'Cmdlet'; Expression = { $command.Name } }
        }
    }

    It 'are at most 300, and 26 of a cmdlet' {
        $parameters.Count | Should -BeLessOrEqual 300
        $parameters | Group-Object Cmdlet | Where-Object Count -GT 26 | Should -BeNullOrEmpty
    }
}
