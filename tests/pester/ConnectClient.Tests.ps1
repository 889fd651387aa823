. (Join-Path $PSScriptRoot common.ps1)

Describe '<_> endpoints' -ForEach 'connect', 'grpcweb' {
    BeforeAll {
        $scheme = $_
        $schema = Import-RpcSchema (Join-Path $TestProtos library.proto) -ImportPath $TestProtos
        $listener = Start-RpcListener -Schema $schema -Endpoint http://127.0.0.1:0/api -Handler @{
            Get = {
                if ($Request.name -eq 'none') { throw [ProtoRpc.RpcException]::new('NotFound', 'There is no such shelf.') }
                $RpcContext.ReplyHeaders.Add('x-asked', "$($RpcContext.RequestHeaders['x-asked'])")
                @{ name = $Request.name }
            }
            Watch = { 1..3 | ForEach-Object { @{ name = "$($Request.name) $_" } } }
        }
        $address = $listener.Endpoint[0].Uri -replace '^http', $scheme
        $rpc = Connect-RpcEndpoint $address -Schema $schema
    }

    AfterAll { Clear-Test }

    It 'call a listener' {
        $get = $rpc | Invoke-RpcMethod Get @{ name = 'a' } -Header @{ 'x-asked' = 'one' } -ReplyInfoVariable info
        $watch = $rpc | Invoke-RpcMethod Watch @{ name = 'b' }

        $get.name | Should -Be 'a'
        $info.Headers['x-asked'] | Should -Be 'one'
        $watch.name | Should -Be 'b 1', 'b 2', 'b 3'
    }

    It 'return the failure of the handler' {
        { $rpc | Invoke-RpcMethod Get @{ name = 'none' } -ErrorAction Stop } |
            Should -Throw -ErrorId 'RpcStatus.NotFound,*' -ExpectedMessage 'There is no such shelf.'
    }

    It 'are pinged' {
        (Test-RpcEndpoint $address).Product | Should -Be 'ProtoRpc'
    }

    It 'are only for clients' {
        { Start-RpcListener -Schema $schema -Endpoint "${scheme}://127.0.0.1:0/" -Handler @{ Get = { @{} } } } |
            Should -Throw -ErrorId 'InvalidEndpoint,*' -ExpectedMessage "*use 'http://127.0.0.1:0/'*"
    }

    It 'take their own settings and reject those of the other protocol' {
        $own, $other, $text = if ($scheme -eq 'connect') {
            @{ HttpGet = $true }, @{ Format = 'GrpcWebText' },
                "'GrpcWebText' as Format of -ConnectionOption does not apply to 'connect:*, only to gRPC-Web endpoints (grpcweb://, grpcwebs://)."
        }
        else {
            @{ Format = 'GrpcWebText' }, @{ HttpGet = $true }, 'HttpGet of -ConnectionOption does not apply to *'
        }
        $with = Connect-RpcEndpoint $address -Schema $schema -ConnectionOption $own

        (Invoke-RpcMethod Get @{ name = 'a' } -Connection $with).name | Should -Be 'a'
        { Connect-RpcEndpoint $address -Schema $schema -ConnectionOption $other -ErrorAction Stop } |
            Should -Throw -ErrorId 'ParameterNotSupported,*' -ExpectedMessage $text
    }

    It 'take the binary format, and gRPC-Web no other one than its own' {
        $binary = Connect-RpcEndpoint $address -Schema $schema -ConnectionOption @{ Format = 'Binary' }
        (Invoke-RpcMethod Get @{ name = 'a' } -Connection $binary).name | Should -Be 'a'
        if ($scheme -eq 'grpcweb') {
            { Connect-RpcEndpoint $address -Schema $schema -ConnectionOption @{ Format = 'Json' } -ErrorAction Stop } |
                Should -Throw -ErrorId 'ParameterNotSupported,*' -ExpectedMessage "'Json' as Format of -ConnectionOption does not apply to *"
        }
    }
}
