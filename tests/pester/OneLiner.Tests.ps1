. (Join-Path $PSScriptRoot common.ps1)

Describe 'Invoke-RpcMethod -Endpoint' {
    BeforeAll {
        $greeter = Join-Path $TestProtos greeter.proto
        $handler = @{
            SayHello = {
                param($Request)
                if ($Request.name -eq 'fail') { throw 'out of paper' }
                if ($Request.name -eq 'forever') { while ($true) { } }
                @{ text = "hi $($Request.name)" }
            }
        }
        $listener = Start-TestListener $handler
        $there = "$($listener.Endpoint[0])"
    }

    BeforeEach {
        Disconnect-RpcEndpoint -Pooled
    }

    AfterAll {
        Disconnect-RpcEndpoint -Pooled
        Get-Job | Remove-Job -Force
        Clear-Test
    }

    It 'calls without Connect-RpcEndpoint' {
        (Invoke-RpcMethod SayHello @{ name = 'Ann' } -Endpoint $there -Schema $greeter).text | Should -Be 'hi Ann'
    }

    It 'keeps the connection for the next call' {
        $before = $listener.Accepted
        1..5 | ForEach-Object { Invoke-RpcMethod SayHello -Endpoint $there -Schema $greeter } |
            Should -HaveCount 5

        $listener.Accepted | Should -Be ($before + 1)
    }

    It 'is no open connection of the session' {
        $null = Invoke-RpcMethod SayHello -Endpoint $there -Schema $greeter

        Get-RpcConnection | Should -BeNullOrEmpty
        { Invoke-RpcMethod SayHello -ErrorAction Stop } | Should -Throw -ErrorId 'NoConnection,*'
    }

    It 'keeps another connection for another schema or other options' {
        $before = $listener.Accepted
        $null = Invoke-RpcMethod SayHello -Endpoint $there -Schema $greeter
        $null = Invoke-RpcMethod SayHello -Endpoint $there -Schema (Import-RpcSchema $greeter)
        $null = Invoke-RpcMethod SayHello -Endpoint $there -Schema $greeter -ConnectionOption @{ Limits = @{ MaxMessageBytes = 1000 } }

        $listener.Accepted | Should -Be ($before + 3)
    }

    It 'closes what it keeps with Disconnect-RpcEndpoint -Pooled' {
        $null = Invoke-RpcMethod SayHello -Endpoint $there -Schema $greeter
        $listener.Connections | Should -Be 1
        Disconnect-RpcEndpoint -Pooled

        Wait-Until { $listener.Connections -eq 0 } | Should -BeTrue
    }

    It 'closes what it keeps with the runspace' {
        $shell = [powershell]::Create()
        $null = $shell.AddScript({
            param($Module, $There, $Schema)
            Import-Module $Module
            Invoke-RpcMethod SayHello -Endpoint $There -Schema $Schema
        }).AddArgument($ModuleManifest).AddArgument($there).AddArgument($greeter)
        $shell.Invoke() | Should -HaveCount 1
        $listener.Connections | Should -Be 1
        $shell.Runspace.Dispose()
        $shell.Dispose()

        Wait-Until { $listener.Connections -eq 0 } | Should -BeTrue
    }

    It 'closes what it keeps with the module' {
        $shell = [powershell]::Create()
        $null = $shell.AddScript({
            param($Module, $There, $Schema)
            Import-Module $Module
            $null = Invoke-RpcMethod SayHello -Endpoint $There -Schema $Schema
            Remove-Module ProtoRpc
        }).AddArgument($ModuleManifest).AddArgument($there).AddArgument($greeter)
        $null = $shell.Invoke()
        $shell.Streams.Error | Should -BeNullOrEmpty

        Wait-Until { $listener.Connections -eq 0 } | Should -BeTrue
        $shell.Dispose()
    }

    It 'connects again to a server that was restarted' {
        $one = Start-TestListener $handler -Endpoint 'ncacn_ip_tcp:127.0.0.1[0]'
        $where = "$($one.Endpoint[0])"
        (Invoke-RpcMethod SayHello @{ name = 'a' } -Endpoint $where -Schema $greeter).text | Should -Be 'hi a'
        $one | Stop-RpcListener -DrainTimeout 0
        $two = Start-TestListener $handler -Endpoint $where

        (Invoke-RpcMethod SayHello @{ name = 'b' } -Endpoint $where -Schema $greeter).text | Should -Be 'hi b'
        $two | Stop-RpcListener
    }

    It 'reads a schema again whose file changed' {
        $proto = Join-Path $TestDrive changing.proto
        $text = Get-Content $greeter -Raw
        Set-Content $proto $text
        (Get-Item $proto).LastWriteTimeUtc = [datetime]::UtcNow.AddHours(-1)
        $null = Invoke-RpcMethod SayHello @{ name = 'a' } -Endpoint $there -Schema $proto
        Set-Content $proto ($text -replace 'SayHello', 'SayHelloAgain')

        { Invoke-RpcMethod SayHello @{ name = 'a' } -Endpoint $there -Schema $proto -ErrorAction Stop } |
            Should -Throw -ErrorId 'MethodNotFound,*'
    }

    It 'asks for the schema where none is given, and again when the server has another one' {
        $one = Start-TestListener $handler -Endpoint 'grpc://127.0.0.1:0'
        $where = "$($one.Endpoint[0])"
        (Invoke-RpcMethod SayHello @{ name = 'a' } -Endpoint $where).text | Should -Be 'hi a'
        $one | Stop-RpcListener -DrainTimeout 0
        $proto = Join-Path $TestDrive newer.proto
        Set-Content $proto ('syntax = "proto3"; package demo; service Greeter { rpc Wave (A) returns (B); } ' +
            'message A { string hand = 1; } message B { string text = 1; }')
        $two = Start-RpcListener $where -Schema $proto -Handler { @{ text = "waves $($Request.hand)" } }

        (Invoke-RpcMethod Wave @{ hand = 'left' } -Endpoint $where).text | Should -Be 'waves left'
        $rows = Invoke-RpcMethod Wave @{ hand = 'right' } -Endpoint $where, $where
        $rows.text | Should -Be @('waves right', 'waves right')
        $two | Stop-RpcListener
    }

    It 'says what is missing without a schema where servers do not tell theirs' {
        { Invoke-RpcMethod SayHello -Endpoint $there -ErrorAction Stop } |
            Should -Throw -ErrorId 'NoSchema,*' -ExpectedMessage '*Give -Schema*'
        Invoke-RpcMethod SayHello -Endpoint $there, $there -ErrorAction SilentlyContinue -ErrorVariable errors
        $errors.FullyQualifiedErrorId | Should -Be (@('NoSchema,ProtoRpc.InvokeRpcMethodCommand') * 2)
    }

    It 'says that nothing answers' {
        { Invoke-RpcMethod SayHello -Endpoint 'ncalrpc:[NobodyIsHere]' -Schema $greeter -ErrorAction Stop } |
            Should -Throw -ErrorId 'RpcStatus.Unavailable,*'
        { Invoke-RpcMethod SayHello -Endpoint 'nonsense' -Schema $greeter -ErrorAction Stop } |
            Should -Throw -ErrorId 'InvalidEndpoint,*'
    }

    It 'rejects a parameter that does not apply to the endpoint' {
        { Invoke-RpcMethod SayHello -Endpoint $there -Schema $greeter -ConnectionOption @{ Format = 'Json' } -ErrorAction Stop } |
            Should -Throw -ErrorId 'ParameterNotSupported,*'
    }

    It 'calls once for each object of the pipeline over one connection' {
        $before = $listener.Accepted
        $replies = 'a', 'b', 'c' | ForEach-Object { @{ name = $_ } } |
            Invoke-RpcMethod SayHello -Endpoint $there -Schema $greeter

        $replies.text | Should -Be 'hi a', 'hi b', 'hi c'
        $listener.Accepted | Should -Be ($before + 1)
    }

    It 'offers the methods of the endpoint' {
        (Complete "Invoke-RpcMethod -Endpoint '$there' -Method Say").CompletionText | Should -Contain 'SayHello'
    }

    It 'never gives the connection of one user to another of the same name' {
        $account = [pscredential]::new('ann', (ConvertTo-SecureString secret -AsPlainText))
        $locked = Start-TestListener @{ SayHello = { @{ text = $RpcContext.User.Name } } } `
            -Endpoint 'ncacn_ip_tcp:127.0.0.1[0]' -With @{ Authentication = 'Ntlm'; ListenerOption = @{ NtlmAccount = $account } }
        $call = @{
            Method = 'SayHello'
            Endpoint = "$($locked.Endpoint[0])"
            Schema = $greeter
            ConnectionOption = @{ Mechanism = 'Ntlm' }
        }
        function New-Credential($Password) {
            [pscredential]::new('ann', (ConvertTo-SecureString $Password -AsPlainText))
        }

        (Invoke-RpcMethod @call -Credential (New-Credential secret)).text | Should -Match 'ann'
        { Invoke-RpcMethod @call -Credential (New-Credential guess) -ErrorAction Stop } | Should -Throw
        (Invoke-RpcMethod @call -Credential (New-Credential secret)).text | Should -Match 'ann'
        $locked.Accepted | Should -Be 2
        $locked | Stop-RpcListener
    }

    It 'leaves connections of the pipeline what they are' {
        $one = Connect-RpcEndpoint $there -Schema $greeter -Service demo.Greeter
        $two = Connect-RpcEndpoint $there -Schema $greeter -Service demo.Greeter

        ($one | Invoke-RpcMethod SayHello).text | Should -Be 'hi '
        ($one, $two | Invoke-RpcMethod SayHello).text | Should -Be 'hi ', 'hi '
        ($one, $two | Invoke-RpcMethod SayHello -ThrottleLimit 2).text | Should -Be 'hi ', 'hi '
        ($one, $two | Invoke-RpcMethod SayHello @{ name = 'a' }).text | Should -Be 'hi a', 'hi a'
        (@{ name = 'a' } | Invoke-RpcMethod SayHello -Connection $one).text | Should -Be 'hi a'
        { $one | Invoke-RpcMethod SayHello -Endpoint $there -Schema $greeter -ErrorAction Stop } |
            Should -Throw -ErrorId 'ParameterNotSupported,*'
        $one, $two | Disconnect-RpcEndpoint
    }

    It 'works in several runspaces at once' {
        $texts = 1..8 | ForEach-Object -Parallel {
            Import-Module $using:ModuleManifest
            (Invoke-RpcMethod SayHello @{ name = "$_" } -Endpoint $using:there -Schema $using:greeter).text
        } -ThrottleLimit 4

        $texts | Sort-Object | Should -Be (1..8 | ForEach-Object { "hi $_" })
    }

    It 'works under StrictMode' {
        Set-StrictMode -Version Latest
        $row = Invoke-RpcMethod SayHello @{ name = 'Ann' } -Endpoint $there -Schema $greeter -PassThruResult
        $row.Reply.text | Should -Be 'hi Ann'
        $row | Format-Table | Out-String | Should -Match '(?m)^ncalrpc\S+ +OK '
        "$($row.Summary)" | Should -Be '1 call: 1 OK'
    }

    It 'makes a job' {
        $job = Invoke-RpcMethod SayHello @{ name = 'Ann' } -Endpoint $there -Schema $greeter -AsJob

        ($job | Receive-Job -Wait).text | Should -Be 'hi Ann'
    }

    It 'stops a job' {
        $job = Invoke-RpcMethod SayHello @{ name = 'forever' } -Endpoint $there -Schema $greeter -AsJob
        $job | Stop-Job
        Wait-Until { $job.State -eq 'Stopped' } | Should -BeTrue
    }

    It 'ends after Ctrl+C, with an endpoint that does not answer' {
        $silent = [Net.Sockets.TcpListener]::new([Net.IPAddress]::Loopback, 0)
        $silent.Start()
        $where = "ncacn_ip_tcp:127.0.0.1[$($silent.LocalEndpoint.Port)]"
        $shell = [powershell]::Create()
        $null = $shell.AddScript({
            param($Module, $Where, $Schema)
            Import-Module $Module
            'ready'
            Invoke-RpcMethod SayHello -Endpoint $Where, $Where -Schema $Schema
        }).AddArgument($ModuleManifest).AddArgument($where).AddArgument($greeter)
        $output = [Management.Automation.PSDataCollection[psobject]]::new()
        $null = $shell.BeginInvoke([Management.Automation.PSDataCollection[psobject]]::new(), $output)
        Wait-Until { $silent.Pending() } | Should -BeTrue
        $watch = [Diagnostics.Stopwatch]::StartNew()
        $shell.Stop()

        $watch.Elapsed.TotalSeconds | Should -BeLessThan 10
        $silent.Stop()
        $shell.Runspace.Dispose()
        $shell.Dispose()
    }
}

Describe 'Invoke-RpcMethod -PassThruResult' {
    BeforeAll {
        $greeter = Join-Path $TestProtos greeter.proto
        $handler = @{ SayHello = { param($Request) if ($Request.name -eq 'fail') { throw 'out of paper' } @{ text = 'hi' } } }
        $listeners = 1..3 | ForEach-Object { Start-TestListener $handler }
        $there = $listeners.Endpoint | ForEach-Object ToString
        $call = @{ Method = 'SayHello'; Schema = $greeter; PassThruResult = $true }
    }

    AfterAll {
        Disconnect-RpcEndpoint -Pooled
        Get-Job | Remove-Job -Force
        Clear-Test
    }

    It 'gives a row for each endpoint, dead ones and wrong ones too' {
        $rows = Invoke-RpcMethod @call -Endpoint ($there + 'ncalrpc:[NobodyIsHere]' + 'nonsense') -ErrorVariable errors

        $errors | Should -BeNullOrEmpty
        $rows | Should -HaveCount 5
        $rows.Endpoint | Sort-Object | Should -Be ($there + 'ncalrpc:[NobodyIsHere]' + 'nonsense' | Sort-Object)
        ($rows | Where-Object Status -EQ OK).Reply.text | Should -Be 'hi', 'hi', 'hi'
        $dead = $rows | Where-Object Endpoint -EQ 'ncalrpc:[NobodyIsHere]'
        $dead.Status | Should -Be Unavailable
        $dead.Error | Should -BeOfType ProtoRpc.RpcException
        $dead.Reply | Should -BeNullOrEmpty
        ($rows | Where-Object Endpoint -EQ nonsense).Error.ErrorId | Should -Be InvalidEndpoint
        $rows.Milliseconds | ForEach-Object { $_ | Should -BeGreaterOrEqual 0 }
    }

    It 'leaves out the blank lines of a file with endpoints' {
        $file = Join-Path $TestDrive hosts.txt
        Set-Content $file ($there[0], '', $there[1], '  ', '')

        $rows = Invoke-RpcMethod @call -Endpoint (Get-Content $file)
        $rows.Status | Should -Be OK, OK
        $open = Connect-RpcEndpoint (Get-Content $file) -Schema $greeter -Service demo.Greeter
        $open | Should -HaveCount 2
        $open | Disconnect-RpcEndpoint
        Test-RpcEndpoint (Get-Content $file) -Schema $greeter -Service demo.Greeter | Should -HaveCount 2
        foreach ($blank in '', ('', ' '), $null) {
            { Invoke-RpcMethod @call -Endpoint $blank -ErrorAction Stop } |
                Should -Throw -ErrorId 'ParameterArgumentValidationError*,ProtoRpc.InvokeRpcMethodCommand'
        }
    }

    It 'counts all of them above a table' {
        $rows = Invoke-RpcMethod @call -Endpoint ($there + 'ncalrpc:[NobodyIsHere]')

        $rows[0].Summary.Total | Should -Be 4
        $rows[0].Summary.Failed | Should -Be 1
        $text = $rows | Out-String
        $text | Should -Match 'Summary: 4 calls: 3 OK, 1 Unavailable'
        ([regex]::Matches($text, 'Summary:')).Count | Should -Be 1
    }

    It 'tells the failure of a handler in its row' {
        $row = Invoke-RpcMethod @call -Message @{ name = 'fail' } -Endpoint $there[0]

        $row.Status | Should -Be Unknown
        $row.Error.Message | Should -BeLike '*out of paper*'
    }

    It 'works with connections, and with messages of the pipeline' {
        $rpc = $there | ForEach-Object { Connect-RpcEndpoint $_ -Schema $greeter -Service demo.Greeter }
        $rows = @{ name = 'a' }, @{ name = 'fail' } | Invoke-RpcMethod SayHello -Connection $rpc -PassThruResult
        $rpc | Disconnect-RpcEndpoint

        $rows | Should -HaveCount 6
        ($rows | Where-Object Error) | Should -HaveCount 3
    }

    It 'works as a job' {
        $job = Invoke-RpcMethod @call -Endpoint ($there + 'nonsense') -AsJob
        $rows = $job | Receive-Job -Wait

        $rows | Should -HaveCount 4
        $job.State | Should -Be Completed
        $job.StatusMessage | Should -Be '4 calls, 1 failed'
        $rows[0].Summary.ToString() | Should -Be '4 calls: 3 OK, 1 InvalidArgument'
    }

    It 'has an error of its own for each endpoint without it' {
        $replies = Invoke-RpcMethod SayHello -Schema $greeter -Endpoint ($there + 'ncalrpc:[NobodyIsHere]' + 'nonsense') `
            -ErrorAction SilentlyContinue -ErrorVariable errors

        $replies.PSRpcEndpoint | Sort-Object | Should -Be ($there | Sort-Object)
        $errors.TargetObject | Sort-Object | Should -Be 'ncalrpc:[NobodyIsHere]', 'nonsense'
    }

    It 'calls no endpoint with a message that none takes' {
        $before = ($listeners | Measure-Object Calls -Sum).Sum
        $rows = Invoke-RpcMethod @call -Message @{ nam = 'a' } -Endpoint $there

        $rows.Status | Should -Be (@([ProtoRpc.RpcStatusCode]::InvalidArgument) * 3)
        ($listeners | Measure-Object Calls -Sum).Sum | Should -Be $before
    }

    It 'calls a thousand endpoints, and keeps few connections' {
        $one = Start-TestListener $handler -Endpoint 'ncacn_ip_tcp:127.0.0.1[0]'
        $port = $one.Endpoint[0].Port
        $many = foreach ($i in 1..200) { "ncacn_ip_tcp:127.0.0.$i[$port]" }
        $dead = foreach ($i in 1..800) { "ncalrpc:[nobody$i]" }
        $rows = Invoke-RpcMethod @call -Endpoint ($many + $dead) -ThrottleLimit 16

        $rows | Should -HaveCount 1000
        ($rows | Where-Object Status -EQ Unavailable).Count | Should -BeGreaterOrEqual 800
        Wait-Until { $one.Connections -le 64 } | Should -BeTrue
        $one | Stop-RpcListener -DrainTimeout 0
    }
}
