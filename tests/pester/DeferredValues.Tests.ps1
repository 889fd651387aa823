. (Join-Path $PSScriptRoot common.ps1)

Describe 'Messages within a message, which become objects when they are looked at' {
    BeforeAll {
        $script:proto = Join-Path $TestDrive tree.proto
        Set-Content $proto @'
syntax = "proto3";
package tree;
message Node {
  string name = 1;
  Node one = 2;
  repeated Node many = 3;
  map<string, Node> named = 4;
  int32 size = 5;
}
service Trees { rpc Grow (Node) returns (Node); }
'@
        $message = @{
            name = 'root'
            one = @{ name = 'child'; one = @{ name = 'grandchild' } }
            many = @{ name = 'a' }, @{ name = 'b'; size = 2 }
            named = @{ x = @{ name = 'in a map' } }
        }
        $bytes = ConvertTo-RpcMessage $message -Type tree.Node -Schema $proto -Format Binary

        function Get-Tree {
            , $bytes | ConvertFrom-RpcMessage -Type tree.Node -Schema $proto -Format Binary
        }
    }

    AfterAll { Clear-Test }

    It 'have the same values, in the same order, again and again' {
        $tree = Get-Tree

        $tree.PSObject.Properties.Name | Should -Be name, one, many, named, size
        $tree.one.one.name | Should -Be grandchild
        $tree.many -is [array] | Should -BeTrue
        $tree.many.name | Should -Be a, b
        $tree.named['x'].name | Should -Be 'in a map'
        [object]::ReferenceEquals($tree.many, $tree.many) | Should -BeTrue
        $tree.one.many | Should -HaveCount 0
        $tree.one.one.one | Should -BeNull
    }

    It 'keep what a script changes in them' {
        $tree = Get-Tree

        $tree.one.name = 'changed'
        $tree.many[1].size = 7
        $tree.named = @{ y = @{ name = 'new' } }

        $tree.one.name | Should -Be changed
        $tree.many[1].size | Should -Be 7
        $json = ConvertTo-RpcMessage $tree -Type tree.Node -Schema $proto -Format Json | ConvertFrom-Json
        $json.one.name | Should -Be changed
        $json.many[1].size | Should -Be 7
        $json.named.y.name | Should -Be new
        $json.named.PSObject.Properties.Name | Should -Be y
    }

    It 'are shown, copied and converted like any other property' {
        $member = Get-Tree | Get-Member -Name one
        $member.MemberType | Should -Be NoteProperty
        $member.Definition | Should -BeLike '*one={"name":"child"*'

        $tree = Get-Tree
        $copy = $tree.PSObject.Copy()
        $copy.many.name | Should -Be a, b
        [object]::ReferenceEquals($copy.many, $tree.many) | Should -BeTrue
        $copy.one = 'other'
        $tree.one.name | Should -Be child

        (Get-Tree | ConvertTo-Json -Depth 5 | ConvertFrom-Json).one.one.name | Should -Be grandchild
        (Get-Tree | Select-Object one, many).many.name | Should -Be a, b
        "$(Get-Tree)" | Should -BeLike '*"one":{"name":"child"*"many":`[{"name":"a"*'
        (Get-Tree | Format-List | Out-String) | Should -BeLike '*one*child*'
        Get-Tree | Where-Object { $_.one.name -eq 'child' } | Should -Not -BeNullOrEmpty
        [Management.Automation.PSSerializer]::Deserialize(
            [Management.Automation.PSSerializer]::Serialize((Get-Tree), 4)).one.one.name | Should -Be grandchild
    }

    It 'cost nothing while a handler does not look at them' {
        $seen = [Collections.Concurrent.ConcurrentQueue[object]]::new()
        $handler = {
            param($Request)
            ($using:seen).Enqueue([GC]::GetAllocatedBytesForCurrentThread())
            if ($Request.name -eq 'look') { $null = $Request.many.Count }
            ($using:seen).Enqueue([GC]::GetAllocatedBytesForCurrentThread())
            @{ name = 'done' }
        }
        $listener = Start-RpcListener "ncalrpc:[$(New-TestName)]" $handler -Schema $proto
        $rpc = Connect-RpcEndpoint $listener.Endpoint[0] -Schema $proto
        $before = [GC]::GetTotalAllocatedBytes()

        $null = Invoke-RpcMethod Grow @{ name = 'x'; many = @(@{}) * 5000 } -Connection $rpc
        $null = Invoke-RpcMethod Grow @{ name = 'look'; many = @(@{}) * 5000 } -Connection $rpc

        $allocated = $seen.ToArray()
        ($allocated[1] - $allocated[0]) | Should -BeLessThan 1MB
        ($allocated[3] - $allocated[2]) | Should -BeGreaterThan 2MB
    }

    It 'are not made to the end for a caller who left' {
        # What the handler looks at takes seconds; its worker is free again at once.
        $handler = { param($Request) if ($Request.many.Count) { @{ name = 'done' } } }
        $listener = Start-RpcListener "ncalrpc:[$(New-TestName)]" $handler -Schema $proto `
            -ListenerOption @{ WorkerCount = 1 } -Limits @{ MaxMessageElements = 10000000 }
        $rpc = Connect-RpcEndpoint $listener.Endpoint[0] -Schema $proto
        $null = Invoke-RpcMethod Grow @{ } -Connection $rpc
        $large = [byte[]]::new(1400000)
        for ($i = 0; $i -lt $large.Length; $i += 2) { $large[$i] = 0x1A }
        $request = , $large | ConvertFrom-RpcMessage -Type tree.Node -Schema $proto -Format Binary -Raw

        { Invoke-RpcMethod Grow $request -Connection $rpc -Deadline 1 -ErrorAction Stop } |
            Should -Throw -ErrorId 'RpcStatus.DeadlineExceeded,*'

        (Invoke-RpcMethod Grow @{ many = @{} } -Connection $rpc -Deadline 20).name | Should -Be done
        $listener.StuckWorkers | Should -Be 0
    }

    It 'are refused when there are too many of them' {
        $listener = Start-RpcListener "ncalrpc:[$(New-TestName)]" { } -Schema $proto `
            -Limits @{ MaxMessageElements = 100 }
        $rpc = Connect-RpcEndpoint $listener.Endpoint[0] -Schema $proto

        { Invoke-RpcMethod Grow @{ many = @(@{}) * 500 } -Connection $rpc -ErrorAction Stop } |
            Should -Throw -ErrorId 'RpcStatus.ResourceExhausted,*' -ExpectedMessage '*MaxMessageElements*'
    }
}
