. (Join-Path $PSScriptRoot common.ps1)

Describe 'Endpoints as gRPC writes them' {
    BeforeAll {
        $schema = Join-Path $TestProtos greeter.proto
        $handler = @{ SayHello = { @{ text = "$($RpcContext.RequestHeaders['user-agent'])" } } }
        $with = @{ Schema = $schema; Service = 'demo.Greeter' }
        $version = [ProtoRpc.RpcEndpoint].Assembly.GetName().Version.ToString(3)
    }

    AfterAll { Clear-Test }

    AfterEach {
        Get-RpcConnection | Disconnect-RpcEndpoint
        Disconnect-RpcEndpoint -Pooled
    }

    It 'have a path before the methods' {
        $listener = Start-RpcListener grpc://127.0.0.1:0/api/v1 @with -Handler $handler

        $rpc = Connect-RpcEndpoint $listener.Endpoint[0] -Service demo.Greeter
        $reply = $rpc | Invoke-RpcMethod SayHello

        "$($rpc.Endpoint)" | Should -BeLike 'grpc://127.0.0.1:*/api/v1'
        $reply.text | Should -Be "protorpc/$version"
        (Test-RpcEndpoint $listener.Endpoint[0]).Health | Should -Be Serving
        { Connect-RpcEndpoint "grpc://127.0.0.1:$($listener.Endpoint[0].Port)" -ErrorAction Stop } |
            Should -Throw -ErrorId 'NoReflection,*'
    }

    It 'list several hosts, between which calls are balanced' {
        $listeners = 1..2 | ForEach-Object { Start-RpcListener grpc://127.0.0.1:0 @with -Handler $handler }
        $hosts = $listeners.Endpoint.Port | ForEach-Object { "127.0.0.1:$_" }
        $address = "grpc://$($hosts -join ',')"

        $first = Connect-RpcEndpoint $address @with
        $turns = Connect-RpcEndpoint $address @with -LoadBalancing RoundRobin
        $null = 1..2 | ForEach-Object { $first | Invoke-RpcMethod SayHello }
        $listeners.Calls | Should -Be 2, 0
        $null = 1..4 | ForEach-Object { $turns | Invoke-RpcMethod SayHello }
        $null = Invoke-RpcMethod SayHello -Endpoint $address @with

        $listeners.Calls | Should -Be 5, 2
        "$($first.Endpoint)" | Should -Be $address
    }

    It 'are names with TLS: <Form>' -ForEach @(
        @{ Form = 'dns:///localhost:{0}' }
        @{ Form = 'ipv4:127.0.0.1:{0}' }
    ) {
        $listener = Start-RpcListener grpc://127.0.0.1:0 @with -Handler $handler
        $name = $Form -f $listener.Endpoint[0].Port

        { Connect-RpcEndpoint $name @with -ErrorAction Stop } |
            Should -Throw -ErrorId 'WrongProtocol,*' -ExpectedMessage '*grpc://*'
    }

    It 'say what to write: <Name>' -ForEach @(
        @{ Name = 'dns://localhost:1'; Part = "*Did you mean 'dns:///localhost:1'?*" }
        @{ Name = 'xds:///shop'; Part = '*xDS control plane*' }
        @{ Name = 'unix:shop.sock'; Part = '*must be absolute*' }
        @{ Name = 'grpc://localhost:1/a?b'; Part = "*'?b' is a query*" }
    ) {
        { Connect-RpcEndpoint $Name -ErrorAction Stop } |
            Should -Throw -ErrorId 'InvalidEndpoint,*' -ExpectedMessage $Part
    }

    It 'are offered to clients, and not to listeners' {
        (Complete 'Connect-RpcEndpoint dns').ListItemText | Should -Be 'dns:///HOST:443'
        (Complete 'Connect-RpcEndpoint unix').ListItemText | Should -Be 'unix:///PATH', 'unix-abstract:NAME'
        (Complete 'Start-RpcListener -Endpoint dns').ListItemText | Should -Not -Contain 'dns:///HOST:443'
    }

    It 'take the name of the caller before that of ProtoRpc' {
        $listener = Start-RpcListener grpc://127.0.0.1:0, http://127.0.0.1:0/ @with -Handler $handler

        $replies = Invoke-RpcMethod SayHello -Endpoint $listener.Endpoint @with -Header @{
            'user-agent' = 'shop/2'
        }

        $replies.text | Should -Be "shop/2 protorpc/$version", "shop/2 protorpc/$version"
    }
}
