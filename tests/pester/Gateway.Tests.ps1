. (Join-Path $PSScriptRoot common.ps1)

Describe 'Connections as handlers' {
    BeforeEach {
        $server = Start-TestListener @{
            SayHello = {
                $RpcContext.ReplyHeaders['x-seen'] = "$($RpcContext.RequestHeaders['x-tenant'])"
                @{ text = "hi $($Request.name)"; number = ($RpcContext.RequestHeaders['authorization'] ? 1 : 0) }
            }
            Fail = { throw [ProtoRpc.RpcException]::new('NotFound', "no $($Request.name)") }
            Watch = { 1..3 | ForEach-Object { @{ text = "$_" } } }
        } -Endpoint "ncalrpc:[$(New-TestName)]", "inproc://$(New-TestName)"
        $old = Connect-Test $server
    }

    AfterEach {
        Get-RpcConnection | Disconnect-RpcEndpoint
        Get-RpcListener | Stop-RpcListener -DrainTimeout 0
    }

    It 'forwards every method of all services of the connection, without -Schema and -Service' {
        $gateway = Start-RpcListener "ncalrpc:[$(New-TestName)]" $old

        $gateway.Service | Should -Be 'demo.Greeter', 'demo.Parting'
        $gateway.Workers | Should -Be 0
        (Connect-Test $gateway | Invoke-RpcMethod SayHello @{ name = 'Ann' }).text | Should -Be 'hi Ann'
    }

    It 'puts HTTP with JSON before a native endpoint' {
        $gateway = Start-RpcListener http://127.0.0.1:0 $old

        $uri = "$($gateway.Endpoint[0])demo.Greeter/SayHello"
        (Invoke-RestMethod $uri -Method Post -ContentType application/json -Body '{"name":"Bo"}').text |
            Should -Be 'hi Bo'
        $failed = Invoke-WebRequest "$($gateway.Endpoint[0])demo.Greeter/Fail" -Method Post `
            -ContentType application/json -Body '{"name":"Bo"}' -SkipHttpErrorCheck
        $failed.StatusCode | Should -Be 404
        $failed.Content | Should -Match 'no Bo'
    }

    It 'puts gRPC with reflection before a native endpoint' {
        $gateway = Start-RpcListener grpc://127.0.0.1:0 $old

        $rpc = Connect-RpcEndpoint $gateway.Endpoint[0] -Service demo.Greeter
        ($rpc | Invoke-RpcMethod SayHello @{ name = 'Cy' }).text | Should -Be 'hi Cy'
        $rpc | Invoke-RpcMethod Watch @{} -ErrorAction SilentlyContinue -ErrorVariable failed
        "$failed" | Should -Match 'has a stream'
    }

    It 'forwards streams where the connection carries them' {
        $live = Connect-Test $server 1
        $gateway = Start-RpcListener grpc://127.0.0.1:0 $live

        (Connect-Test $gateway | Invoke-RpcMethod Watch @{}).text | Should -Be '1', '2', '3'
    }

    It 'forwards one method and handles others' {
        $gateway = Start-TestListener @{ SayHello = $old; Fail = @{ text = 'fine' } }
        $rpc = Connect-Test $gateway

        ($rpc | Invoke-RpcMethod SayHello @{ name = 'Di' }).text | Should -Be 'hi Di'
        ($rpc | Invoke-RpcMethod Fail @{}).text | Should -Be 'fine'
    }

    It 'passes status and text of a failure on' {
        $gateway = Start-RpcListener "ncalrpc:[$(New-TestName)]" $old

        Connect-Test $gateway | Invoke-RpcMethod Fail @{ name = 'Ed' } -ErrorAction SilentlyContinue -ErrorVariable failed

        $failed[0].FullyQualifiedErrorId | Should -BeLike 'RpcStatus.NotFound,*'
        $failed[0].Exception.Message | Should -Be 'no Ed'
    }

    It 'lets filters see messages' {
        $gateway = Start-RpcListener "ncalrpc:[$(New-TestName)]" $old -Filter {
            $Request.name += '!'
            $reply = $Next.Invoke($Request)
            $reply.text += '?'
            $reply
        }

        (Connect-Test $gateway | Invoke-RpcMethod SayHello @{ name = 'Flo' }).text | Should -Be 'hi Flo!?'
    }

    It 'keeps credentials of callers, unless ForwardHeader names them, and blocks what BlockHeader names' {
        $headers = @{ authorization = 'Bearer x'; 'x-tenant' = 'a' }
        $plain = Connect-Test (Start-RpcListener "ncalrpc:[$(New-TestName)]" $old)
        $open = Connect-Test (Start-RpcListener "ncalrpc:[$(New-TestName)]" $old -ListenerOption @{ ForwardHeader = 'authorization'; BlockHeader = 'x-*' })

        ($plain | Invoke-RpcMethod SayHello @{} -Header $headers -ReplyInfoVariable first).number | Should -Be 0
        ($open | Invoke-RpcMethod SayHello @{} -Header $headers -ReplyInfoVariable second).number | Should -Be 1
        $first.Headers['x-seen'] | Should -Be 'a'
        $second.Headers['x-seen'] | Should -BeNullOrEmpty
    }

    It 'names the service behind it when that is gone' {
        $gateway = Start-RpcListener "ncalrpc:[$(New-TestName)]" $old
        $server | Stop-RpcListener

        Connect-Test $gateway | Invoke-RpcMethod SayHello @{} -ErrorAction SilentlyContinue -ErrorVariable failed

        $failed[0].Exception.Code | Should -Be 'Unavailable'
        $failed[0].Exception.Message | Should -Match ([regex]::Escape($server.Endpoint[0]))
    }

    Context 'what cannot forward' {
        It 'refuses a method that streams when the connection cannot carry it' {
            { Start-TestListener @{ Watch = $old } } |
                Should -Throw -ErrorId 'GatewayCannotStream,*' -ExpectedMessage '*demo.Greeter/Watch*grpc://*'
        }

        It 'refuses a connection that is closed' {
            $old | Disconnect-RpcEndpoint
            { Start-TestListener @{ SayHello = $old } } | Should -Throw -ErrorId 'ClientClosed,*'
        }

        It 'needs -Schema without a connection' {
            { Start-RpcListener "ncalrpc:[$(New-TestName)]" { } } |
                Should -Throw -ErrorId 'NoSchema,*' -ExpectedMessage '*-Schema*'
        }

        It 'refuses ForwardHeader without a connection' {
            { Start-TestListener { } -With @{ ListenerOption = @{ ForwardHeader = 'authorization' } } } |
                Should -Throw -ExpectedMessage 'ForwardHeader of -ListenerOption*'
        }

        It 'says what a method does not have in the schema of the connection' {
            $other = Start-RpcListener "ncalrpc:[$(New-TestName)]" { } -Schema $RepositoryRoot/protos/sample.proto |
                Connect-RpcEndpoint
            { Start-TestListener @{ SayHello = $other } } | Should -Throw -ErrorId '*NotFound,*'
        }
    }
}
