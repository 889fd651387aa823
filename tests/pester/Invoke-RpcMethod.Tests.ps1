. (Join-Path $PSScriptRoot common.ps1)

BeforeDiscovery {
    class Person { [string] $Name }
}

Describe 'Invoke-RpcMethod' {
    BeforeAll {
        $listener = Start-TestListener @{
            SayHello = {
                param($Request)
                switch ($Request.name) {
                    'forever' { while ($true) { } }
                    'sleep' { Start-Sleep 60 }
                }
                @{ text = "hi $($Request.name)"; number = $Request.times }
            }
            Fail = {
                param($Request)
                switch ($Request.name) {
                    'text' { throw 'out of paper' }
                    'type' { throw [InvalidOperationException]::new('not now') }
                    'status' { throw [ProtoRpc.RpcException]::new('NotFound', 'no such greeting') }
                    'stop' { Get-Item /no/such/item -ErrorAction Stop }
                    'two' { @{ text = 'a' }; @{ text = 'b' } }
                    'shape' { @{ txt = 'a' } }
                    'value' { @{ number = 'many' } }
                    'break' { . { break nowhere } }
                    'exit' { exit 3 }
                    'dotnet' { [Convert]::FromBase64String('?') }
                    'error' { Write-Error 'only a warning'; @{ text = 'went on' } }
                }
            }
        }
        $rpc = Connect-Test $listener
    }

    AfterAll { Clear-Test }

    Context 'messages' {
        It 'takes a hashtable and gives an object of the reply type' {
            $reply = Invoke-RpcMethod SayHello @{ name = 'Ann'; times = 3 } -Connection $rpc

            $reply.text | Should -Be 'hi Ann'
            $reply.number | Should -Be 3
            $reply.PSTypeNames[0] | Should -Be 'ProtoRpc.Message#demo.HelloReply'
            $reply.PSObject.Properties.Name | Should -Be 'text', 'number'
        }

        It 'takes <Name>' -ForEach @(
            @{ Name = 'an ordered dictionary'; Value = [ordered]@{ name = 'Ann' } }
            @{ Name = 'a custom object'; Value = [pscustomobject]@{ name = 'Ann' } }
            @{ Name = 'an object with properties'; Value = [Person]@{ Name = 'Ann' } }
        ) {
            (Invoke-RpcMethod SayHello $Value -Connection $rpc).text | Should -Be 'hi Ann'
        }

        It 'names the property that cannot be read' {
            $broken = [pscustomobject]@{} | Add-Member name -MemberType ScriptProperty { throw 'lost' } -PassThru

            { Invoke-RpcMethod SayHello $broken -Connection $rpc -ErrorAction Stop } |
                Should -Throw -ErrorId 'InvalidFieldValue,*' -ExpectedMessage "*'name'*lost*"
        }

        It 'sends an empty message when none is given' {
            ($rpc | Invoke-RpcMethod SayHello).text | Should -Be 'hi '
        }

        It 'gives absent fields as null' {
            (Invoke-RpcMethod SayHello @{ name = 'Ann' } -Connection $rpc).number | Should -BeNullOrEmpty
        }

        It 'calls once for each message of the pipeline, in order' {
            $replies = 'Ann', 'Ben', 'Cid' | ForEach-Object { @{ name = $_ } } |
                Invoke-RpcMethod SayHello -Connection $rpc

            $replies.text | Should -Be 'hi Ann', 'hi Ben', 'hi Cid'
        }

        It 'calls once for each connection of the pipeline' {
            $second = Connect-Test $listener
            $replies = $rpc, $second | Invoke-RpcMethod SayHello @{ name = 'Ann' }
            $second | Disconnect-RpcEndpoint

            $replies.text | Should -Be 'hi Ann', 'hi Ann'
        }

        It 'goes on after a call that failed' {
            $replies = @{ nam = 'Ann' }, @{ name = 'Ben' } |
                Invoke-RpcMethod SayHello -Connection $rpc -ErrorAction SilentlyContinue -ErrorVariable errors

            $replies.text | Should -Be 'hi Ben'
            $errors.Count | Should -Be 1
        }

        It 'names the row that failed and gives it, <How>' -ForEach @(
            @{ How = 'with -Connection'; Given = $true; With = @{ } }
            @{ How = 'without -Connection'; Given = $false; With = @{ } }
            @{ How = 'at the same time'; Given = $true; With = @{ ThrottleLimit = 2 } }
        ) {
            $rows = "name,times`nAnn,1`nBen,x`nCid," | ConvertFrom-Csv
            $to = $Given ? @{ Connection = $rpc } : @{ }

            $replies = $rows | Invoke-RpcMethod SayHello @to @With `
                -ErrorAction SilentlyContinue -ErrorVariable errors

            $replies.text | Sort-Object | Should -Be 'hi Ann', 'hi Cid'
            $errors | Should -HaveCount 1
            "$($errors[0])" | Should -BeLike 'Row 2: HelloRequest.times: *'
            [object]::ReferenceEquals($errors[0].TargetObject, $rows[1]) | Should -BeTrue
        }

        It 'names the row whose call failed' {
            @{ name = 'status'; times = 1 }, @{ name = 'status'; times = 2 } |
                Invoke-RpcMethod Fail -Connection $rpc -ErrorAction SilentlyContinue -ErrorVariable errors

            "$($errors[0])" | Should -BeLike 'Row 1: *'
            "$($errors[1])" | Should -BeLike 'Row 2: *'
            $errors[1].TargetObject.times | Should -Be 2
            $errors[1].Exception.Message | Should -Be 'no such greeting'
        }

        It 'gives ordered hashtables with -AsHashtable' {
            $reply = Invoke-RpcMethod SayHello @{ name = 'Ann' } -Connection $rpc -AsHashtable

            $reply | Should -BeOfType System.Collections.Specialized.OrderedDictionary
            $reply['TEXT'] | Should -Be 'hi Ann'
        }

        It 'gives the message itself with -Raw, and takes it back' {
            $raw = Invoke-RpcMethod SayHello @{ name = 'Ann' } -Connection $rpc -Raw

            $raw.Type.FullName | Should -Be 'demo.HelloReply'
            (ConvertTo-RpcMessage demo.HelloReply $raw -Schema $listener.Schema).Length | Should -Be 8
        }

        It 'names the unknown field, the message type and the nearest name' {
            { Invoke-RpcMethod SayHello @{ nam = 'Ann' } -Connection $rpc -ErrorAction Stop } |
                Should -Throw -ErrorId 'UnknownField,*' -ExpectedMessage "*demo.HelloRequest*'nam'*'name'*"
        }

        It 'leaves unknown fields out with -AllowUnknownField' {
            (Invoke-RpcMethod SayHello @{ nam = 'Ann' } -Connection $rpc -AllowUnknownField).text | Should -Be 'hi '
        }

        It 'names the path of a value that does not fit' {
            { Invoke-RpcMethod SayHello @{ nested = @{ times = 'x' } } -Connection $rpc -ErrorAction Stop } |
                Should -Throw -ErrorId 'InvalidFieldValue,*' -ExpectedMessage 'HelloRequest.nested.times: *'
        }
    }

    Context 'methods' {
        It 'finds <Method>' -ForEach @(
            @{ Method = 'SayHello' }, @{ Method = 'sayhello' }, @{ Method = 'demo.Greeter/SayHello' }
            @{ Method = 'Greeter/SayHello' }, @{ Method = 'demo.Greeter.SayHello' }
        ) {
            (Invoke-RpcMethod $Method @{ name = 'Ann' } -Connection $rpc).text | Should -Be 'hi Ann'
        }

        It 'suggests the nearest method' {
            { Invoke-RpcMethod SayHelo -Connection $rpc -ErrorAction Stop } |
                Should -Throw -ErrorId 'MethodNotFound,*' -ExpectedMessage "*demo.Greeter/SayHello*"
        }

        It 'refuses a streaming method, which the native protocol cannot carry' {
            { Invoke-RpcMethod Watch -Connection $rpc -ErrorAction Stop } |
                Should -Throw -ErrorId 'RpcStatus.Unimplemented,*'
        }

        It 'looks the method up once for each connection, however many objects come' {
            $other = Connect-Test $listener
            $one = 1..5 | ForEach-Object { @{ name = "$_" } } |
                Invoke-RpcMethod SayHello -Connection $rpc -Verbose 4>&1
            $two = $rpc, $other, $rpc, $other | Invoke-RpcMethod SayHello @{ name = 'Ann' } -Verbose 4>&1
            $other | Disconnect-RpcEndpoint

            $isNote = { $_ -is [Management.Automation.VerboseRecord] -and $_.Message -like 'Calling*' }
            ($one | Where-Object $isNote).Message | Should -Be "Calling demo.Greeter/SayHello on $($rpc.Endpoint)"
            ($one | Where-Object text).Count | Should -Be 5
            ($two | Where-Object $isNote).Count | Should -Be 2
            ($two | Where-Object text).Count | Should -Be 4
        }

        It 'reports an unknown method for each object' {
            1..3 | ForEach-Object { @{ name = "$_" } } | Invoke-RpcMethod SayHallo -Connection $rpc `
                -ErrorAction SilentlyContinue -ErrorVariable failures

            $failures.Count | Should -Be 3
        }
    }

    Context 'connections' {
        It 'uses the only open connection' {
            (Invoke-RpcMethod SayHello @{ name = 'Ann' }).text | Should -Be 'hi Ann'
        }

        It 'asks which connection is meant when there are several' {
            $second = Connect-Test $listener
            try {
                { Invoke-RpcMethod SayHello -ErrorAction Stop } |
                    Should -Throw -ErrorId 'AmbiguousConnection,*' -ExpectedMessage '*-Connection*'
            }
            finally {
                $second | Disconnect-RpcEndpoint
            }
        }

        It 'says how to connect when there is no connection' {
            $result = Invoke-Pwsh "Import-Module '$ModuleManifest'; Invoke-RpcMethod SayHello"

            $result.Error | Should -Match 'Run\s.*Connect-RpcEndpoint'
        }

        It 'reconnects after the listener was started again' {
            $name = New-TestName
            $first = Start-TestListener { @{ text = 'first' } } -Endpoint "ncalrpc:[$name]"
            $broken = Connect-Test $first
            (Invoke-RpcMethod SayHello -Connection $broken).text | Should -Be 'first'
            $first | Stop-RpcListener

            { Invoke-RpcMethod SayHello -Connection $broken -ErrorAction Stop } |
                Should -Throw -ErrorId 'RpcStatus.Unavailable,*'
            $second = Start-TestListener { @{ text = 'second' } } -Endpoint "ncalrpc:[$name]"

            (Invoke-RpcMethod SayHello -Connection $broken).text | Should -Be 'second'
            $broken | Disconnect-RpcEndpoint
            $second | Stop-RpcListener
        }
    }

    Context 'failures' {
        $own = 'ProtoRpc.RpcException'
        $missing = 'System.Management.Automation.ItemNotFoundException'
        $fail = 'demo.Greeter/Fail'
        $reply = 'demo.HelloReply'

        It 'shows the message of <Case>' -ForEach @(
            @{ Case = 'text'; Status = 'Unknown'; Message = 'out of paper'; Type = 'System.Management.Automation.RuntimeException' }
            @{ Case = 'type'; Status = 'Unknown'; Message = 'not now'; Type = 'System.InvalidOperationException' }
            @{ Case = 'status'; Status = 'NotFound'; Message = 'no such greeting'; Type = $own }
            @{ Case = 'stop'; Status = 'Unknown'; Message = '*no/such/item*'; Type = $missing }
            @{ Case = 'two'; Status = 'Internal'; Message = "*$fail wrote 2 objects*Out-Null*"; Type = $own }
            @{ Case = 'shape'; Status = 'Internal'; Message = "*did not return a message $reply*'txt'*'text'*"; Type = $own }
            @{ Case = 'break'; Status = 'Unknown'; Message = "The script ended with 'break'*Use return*"; Type = $own }
            @{ Case = 'exit'; Status = 'Unknown'; Message = "The script ended with 'exit'*"; Type = $own }
            @{ Case = 'value'; Status = 'Internal'; Message = '*HelloReply.number*'; Type = $own }
        ) {
            $reply = Invoke-RpcMethod Fail @{ name = $Case } -Connection $rpc `
                -ErrorAction SilentlyContinue -ErrorVariable errors

            $reply | Should -BeNullOrEmpty
            $errors[0].FullyQualifiedErrorId | Should -BeLike "RpcStatus.$Status,*"
            $errors[0].Exception.Message | Should -BeLike $Message
            $errors[0].Exception.Remote.TypeName | Should -Be $Type
            $errors[0].TargetObject | Should -Be 'Fail'
        }

        It 'tells where in the script a handler failed' {
            $null = Invoke-RpcMethod Fail @{ name = 'text' } -Connection $rpc `
                -ErrorAction SilentlyContinue -ErrorVariable errors

            $line = (Select-String -LiteralPath $PSCommandPath `
                -SimpleMatch "throw 'out of paper'" | Select-Object -First 1).LineNumber
            $errors[0].Exception.Remote.Data.ScriptStackTrace | Should -Match "Invoke-RpcMethod.Tests.ps1: line $line"
        }

        It 'tells where in the .NET code under it a handler failed' {
            $null = Invoke-RpcMethod Fail @{ name = 'dotnet' } -Connection $rpc `
                -ErrorAction SilentlyContinue -ErrorVariable errors

            $errors[0].Exception.Remote.StackTrace | Should -Match 'FromBase64'
        }

        It 'is not failed by an error that a handler only writes' {
            (Invoke-RpcMethod Fail @{ name = 'error' } -Connection $rpc).text | Should -Be 'went on'
        }

        It 'gives the category of the status' {
            $null = Invoke-RpcMethod Fail @{ name = 'status' } -Connection $rpc `
                -ErrorAction SilentlyContinue -ErrorVariable errors

            $errors[0].CategoryInfo.Category | Should -Be ObjectNotFound
        }
    }

    Context 'time' {
        It 'ends at the deadline <Deadline>' -ForEach @(
            @{ Deadline = 0.2 }, @{ Deadline = '0.2' }, @{ Deadline = [timespan]::FromSeconds(0.2) }
        ) {
            $watch = [Diagnostics.Stopwatch]::StartNew()

            { Invoke-RpcMethod SayHello @{ name = 'forever' } -Connection $rpc -Deadline $Deadline -ErrorAction Stop } |
                Should -Throw -ErrorId 'RpcStatus.DeadlineExceeded,*'

            $watch.Elapsed.TotalSeconds | Should -BeLessThan 10
            Wait-Until { $listener.InFlight -eq 0 } | Should -BeTrue
        }

        It 'refuses a deadline that is no time' {
            { Invoke-RpcMethod SayHello -Connection $rpc -Deadline soon } | Should -Throw "*'soon' is not a time*"
            { Invoke-RpcMethod SayHello -Connection $rpc -Deadline '1,5' } | Should -Throw "*'1,5' is not a time*"
            { Invoke-RpcMethod SayHello -Connection $rpc -Deadline 0 } | Should -Throw "*'0' is not a time*"
        }

        It 'ends at once when it is stopped, and stops the handler' -ForEach 'forever', 'sleep' {
            $shell = [powershell]::Create().AddScript({
                param($Manifest, $Endpoint, $Schema, $Name)
                Import-Module $Manifest
                $null = Connect-RpcEndpoint $Endpoint -Schema $Schema -Service demo.Greeter
                Invoke-RpcMethod SayHello @{ name = $Name } -Deadline 60
            }).AddParameters(@($ModuleManifest, "$($listener.Endpoint)", (Join-Path $TestProtos greeter.proto), $_))
            $running = $shell.BeginInvoke()
            Wait-Until { $listener.InFlight -eq 1 } | Should -BeTrue
            $watch = [Diagnostics.Stopwatch]::StartNew()

            $shell.Stop()

            $watch.Elapsed.TotalSeconds | Should -BeLessThan 5
            Wait-Until { $listener.InFlight -eq 0 } | Should -BeTrue
            (Invoke-RpcMethod SayHello @{ name = 'Ann' } -Connection $rpc).text | Should -Be 'hi Ann'
            $shell.Streams.Error | Should -BeNullOrEmpty
            $shell.Dispose()
        }
    }

    Context 'completion' {
        It 'offers the methods of the connection' {
            (Complete 'Invoke-RpcMethod -Connection $rpc -Method Say').CompletionText | Should -Contain 'SayHello'
            (Complete 'Invoke-RpcMethod demo.G').CompletionText | Should -Contain 'demo.Greeter/SayHello'
        }

        It 'offers the whole request' {
            $offered = (Complete 'Invoke-RpcMethod SayHello ').CompletionText | Select-Object -First 1

            $template = & ([scriptblock]::Create($offered))
            $template.Keys | Should -Contain 'times'
            { ConvertTo-RpcMessage demo.HelloRequest $template -Schema $listener.Schema -ErrorAction Stop } |
                Should -Not -Throw
        }

        It 'offers a request whose maps have no entry that nobody gave' {
            $proto = Join-Path $TestDrive maps.proto
            Set-Content $proto @(
                'syntax = "proto3"; message Maps { map<int32, string> n = 1; map<bool, int32> b = 2; }'
                'service Atlas { rpc Open (Maps) returns (Maps); }'
            )
            $maps = Import-RpcSchema $proto
            $atlas = Start-RpcListener "ncalrpc:[$(New-TestName)]" { $Request } -Schema $maps
            $open = $atlas | Connect-RpcEndpoint

            $offered = (Complete 'Invoke-RpcMethod -Connection $open Open ').CompletionText | Select-Object -First 1

            $reply = $open | Invoke-RpcMethod Open (& ([scriptblock]::Create($offered)))
            $offered | Should -BeExactly '@{ n = @{}; b = @{} }'
            $reply.n.Count | Should -Be 0
            $reply.b.Count | Should -Be 0
        }

        It 'offers connections' {
            (Complete 'Invoke-RpcMethod SayHello -Connection ').CompletionText |
                Should -Contain "(Get-RpcConnection $($rpc.Id))"
        }
    }
}
