. (Join-Path $PSScriptRoot common.ps1)

Describe 'Start-RpcListener' {
    BeforeAll {
        # What a handler made of a request.
        function Get-Answer($Listener, [string] $Name = '') {
            $rpc = Connect-Test $Listener
            try {
                (Invoke-RpcMethod SayHello @{ name = $Name } -Connection $rpc -ErrorAction Stop).text
            }
            finally {
                $rpc | Disconnect-RpcEndpoint
            }
        }
    }

    AfterEach { Clear-Test }

    It 'returns at once, with the endpoints as bound' {
        $listener = Start-TestListener { @{} } -Endpoint 'ncacn_ip_tcp:127.0.0.1[0]', "ncalrpc:[$(New-TestName)]"

        $listener.State | Should -Be 'Listening'
        $listener.Service | Should -Be 'demo.Greeter'
        $listener.Endpoint.Count | Should -Be 2
        $listener.Endpoint[0].Port | Should -BeGreaterThan 0
    }

    It 'takes a schema by path' {
        Push-Location $TestProtos
        try {
            $listener = Start-RpcListener "ncalrpc:[$(New-TestName)]" { @{ text = 'by path' } } `
                -Schema greeter.proto -Service Greeter
        }
        finally {
            Pop-Location
        }

        Get-Answer $listener | Should -Be 'by path'
    }

    It 'serves several services on one endpoint' {
        $listener = Start-TestListener @{
            'demo.Greeter/SayHello' = { @{ text = 'hello' } }
            SayGoodbye = { @{ text = 'goodbye' } }
        } -With @{ Service = 'demo.Greeter', 'demo.Parting' }

        $rpc = Connect-RpcEndpoint $listener.Endpoint[0] -Schema $listener.Schema
        (Invoke-RpcMethod SayHello -Connection $rpc).text | Should -Be 'hello'
        (Invoke-RpcMethod SayGoodbye -Connection $rpc).text | Should -Be 'goodbye'
    }

    It 'lets two listeners share an endpoint' {
        $endpoint = "ncalrpc:[$(New-TestName)]"
        $null = Start-TestListener { @{ text = 'hello' } } -Endpoint $endpoint
        $null = Start-TestListener { @{ text = 'goodbye' } } -Endpoint $endpoint -With @{ Service = 'demo.Parting' }

        $rpc = Connect-RpcEndpoint $endpoint -Schema (Join-Path $TestProtos greeter.proto)
        (Invoke-RpcMethod SayHello -Connection $rpc).text | Should -Be 'hello'
        (Invoke-RpcMethod SayGoodbye -Connection $rpc).text | Should -Be 'goodbye'
    }

    It 'serves a service under another interface id' {
        $id = [guid]::NewGuid()
        $listener = Start-TestListener { @{ text = 'found' } } -With @{ InterfaceId = $id }

        { Connect-RpcEndpoint $listener.Endpoint[0] -Schema $listener.Schema -Service demo.Greeter -ErrorAction Stop } |
            Should -Throw -ErrorId 'RpcStatus.*'
        $rpc = Connect-RpcEndpoint $listener.Endpoint[0] -Schema $listener.Schema -Service demo.Greeter -InterfaceId $id
        (Invoke-RpcMethod SayHello -Connection $rpc).text | Should -Be 'found'
    }

    Context 'handlers' {
        It 'gives the request as parameter, as variable and as $args' {
            $listener = Start-TestListener @{
                SayHello = { @{ text = "$($Request.name) $($args[0].name)" } }
                Fail = { param($r, $context) @{ text = "$($r.name) $($context.Method.Name) $($RpcMethod.Name)" } }
            }
            $rpc = Connect-Test $listener

            (Invoke-RpcMethod SayHello @{ name = 'Ann' } -Connection $rpc).text | Should -Be 'Ann Ann'
            (Invoke-RpcMethod Fail @{ name = 'Ann' } -Connection $rpc).text | Should -Be 'Ann Fail Fail'
        }

        It 'gives the request and the context to the parameters of a function' {
            function Get-Greeting(
                # The request.
                $Message, # and
                [object] $Call
            ) { @{ text = "$($Message.name) $($Call.Method.Name) $($MyInvocation.ScriptLineNumber -gt 0)" } }
            function Get-Upper($Text) { $Text.ToUpperInvariant() }
            $upper = ${function:Get-Upper}

            Get-Answer (Start-TestListener ${function:Get-Greeting}) Ann | Should -BeLike 'Ann SayHello *'
            Get-Answer (Start-TestListener { @{ text = & $using:upper $Request.name } }) Ann | Should -Be ANN
        }

        It 'names the line of a function that throws' {
            $file = Join-Path $TestDrive "$(New-TestName).ps1"
            "function Get-Reply(`n    `$Message,`n    `$Call) {`n    `$null = `$Message`n    throw 'five'`n}`n" |
                Set-Content $file
            . $file
            $listener = Start-TestListener ${function:Get-Reply}

            { Get-Answer $listener } | Should -Throw '*five*'

            "$($listener | Receive-RpcListener 2>&1)" | Should -BeLike "*$([IO.Path]::GetFileName($file)): line 5*"
        }

        It 'runs one block for all methods, with $RpcMethod' {
            $listener = Start-TestListener { @{ text = $RpcMethod.FullName } }
            $rpc = Connect-Test $listener

            (Invoke-RpcMethod SayHello -Connection $rpc).text | Should -Be 'demo.Greeter/SayHello'
            (Invoke-RpcMethod Fail -Connection $rpc).text | Should -Be 'demo.Greeter/Fail'
        }

        It 'takes <Name> as the reply' -ForEach @(
            @{ Name = 'nothing'; Handler = { }; Text = '' }
            @{ Name = 'null'; Handler = { $null }; Text = '' }
            @{ Name = 'a hashtable'; Handler = { @{ text = 'x' } }; Text = 'x' }
            @{ Name = 'an object'; Handler = { [pscustomobject]@{ text = 'x' } }; Text = 'x' }
            @{
                Name = 'an object of the pipeline'
                Handler = { 'x' | Select-Object @{ n = 'text'; e = { $_ } } }
                Text = 'x'
            }
        ) {
            $listener = Start-TestListener $Handler

            Get-Answer $listener | Should -Be $Text
        }

        It 'tells who calls' {
            $listener = Start-TestListener {
                $told = $RpcContext.User.Name, $RpcContext.IsAuthenticated, $RpcContext.Transport
                @{ text = "$told" }
            }

            Get-Answer $listener | Should -Be "$OwnName True Local"
        }

        It 'answers a method without a handler with Unimplemented' {
            $listener = Start-TestListener @{ SayHello = { } }
            $rpc = Connect-Test $listener

            { Invoke-RpcMethod Fail -Connection $rpc -ErrorAction Stop } |
                Should -Throw -ErrorId 'RpcStatus.Unimplemented,*'
        }

        It 'keeps what a handler keeps in the global scope of its worker' {
            $listener = Start-TestListener { $global:count++; @{ text = "$count" } } -With @{ ListenerOption = @{ WorkerCount = 1 } }

            Get-Answer $listener | Should -Be '1'
            Get-Answer $listener | Should -Be '2'
        }

        It 'does not see what the last handler had in its own scope' {
            $listener = Start-TestListener { $seen = "$seen$($Request.name)"; @{ text = $seen } } `
                -With @{ ListenerOption = @{ WorkerCount = 1 } }

            Get-Answer $listener 'a' | Should -Be 'a'
            Get-Answer $listener 'b' | Should -Be 'b'
        }
    }

    Context 'what the handlers take from the caller' {
        It 'takes variables with $using:' {
            $greeting = 'hi'
            $settings = @{ Mark = '!' }
            $sum = @{ a = 1; b = 2 }
            $listener = Start-TestListener {
                function Add($a, $b) { $a + $b }
                @{ text = "${using:greeting} $($Request.name)$($using:settings.Mark) $(Add @using:sum)" }
            }

            Get-Answer $listener 'Ann' | Should -Be 'hi Ann! 3'
        }

        It 'takes a script block with $using:' {
            $shout = { param($text) $text.ToUpperInvariant() }
            $listener = Start-TestListener { @{ text = & $using:shout $Request.name } }

            Get-Answer $listener 'Ann' | Should -Be 'ANN'
        }

        It 'takes <Whose> into <Command>' -ForEach @(
            @{ Whose = 'a variable of the handler'; Command = 'ForEach-Object -Parallel'; Handler = {
                    $mark = $Request.name
                    @{ text = 1..2 | ForEach-Object -Parallel { "$_$using:mark" } | Sort-Object | Join-String }
                } }
            @{ Whose = 'a variable of the caller'; Command = '% -parallel'; Handler = {
                    @{ text = 1..2 | % { $_ } | % -parallel { "$_$using:mark" } -ThrottleLimit 2 | Sort-Object | Join-String }
                } }
            @{ Whose = 'both'; Command = 'Start-ThreadJob'; Handler = {
                    $own = $Request.name
                    $job = Start-ThreadJob { "1$using:own", "2$using:mark" }
                    @{ text = $job | Receive-Job -Wait -AutoRemoveJob | Join-String }
                } }
        ) {
            $mark = 'Ann'

            Get-Answer (Start-TestListener $Handler) Ann | Should -Be 1Ann2Ann
        }

        It 'names the variable that $using: does not find' {
            { Start-TestListener { $using:noSuchVariable } } |
                Should -Throw -ErrorId 'UsingVariableNotFound,*' -ExpectedMessage '*noSuchVariable*'
        }

        It 'takes the functions that handlers call, and those that these call' {
            function Get-Inner($Text) { "<$Text>" }
            function Get-Outer($Text) { Get-Inner (Get-Inner $Text) }
            $listener = Start-TestListener { @{ text = Get-Outer $Request.name } }

            Get-Answer $listener 'Ann' | Should -Be '<<Ann>>'
        }

        It 'imports the modules of functions that handlers call' {
            $file = Join-Path $TestDrive Tool.psm1
            Set-Content $file @(
                'function Get-Tool($Text) { "$(Get-Hidden)$Text" }'
                'function Get-Hidden { "tool " }'
                'Export-ModuleMember Get-Tool'
            )
            Import-Module $file
            try {
                $listener = Start-TestListener { @{ text = Get-Tool $Request.name } }
                Get-Answer $listener 'Ann' | Should -Be 'tool Ann'
            }
            finally {
                Remove-Module Tool
            }
        }

        It 'takes aliases' {
            Set-Alias Get-ByAlias Get-Date
            $listener = Start-TestListener { @{ text = "$(Get-ByAlias -Date '2020-01-02' -Format yyyy)" } }

            Get-Answer $listener | Should -Be '2020'
        }

        It 'lets a handler call on with the module itself' {
            $inner = Start-TestListener { @{ text = "inner $($Request.name)" } }
            $innerEndpoint = "$($inner.Endpoint)"
            $schema = Join-Path $TestProtos greeter.proto
            $outer = Start-TestListener {
                param($Request)
                $rpc = Connect-RpcEndpoint $using:innerEndpoint -Schema $using:schema -Service demo.Greeter
                $rpc | Invoke-RpcMethod SayHello @{ name = $Request.name }
                $rpc | Disconnect-RpcEndpoint
            }

            Get-Answer $outer 'Ann' | Should -Be 'inner Ann'
        }

        It 'imports Module into the workers, by a path relative to here' {
            Set-Content (Join-Path $TestDrive Other.psm1) 'function Get-Other { "other" }'
            Push-Location $TestDrive
            try {
                $listener = Start-TestListener { @{ text = & (Get-Command Get-Other) } } `
                    -With @{ ListenerOption = @{ Module = './Other.psm1' } }
            }
            finally {
                Pop-Location
            }

            Get-Answer $listener | Should -Be 'other'
        }

        It 'fails when a module cannot be imported' {
            { Start-TestListener { } -With @{ ListenerOption = @{ Module = (Join-Path $TestDrive missing.psm1) } } } |
                Should -Throw '*missing.psm1*'
        }

        It 'runs InitializationScript once in each worker' {
            $prefix = 'set up'
            $listener = Start-TestListener { @{ text = "$prepared $global:runs" } } -With @{
                ListenerOption = @{
                    InitializationScript = { $prepared = $using:prefix; $global:runs++ }
                    WorkerCount = 1
                }
            }

            Get-Answer $listener | Should -Be 'set up 1'
            Get-Answer $listener | Should -Be 'set up 1'
        }

        It 'fails with the error of InitializationScript' {
            { Start-TestListener { } -With @{ ListenerOption = @{ InitializationScript = { throw 'no printer' } } } } |
                Should -Throw '*no printer*'

            Get-RpcListener | Should -BeNullOrEmpty
        }

        It 'reports a worker that cannot start while others serve' {
            $count = @{ Value = 0 }
            $gate = [Threading.ManualResetEventSlim]::new()
            $listener = Start-TestListener { $null = ($using:gate).Wait([timespan]'00:01'); @{ text = 'served' } } -With @{
                ListenerOption = @{
                    InitializationScript = { if (($using:count).Value++ -gt 0) { throw 'the port is in use' } }
                    WorkerCount = 2
                }
            }
            $rpc = Connect-Test $listener

            $jobs = 1..2 | ForEach-Object { Invoke-RpcMethod SayHello -Connection $rpc -AsJob }
            Wait-Until { $listener.Records -gt 0 } | Should -BeTrue
            $gate.Set()

            ($jobs | Complete-Job).text | Should -Be 'served', 'served'
            "$($listener | Receive-RpcListener 2>&1)" | Should -BeLike '*the port is in use*'
        }

        It 'runs handlers in the folder of the caller' {
            Push-Location $TestDrive
            try {
                $listener = Start-TestListener { @{ text = (Get-Location).Path } }
            }
            finally {
                Pop-Location
            }

            Get-Answer $listener | Should -Be (Get-Item $TestDrive).FullName
        }

        It 'runs handlers in the folder of the caller on a drive that workers do not have' {
            Push-Location TestDrive:
            try {
                $listener = Start-TestListener { @{ text = (Get-Location).Path } }
            }
            finally {
                Pop-Location
            }

            Get-Answer $listener | Should -Be (Get-Item $TestDrive).FullName
        }

        It 'resolves types by the "using namespace" of the file' {
            $file = Join-Path $TestDrive types.ps1
            Set-Content $file @(
                'using namespace System.Text'
                'param()'
                "{ @{ text = [StringBuilder]::new('built').ToString() } }"
            )
            $listener = Start-TestListener (& $file)

            Get-Answer $listener | Should -Be 'built'
        }
    }

    Context 'streams' {
        It 'shows what handlers write at once with -InformationAction Continue' {
            $result = Invoke-Pwsh @"
Import-Module '$ModuleManifest'
`$endpoint = 'ncalrpc:[$(New-TestName)]'
`$with = @{ Schema = '$TestProtos/greeter.proto'; Service = 'demo.Greeter'; InformationAction = 'Continue' }
`$null = Start-RpcListener `$endpoint { Write-Information 'seen'; Write-Warning 'not shown' } @with
`$null = Connect-RpcEndpoint `$endpoint -Schema '$TestProtos/greeter.proto' -Service demo.Greeter
`$null = Invoke-RpcMethod SayHello
"@

            $result.Output.Trim() | Should -Be 'seen'
        }

        It 'makes the handlers verbose with -Verbose' {
            $result = Invoke-Pwsh @"
Import-Module '$ModuleManifest'
`$endpoint = 'ncalrpc:[$(New-TestName)]'
`$with = @{ Schema = '$TestProtos/greeter.proto'; Service = 'demo.Greeter' }
`$null = Start-RpcListener `$endpoint { Write-Verbose 'in detail' } -Verbose @with 4>`$null
`$null = Connect-RpcEndpoint `$endpoint -Schema '$TestProtos/greeter.proto' -Service demo.Greeter
`$null = Invoke-RpcMethod SayHello
"@

            $result.Output | Should -Match 'VERBOSE: in detail'
        }
    }

    Context 'errors to callers' {
        It 'tells <Detail>' -ForEach @(
            @{ Detail = 'None'; Message = '^The call failed on the server\..* id \w+\.$'; Type = ''; HasStack = $false }
            @{
                Detail = 'Type'; Message = '^The call failed on the server with System.InvalidOperationException\.'
                Type = 'System.InvalidOperationException'; HasStack = $false
            }
            @{ Detail = 'Message'; Message = '^secret$'; Type = 'System.InvalidOperationException'; HasStack = $false }
            @{ Detail = 'Full'; Message = '^secret$'; Type = 'System.InvalidOperationException'; HasStack = $true }
        ) {
            $listener = Start-TestListener { throw [InvalidOperationException]::new('secret') } `
                -With @{ ListenerOption = @{ ErrorDetail = $Detail } }
            $rpc = Connect-Test $listener

            $null = Invoke-RpcMethod SayHello -Connection $rpc -ErrorAction SilentlyContinue -ErrorVariable errors

            $remote = $errors[0].Exception.Remote
            "$($remote.Message)" | Should -Match $Message
            "$($remote.TypeName)" | Should -Be $Type
            [bool]$remote.Data.ScriptStackTrace | Should -Be $HasStack
        }

        It 'sends TCP callers the text that the handler throws, and nothing else' {
            $listener = Start-TestListener { throw 'secret' } -Endpoint 'ncacn_ip_tcp:127.0.0.1[0]'
            $rpc = Connect-Test $listener

            $null = Invoke-RpcMethod SayHello -Connection $rpc -ErrorAction SilentlyContinue -ErrorVariable errors

            $errors[0].Exception.Remote.Message | Should -Be 'secret'
            $errors[0].Exception.Remote.StackTrace | Should -BeNullOrEmpty
            $errors[0].Exception.Remote.Data.Count | Should -Be 0
        }
    }

    Context 'limits' {
        It 'runs no more handlers at once than WorkerCount' {
            $two = [Threading.Barrier]::new(2)
            $listener = Start-TestListener { $null = ($using:two).SignalAndWait(20000) } -With @{ ListenerOption = @{ WorkerCount = 2 } }
            $endpoint = "$($listener.Endpoint)"

            $null = 1..6 | ForEach-Object -ThrottleLimit 6 -Parallel {
                Import-Module $using:ModuleManifest
                Connect-RpcEndpoint $using:endpoint `
                    -Schema (Join-Path $using:TestProtos greeter.proto) -Service demo.Greeter |
                    Invoke-RpcMethod SayHello
            }

            $listener.Calls | Should -Be 6
            $listener.Workers | Should -Be 2
        }

        It 'refuses calls when too many wait already' {
            $gate = [Threading.ManualResetEventSlim]::new()
            $listener = Start-TestListener { $null = ($using:gate).Wait(20000) } `
                -With @{ ListenerOption = @{ WorkerCount = 1 }; Limits = @{ MaxQueuedCalls = 1; MaxQueueTime = '00:00:20' } }
            try {
                $rpc = 1..3 | ForEach-Object { Connect-Test $listener }
                $jobs = foreach ($i in 0, 1) {
                    Invoke-RpcMethod SayHello -Connection $rpc[$i] -AsJob
                    Wait-Until { $listener.InFlight -eq $i + 1 -and $listener.Queued -eq $i } | Should -BeTrue
                }

                Invoke-RpcMethod SayHello -Connection $rpc[2] -ErrorAction SilentlyContinue -ErrorVariable errors

                $errors[0].Exception.Code | Should -Be 'ResourceExhausted'
                $errors[0].Exception.MayHaveExecuted | Should -BeFalse
                $listener.Refused | Should -Be 1
                $gate.Set()
                $jobs | Complete-Job | Should -HaveCount 2
            }
            finally {
                $gate.Set()
            }
        }

        It 'runs no more calls than MaxConcurrentCalls, and counts those that wait and those that are refused' {
            $gate = [Threading.ManualResetEventSlim]::new()
            $wait = { $null = ($using:gate).Wait(20000); @{ text = 'done' } }
            $listener = Start-TestListener @{ SayHello = $wait } -With @{
                ListenerOption = @{ WorkerCount = 4 }
                Limits = @{ MaxConcurrentCalls = 1; MaxQueuedCalls = 1; MaxQueueTime = '00:00:20' }
            }
            try {
                $rpc = Connect-Test $listener
                $jobs = 1..2 | ForEach-Object {
                    Invoke-RpcMethod SayHello -Connection $rpc -AsJob
                    $count = $_
                    Wait-Until { $listener.InFlight -eq $count } | Should -BeTrue
                }
                Wait-Until { $listener.Queued -eq 1 } | Should -BeTrue

                $null = Invoke-RpcMethod SayHello -Connection $rpc -ErrorAction SilentlyContinue -ErrorVariable errors

                $errors[0].Exception.Code | Should -Be 'ResourceExhausted'
                $errors[0].Exception.MayHaveExecuted | Should -BeFalse
                $listener.Refused | Should -Be 1
                $listener.Workers | Should -Be 1
                $gate.Set()
                ($jobs | Complete-Job).text | Should -Be 'done', 'done'
                $listener.Queued | Should -Be 0
            }
            finally {
                $gate.Set()
            }
        }

        It 'refuses a call that would wait for a worker longer than MaxQueueTime' {
            $gate = [Threading.ManualResetEventSlim]::new()
            $wait = { $null = ($using:gate).Wait(20000); @{ text = 'done' } }
            $listener = Start-TestListener @{ SayHello = $wait } -With @{
                ListenerOption = @{ WorkerCount = 1 }
                Limits = @{ MaxQueueTime = '00:00:00.3' }
            }
            try {
                $rpc = Connect-Test $listener
                $job = Invoke-RpcMethod SayHello -Connection $rpc -AsJob
                Wait-Until { $listener.InFlight -eq 1 } | Should -BeTrue

                $null = Invoke-RpcMethod SayHello -Connection $rpc -ErrorAction SilentlyContinue -ErrorVariable errors

                $errors[0].Exception.Code | Should -Be 'ResourceExhausted'
                $listener.Queued | Should -Be 0
                $gate.Set()
                ($job | Complete-Job).text | Should -Be 'done'
            }
            finally {
                $gate.Set()
            }
        }
    }

    It 'keeps the limits that it was started with' {
        $limits = [ProtoRpc.RpcLimits]@{ MaxMessageBytes = 1MB }
        $listener = Start-TestListener { @{ text = 'hello' } } -With @{ Limits = $limits }

        # The shell writes properties that C# sets only once.
        $limits.MaxMessageBytes = 1
        $limits.MaxMessageElements = 1

        Get-Answer $listener 'a name' | Should -Be 'hello'
    }

    It 'starts nothing with -WhatIf' {
        Start-TestListener { } -With @{ WhatIf = $true } | Should -BeNullOrEmpty
        Get-RpcListener | Should -BeNullOrEmpty
    }

    It 'offers services, endpoints and a handler for each method' {
        $start = "Start-RpcListener -Schema '$TestProtos/greeter.proto'"

        (Complete "$start -Service gr").CompletionText | Should -Be 'demo.Greeter'
        (Complete 'Start-RpcListener -Endpoint ncal').CompletionText | Should -Contain "'ncalrpc:[NAME]'"
        (Complete "$start -Service demo.Parting -Handler ").CompletionText |
            Should -Contain '@{ SayGoodbye = { param($Request) @{} } }'
    }
}
