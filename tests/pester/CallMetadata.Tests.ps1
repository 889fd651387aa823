. (Join-Path $PSScriptRoot common.ps1)

Describe 'Headers, trailers and error details of calls' {
    BeforeAll {
        $listener = Start-TestListener @{
            SayHello = {
                param($Request)
                $RpcContext.ReplyHeaders['x-first'] = "for $($RpcContext.RequestHeaders['x-asked'])"
                $RpcContext.ReplyTrailers['x-last-bin'] = [byte[]](1, 2, 255)
                $RpcContext.ReplyTrailers['x-filtered'] = "$($RpcContext.RequestHeaders['x-from-filter'])"
                if ($Request.name -eq 'fail') {
                    $failure = [ProtoRpc.RpcException]::new('ResourceExhausted', 'Come back tomorrow.')
                    $failure.Details = @(
                        @{ '@type' = 'google.rpc.ErrorInfo'; reason = 'QUOTA' }
                        @{ '@type' = 'demo.HelloRequest'; name = 'Ann' }
                    )
                    throw $failure
                }
                @{ text = "hi $($Request.name)" }
            }
        } -Endpoint 'ncacn_ip_tcp:127.0.0.1[0]', 'http://127.0.0.1:0/', 'grpc://127.0.0.1:0', "ncalrpc:[$(New-TestName)]" -With @{
            Filter = {
                $RpcContext.ReplyTrailers['x-filter'] = "saw $($RpcContext.RequestHeaders['x-asked'])"
                $Next.Invoke()
            }
        }
    }

    AfterAll { Clear-Test }

    Context '<Name>' -ForEach @(
        @{ Name = 'TCP'; Index = 0 }
        @{ Name = 'HTTP'; Index = 1 }
        @{ Name = 'gRPC'; Index = 2 }
        @{ Name = 'local'; Index = 3 }
    ) {
        BeforeAll {
            $rpc = Connect-RpcEndpoint $listener.Endpoint[$Index] -Schema $listener.Schema -Service demo.Greeter -Header @{
                'x-asked' = 'always'
            }
        }

        It 'carries headers there, and headers and trailers back' {
            $reply = Invoke-RpcMethod SayHello @{ name = 'Ann' } -Connection $rpc -Header @{ 'x-more' = 'b' } `
                -ReplyInfoVariable info

            $reply.text | Should -Be 'hi Ann'
            $info.Headers['x-first'] | Should -Be 'for always'
            $info.Trailers['x-last-bin'] | Should -Be ([byte[]](1, 2, 255))
            $info.Trailers['x-filter'] | Should -Be 'saw always'
        }

        It 'carries trailers and details of a failure' {
            $null = Invoke-RpcMethod SayHello @{ name = 'fail' } -Connection $rpc -ErrorAction SilentlyContinue `
                -ErrorVariable problem -ReplyInfoVariable info

            $problem[0].Exception.Code | Should -Be ResourceExhausted
            $problem[0].Exception.Details[0].reason | Should -Be 'QUOTA'
            $problem[0].Exception.Details[1].name | Should -Be 'Ann'
            $problem[0].Exception.Details[1].pstypenames[0] | Should -Be 'ProtoRpc.Message#demo.HelloRequest'
            $problem[0].Exception.Trailers['x-filter'] | Should -Be 'saw always'
            $info.Trailers['x-last-bin'] | Should -Be ([byte[]](1, 2, 255))
        }
    }
}
