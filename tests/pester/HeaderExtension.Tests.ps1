. (Join-Path $PSScriptRoot common.ps1)

Describe 'extensions of the native headers' {
    BeforeAll {
        $proto = Join-Path $TestProtos extended.proto

        function Start-Extended([scriptblock] $Handler, [hashtable] $With = @{}) {
            Start-RpcListener -Schema $proto -Handler @{ Do = $Handler } @With -Endpoint @(
                "ncalrpc:[$(New-TestName)]", "ncacn_np:[\pipe\$(New-TestName)]", 'ncacn_ip_tcp:127.0.0.1[0]'
                'http://127.0.0.1:0/', 'grpc://127.0.0.1:0')
        }

        function Connect-Extended($Listener, [int] $Number = 0) {
            Connect-RpcEndpoint $Listener.Endpoint[$Number] -Schema $Listener.Schema
        }
    }

    AfterEach { Clear-Test }

    It 'go to the handler and come back, on <_>' -ForEach 'ncalrpc', 'ncacn_np', 'ncacn_ip_tcp' {
        $listener = Start-Extended {
            $RpcContext.ReplyExtensions.'[demo.extended.node]' = "n-$($Request.text)"
            @{ text = "$($RpcContext.RequestExtensions.'[demo.extended.tenant]') " +
                ($RpcContext.RequestExtensions.'[demo.extended.route]'.name -join '>') }
        }
        $rpc = Connect-Extended $listener @('ncalrpc', 'ncacn_np', 'ncacn_ip_tcp').IndexOf($_)

        $extension = @{
            '[demo.extended.tenant]' = 'acme'
            '[demo.extended.route]'  = @{ name = 'a' }, @{ name = 'b' }
        }
        $reply = Invoke-RpcMethod Do @{ text = 'x' } -Connection $rpc -Extension $extension -ReplyInfoVariable info

        $reply.text | Should -Be 'acme a>b'
        $info.Extensions.'[demo.extended.node]' | Should -Be 'n-x'
        @($info.Extensions.Keys) | Should -Not -Contain 'success'
    }

    It 'are those of one call' {
        $rpc = Connect-Extended (Start-Extended {
            @{ text = "[$($RpcContext.RequestExtensions.'[demo.extended.tenant]')]" }
        })

        $texts = @{ text = 'a' }, @{ text = 'b' } |
            Invoke-RpcMethod Do -Connection $rpc -Extension @{ '[demo.extended.tenant]' = 'acme' }
        $last = Invoke-RpcMethod Do -Connection $rpc -ReplyInfoVariable info

        $texts.text | Should -Be '[acme]', '[acme]'
        $last.text | Should -Be '[]'
        $info.Extensions.'[demo.extended.node]' | Should -BeNullOrEmpty
    }

    It 'go with each of several calls at the same time' {
        $listener = Start-Extended { @{ text = $RpcContext.RequestExtensions.'[demo.extended.tenant]' } }
        $connections = Connect-RpcEndpoint $listener.Endpoint[0, 2] -Schema $listener.Schema

        $extension = @{ '[demo.extended.tenant]' = 'acme' }
        $replies = Invoke-RpcMethod Do -Connection $connections -Extension $extension

        $replies.text | Should -Be 'acme', 'acme'
    }

    It 'come with what a handler throws, and with its failure' {
        $rpc = Connect-Extended (Start-Extended {
            $RpcContext.ReplyExtensions = @{ '[demo.extended.node]' = 'n1' }
            $failure = [ProtoRpc.RpcException]::new('Unavailable', 'later')
            $failure.Extensions = @{
                '[demo.extended.retry_after]' = 30
                '[demo.extended.places]' = @{ name = 'x' }
            }
            throw $failure
        } @{ ListenerOption = @{ ErrorDetail = 'None' } }) 2

        Invoke-RpcMethod Do -Connection $rpc -ReplyInfoVariable info `
            -ErrorAction SilentlyContinue -ErrorVariable failed

        $failed[0].Exception.Message | Should -Be 'later'
        $failed[0].Exception.Extensions.'[demo.extended.retry_after]' | Should -Be 30
        $failed[0].Exception.Extensions.'[demo.extended.places]'.name | Should -Be 'x'
        $info.Extensions.'[demo.extended.node]' | Should -Be 'n1'
    }

    It 'are refused with the names that there are, and where they belong to the protocol' {
        $rpc = Connect-Extended (Start-Extended { })

        { Invoke-RpcMethod Do -Connection $rpc -Extension @{ tenant = 'x' } -ErrorAction Stop } |
            Should -Throw -ErrorId 'UnknownField,*' -ExpectedMessage "*'tenant'*``[demo.extended.tenant``]*"
        { Invoke-RpcMethod Do -Connection $rpc -Extension @{ method_name = 'Other' } -ErrorAction Stop } |
            Should -Throw -ErrorId 'InvalidExtension,*' `
                -ExpectedMessage "*'method_name'*is reserved for the protocol*"
        { Invoke-RpcMethod Do -Connection $rpc -Extension @{ '[demo.extended.taken]' = 1 } -EA Stop } |
            Should -Throw -ErrorId 'InvalidExtension,*' `
                -ExpectedMessage '*41001*is reserved for the protocol*'
    }

    It 'of a handler that are wrong are told' {
        $rpc = Connect-Extended (Start-Extended {
            if ($Request.text) {
                $failure = [ProtoRpc.RpcException]::new('Unavailable', 'later')
                $failure.Extensions = @{ retry = 30 }
                throw $failure
            }

            $RpcContext.ReplyExtensions = @{ success = $true }
        })

        Invoke-RpcMethod Do -Connection $rpc -ErrorAction SilentlyContinue -ErrorVariable set
        Invoke-RpcMethod Do @{ text = 'x' } -Connection $rpc -EA SilentlyContinue -ErrorVariable thrown

        "$($set[0])" | Should -BeLike "Internal: *'success'*is reserved for the protocol*"
        "$($thrown[0])" | Should -BeLike "Internal: *'later' cannot be sent: *'retry'*"
    }

    It 'are an error of the caller on <Kind>, where handlers find none and send none' -ForEach @(
        @{ Kind = 'HTTP'; Number = 3 }, @{ Kind = 'gRPC'; Number = 4 }
    ) {
        $listener = Start-Extended {
            $RpcContext.ReplyExtensions.'[demo.extended.node]' = 'n1'
            if ($Request.text) {
                $failure = [ProtoRpc.RpcException]::new('Unavailable', 'later')
                $failure.Extensions = @{ '[demo.extended.retry_after]' = 30 }
                throw $failure
            }

            @{ text = "[$($RpcContext.RequestExtensions.'[demo.extended.tenant]')]" }
        }
        $rpc = Connect-Extended $listener $Number

        { Invoke-RpcMethod Do -Connection $rpc -Extension @{ '[demo.extended.tenant]' = 'x' } -EA Stop } |
            Should -Throw -ErrorId 'ParameterNotSupported,*' -ExpectedMessage '*-Extension*'
        (Invoke-RpcMethod Do -Connection $rpc -ReplyInfoVariable info).text | Should -Be '[]'
        $info.Extensions.Count | Should -Be 0
        Invoke-RpcMethod Do @{ text = 'x' } -Connection $rpc -EA SilentlyContinue -ErrorVariable failed
        $failed[0].Exception.Message | Should -Be 'later'
        $failed[0].Exception.Extensions | Should -BeNullOrEmpty
    }
}
