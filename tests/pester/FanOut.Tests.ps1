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
        $replies[0].PSTypeNames[0] | Should -Be 'demo.HelloReply'
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
        { Invoke-RpcMethod SayHello -Connection $many -TrailersVariable trailers -ErrorAction Stop } |
            Should -Throw -ErrorId '*,*' -ExpectedMessage '*-TrailersVariable*'
    }

    It 'leaves the others when the pipeline has enough' {
        Invoke-RpcMethod SayHello @{ name = 'Ann' } -Connection $many | Select-Object -First 1 |
            ForEach-Object text | Should -Be 'hi Ann'
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

        It 'has the errors' {
            $job = Invoke-RpcMethod SayHello @{ name = 'fail' } -Connection $many[0] -AsJob
            $null = $job | Receive-Job -Wait -ErrorAction SilentlyContinue -ErrorVariable errors

            $errors[0].Exception.Message | Should -BeLike '*out of paper*'
            $job.State | Should -Be Failed
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

            $job.State | Should -Be Stopped
        }
    }
}
