. (Join-Path $PSScriptRoot common.ps1)

Describe 'Invoke-RpcMethod over many connections' {
    BeforeAll {
        $handlers = @{
            SayHello = {
                param($Request)
                if ($Request.name -eq 'meet') {
                    # Ends only when all are here at the same time.
                    if (-not ($using:meeting).SignalAndWait(20000)) { throw 'nobody came' }
                }
                if ($Request.name -eq 'forever') { while ($true) { } }
                if ($Request.name -eq 'fail') { throw 'out of paper' }
                @{ text = "hi $($Request.name)" }
            }
        }
        $meeting = [Threading.Barrier]::new(4)
        $listeners = 1..4 | ForEach-Object { Start-TestListener $handlers }
        $many = $listeners | ForEach-Object { Connect-Test $_ }
        $gone = Start-TestListener $handlers
        $lost = Connect-Test $gone
        $gone | Stop-RpcListener
    }

    AfterAll {
        Get-Job | Remove-Job -Force
        Clear-Test
    }

    It 'calls all of them, and says who answered' {
        $replies = Invoke-RpcMethod SayHello @{ name = 'Ann' } -Connection $many

        $replies.text | Should -Be (@('hi Ann') * 4)
        $replies.PSRpcEndpoint | Sort-Object | Should -Be ($many.Endpoint | ForEach-Object ToString | Sort-Object)
        $replies[0].PSTypeNames[0] | Should -Be 'ProtoRpc.Message#demo.HelloReply'
    }

    It 'takes a tagged reply as a message' {
        $reply = Invoke-RpcMethod SayHello @{ name = 'Ann' } -Connection $many | Select-Object -First 1

        $as = @{ Type = 'demo.HelloReply'; Schema = $many[0].Schema; Format = 'Json' }
        $reply | ConvertTo-RpcMessage @as | Should -Be '{"text":"hi Ann"}'
        $reply.PSObject.Copy() | ConvertTo-RpcMessage @as | Should -Be '{"text":"hi Ann"}'
    }

    It 'calls them at the same time' {
        (Invoke-RpcMethod SayHello @{ name = 'meet' } -Connection $many -Deadline 30).Count | Should -Be 4
    }

    It 'calls only so many at once' {
        $replies = Invoke-RpcMethod SayHello @{ name = 'Ann' } -Connection $many -ThrottleLimit 1

        $replies.PSRpcEndpoint | Should -Be ($many.Endpoint | ForEach-Object ToString)
    }

    It 'tells the failures one by one, with the connection, and gives the replies of the others' {
        $replies = Invoke-RpcMethod SayHello @{ name = 'Ann' } -Connection ($many + $lost) `
            -ErrorAction SilentlyContinue -ErrorVariable errors

        $replies.Count | Should -Be 4
        $errors.Count | Should -Be 1
        $errors[0].TargetObject | Should -Be $lost
        $errors[0].FullyQualifiedErrorId | Should -BeLike 'RpcStatus.Unavailable,*'
    }

    It 'takes connections from the pipeline' {
        ($many | Invoke-RpcMethod SayHello @{ name = 'Ann' } -ThrottleLimit 3).Count | Should -Be 4
    }

    It 'sends each message of the pipeline to all of them' {
        $replies = 'Ann', 'Ben' | ForEach-Object { @{ name = $_ } } | Invoke-RpcMethod SayHello -Connection $many

        $replies.text | Sort-Object | Should -Be (@('hi Ann') * 4 + @('hi Ben') * 4)
    }

    It 'tags messages and hashtables too' {
        (Invoke-RpcMethod SayHello -Connection $many -AsHashtable)[0].PSRpcEndpoint | Should -Match '^ncalrpc:'
        (Invoke-RpcMethod SayHello -Connection $many -Raw)[0].PSRpcEndpoint | Should -Match '^ncalrpc:'
    }

    It 'refuses what there is only one of' {
        { Invoke-RpcMethod SayHello -Connection $many -ReplyInfoVariable info -ErrorAction Stop } |
            Should -Throw -ErrorId '*,*' -ExpectedMessage '*-ReplyInfoVariable*'
    }

    It 'leaves the others when the pipeline has enough' {
        Invoke-RpcMethod SayHello @{ name = 'Ann' } -Connection $many | Select-Object -First 1 |
            ForEach-Object text | Should -Be 'hi Ann'
    }

    It 'asks a server for its schema again with the next message' {
        $one = Start-TestListener $handlers -Endpoint 'grpc://127.0.0.1:0'
        $two = Start-TestListener $handlers -Endpoint 'grpc://127.0.0.1:0'
        $there = "$($two.Endpoint[0])"
        $two | Stop-RpcListener -DrainTimeout 0
        $lazy = Connect-RpcEndpoint "$($one.Endpoint[0])", $there -Lazy

        $replies = 1, 2 | ForEach-Object {
            if ($_ -eq 2) { $two = Start-TestListener $handlers -Endpoint $there }
            @{ name = "$_" }
        } | Invoke-RpcMethod SayHello -Connection $lazy -ErrorAction SilentlyContinue -ErrorVariable errors

        $errors | Should -HaveCount 1
        $replies.text | Sort-Object | Should -Be 'hi 1', 'hi 2', 'hi 2'
        $lazy | Disconnect-RpcEndpoint
        $one, $two | Stop-RpcListener -DrainTimeout 0
    }

    Context 'with objects that the script changes before the call' {
        BeforeAll {
            $echo = Start-TestListener -Endpoint 'grpc://127.0.0.1:0' @{
                SayHello = { param($Request) @{ text = "$($Request.times) $($Request.nested.times) $($Request.tags)" } }
            }
            $where = "$($echo.Endpoint[0])"
        }

        BeforeEach { Disconnect-RpcEndpoint -Pooled }

        AfterAll { $echo | Stop-RpcListener -DrainTimeout 0 }

        It 'sends a hashtable as it was, as a job' {
            $message = @{ nested = @{}; tags = @('') }
            $job = 1..3 | ForEach-Object {
                $message.times = $message.nested.times = $_
                $message.tags[0] = "t$_"
                $message
            } | Invoke-RpcMethod SayHello -Endpoint $where -AsJob

            ($job | Receive-Job -Wait).text | Sort-Object | Should -Be '1 1 t1', '2 2 t2', '3 3 t3'
        }

        It 'sends an object with properties as it was, at the same time' {
            $message = [pscustomobject]@{ times = 0; nested = [pscustomobject]@{ times = 0 } }
            $message | Add-Member ScriptProperty tags { @("t$($this.times)") }
            $replies = 1..50 | ForEach-Object {
                $message.times = $message.nested.times = $_
                $message
            } | Invoke-RpcMethod SayHello -Endpoint $where -ThrottleLimit 4

            $replies.text | Sort-Object | Should -Be (1..50 | ForEach-Object { "$_ $_ t$_" } | Sort-Object)
        }

        It 'sends an object of a class as it was' {
            $message = & ([scriptblock]::Create('class Row { [int] $times; [object] $nested }; [Row]::new()'))
            $message.nested = @{}
            $job = 1..3 | ForEach-Object {
                $message.times = $message.nested.times = $_
                $message
            } | Invoke-RpcMethod SayHello -Endpoint $where -AsJob

            ($job | Receive-Job -Wait).text | Sort-Object | Should -Be '1 1 ', '2 2 ', '3 3 '
        }

        It 'sends -Message as it was' {
            $message = @{ times = 1 }
            $job = Invoke-RpcMethod SayHello $message -Endpoint $where, $where -AsJob
            $message.times = 2

            ($job | Receive-Job -Wait).text | Should -Be @('1  ', '1  ')
        }

        It 'says where a field is wrong, and refuses an object that contains itself' {
            $wrong = [pscustomobject]@{ nested = @{ nested = [pscustomobject]@{ tims = 1 } } }
            $round = @{ times = 1 }
            $round.nested = $round
            $wrong, $round | Invoke-RpcMethod SayHello -Endpoint $where -ThrottleLimit 2 `
                -ErrorAction SilentlyContinue -ErrorVariable errors

            $errors.Exception | Where-Object ErrorId -EQ UnknownField | ForEach-Object FieldPath |
                Should -Be HelloRequest.nested.nested.tims
            $errors.Exception.ErrorId | Sort-Object | Should -Be 'TooDeep', 'UnknownField'
        }

        It 'sends the fields of a reply that its schema did not have' {
            $newer = Join-Path $TestDrive newer.proto
            Set-Content $newer ('syntax = "proto3"; package demo; service Notes { rpc Same (Note) returns (Note); } ' +
                'message Note { string text = 1; string more = 2; }')
            $older = Join-Path $TestDrive older.proto
            Set-Content $older ((Get-Content $newer -Raw) -replace 'string more = 2;')
            $two = Start-RpcListener grpc://127.0.0.1:0 -Schema $older -Handler { $Request }
            $given = @{ text = 'a'; more = 'b' } |
                ConvertTo-RpcMessage -Type demo.Note -Schema $newer -Format Binary
            $note = ConvertFrom-RpcMessage $given -Type demo.Note -Schema $older -Format Binary -Raw
            $at = @{ Method = 'Same'; Endpoint = "$($two.Endpoint[0])" }
            $first = $note | Invoke-RpcMethod @at

            $second = $first | Invoke-RpcMethod @at -ThrottleLimit 2 -Raw

            $bytes = $second | ConvertTo-RpcMessage -Type demo.Note -Schema $older -Format Binary
            (ConvertFrom-RpcMessage $bytes -Type demo.Note -Schema $newer -Format Binary).more | Should -Be b
            $two | Stop-RpcListener -DrainTimeout 0
        }
    }

    Context 'as a job' {
        It 'gives a job whose output are the replies' {
            $job = Invoke-RpcMethod SayHello @{ name = 'Ann' } -Connection $many -AsJob

            $job | Should -BeOfType System.Management.Automation.Job
            (Get-Job -Id $job.Id) | Should -Be $job
            $replies = $job | Receive-Job -Wait
            $replies.text | Should -Be (@('hi Ann') * 4)
            $job.State | Should -Be Completed
            $job.HasMoreData | Should -BeFalse
        }

        It 'works with one connection' {
            (Invoke-RpcMethod SayHello @{ name = 'Ann' } -Connection $many[0] -AsJob | Receive-Job -Wait).text |
                Should -Be 'hi Ann'
        }

        It 'ends after what Receive-Job still writes, and is removed once' {
            $goesOn = [Threading.ManualResetEventSlim]::new()
            $slow = Start-TestListener -Endpoint 'grpc://127.0.0.1:0' @{
                Watch = {
                    @{ text = 'one' }
                    $null = ($using:goesOn).Wait(20000)
                }
            }
            $job = Connect-Test $slow | Invoke-RpcMethod Watch @{} -AsJob
            Wait-Until { $job.HasMoreData } | Should -BeTrue

            $texts = $job | Receive-Job -Wait -AutoRemoveJob -ErrorAction Stop | ForEach-Object {
                $goesOn.Set()
                Wait-Until { $job.Progress.Count -or $job.State -ne 'Running' } | Should -BeTrue
                $_.text
            }

            $texts | Should -Be one
            Get-Job | Should -Not -Contain $job
        }

        It 'can be stopped by what reads its output' {
            $slow = Start-TestListener -Endpoint 'grpc://127.0.0.1:0' @{
                Watch = {
                    1..9 | ForEach-Object { @{ text = "$_" } }
                    $null = $RpcContext.CancellationToken.WaitHandle.WaitOne(20000)
                }
            }
            $job = Connect-Test $slow | Invoke-RpcMethod Watch @{} -AsJob
            Wait-Until { $job.HasMoreData } | Should -BeTrue

            $texts = $job | Receive-Job -Wait | ForEach-Object {
                $job | Stop-Job
                $_.text
            }

            $texts | Should -Contain 1
            $job | Wait-Job -Timeout 20 | Should -Be $job
            $job.State | Should -Be Stopped
        }

        It 'has the errors' {
            $job = Invoke-RpcMethod SayHello @{ name = 'fail' } -Connection $many[0] -AsJob
            $null = $job | Receive-Job -Wait -ErrorAction SilentlyContinue -ErrorVariable errors

            $errors[0].Exception.Message | Should -BeLike '*out of paper*'
            $job.State | Should -Be Failed
        }

        It 'fails and ends if an error outside of its calls ends it' {
            $gate = [Threading.ManualResetEventSlim]::new()
            $listener = Start-TestListener { $null = ($using:gate).Wait(20000); @{} }
            $job = Connect-Test $listener | Invoke-RpcMethod SayHello -AsJob
            # The mutex has no owner, so its release throws.
            $throw = [Delegate]::CreateDelegate([Action], [Threading.Mutex]::new(), 'ReleaseMutex')
            $job.GetType().GetField('_ended', 'NonPublic, Instance').SetValue($job, $throw)
            $gate.Set()

            $job | Wait-Job -Timeout 20 | Should -Be $job
            $null = $job | Receive-Job -ErrorAction SilentlyContinue -ErrorVariable errors
            $job.State | Should -Be Failed
            $errors[0].FullyQualifiedErrorId | Should -Be 'JobFailed'
        }

        It 'fails the call whose reply cannot be shown, and ends' {
            # The server sends as bytes what the client's schema has as an Any, whose content is nested too deep.
            # Hashtables are made whole; the objects in an object only when a script looks at them.
            $service = 'service Boxes { rpc Open (Question) returns (Answer); } message Question { int32 depth = 1; }'
            $there = Join-Path $TestDrive there.proto
            $here = Join-Path $TestDrive here.proto
            Set-Content $there ("syntax = 'proto3'; package boxes; $service message Answer { Box box = 1; } " +
                'message Box { string url = 1; bytes value = 2; }')
            Set-Content $here ("syntax = 'proto3'; package boxes; import 'google/protobuf/any.proto'; $service " +
                'message Answer { google.protobuf.Any box = 1; } message Node { Node child = 1; }')
            $boxes = Start-RpcListener "ncalrpc:[$(New-TestName)]" -Schema $there -Handler {
                $value = [byte[]]@()
                for ($i = 0; $i -lt $Request.depth; $i++) {
                    $size = $value.Count
                    $length = $size -lt 128 ? $size : (($size -band 127) + 128), ($size -shr 7)
                    $value = [byte[]](@(10) + $length + $value)
                }
                @{ box = @{ url = 'type.googleapis.com/boxes.Node'; value = $value } }
            }
            $rpc = Connect-RpcEndpoint $boxes.Endpoint[0] -Schema $here

            $job = @{ depth = 99 }, @{ depth = 2 } | Invoke-RpcMethod Open -Connection $rpc -AsJob -AsHashtable
            $replies = $job | Wait-Job -Timeout 30 | Receive-Job -ErrorAction SilentlyContinue -ErrorVariable errors

            $job.State | Should -Be Completed
            $job.StatusMessage | Should -Be '2 calls, 1 failed'
            @($replies).Count | Should -Be 1
            $replies.box.child | Should -Not -BeNullOrEmpty
            $errors.Count | Should -Be 1
            "$errors" | Should -BeLike '*nested more than*'
        }

        It 'gives null for a reply that is null' {
            $proto = Join-Path $TestDrive nothing.proto
            Set-Content $proto ("syntax = 'proto3'; package nothing; import 'google/protobuf/struct.proto'; " +
                'service Nothing { rpc Get (google.protobuf.Value) returns (google.protobuf.Value); }')
            $nothing = Start-RpcListener "ncalrpc:[$(New-TestName)]" -Schema $proto -Handler { }
            $rpc = $nothing | Connect-RpcEndpoint

            $job = Invoke-RpcMethod Get 1 -Connection $rpc -AsJob
            $replies = @($job | Wait-Job -Timeout 30 | Receive-Job)

            $job.State | Should -Be Completed
            $replies.Count | Should -Be 1
            $replies[0] | Should -BeNullOrEmpty
        }

        It 'can be stopped' {
            $job = Invoke-RpcMethod SayHello @{ name = 'forever' } -Connection $many -AsJob -Deadline 60
            $job.State | Should -Be Running
            $job | Stop-Job

            Wait-Until { $job.State -eq 'Stopped' } | Should -BeTrue
        }
    }
}
