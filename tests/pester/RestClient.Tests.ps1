. (Join-Path $PSScriptRoot common.ps1)

Describe 'REST endpoints' {
    BeforeAll {
        $schema = Import-RpcSchema (Join-Path $TestProtos library.proto)
        $listener = Start-RpcListener -Schema $schema -Endpoint http://127.0.0.1:0/api -Handler @{
            Get = {
                if ($Request.name -eq 'shelves/none') { throw [ProtoRpc.RpcException]::new('NotFound', 'There is no such shelf.') }
                $RpcContext.ReplyHeaders.Add('x-asked', "$($RpcContext.RequestHeaders['x-asked'])")
                @{ name = $Request.name; tags = $Request.tags }
            }
            Create = { @{ name = "shelves/$($Request.name)"; tags = $Request.tags } }
            Watch = { 1..3 | ForEach-Object { @{ name = "$($Request.name) $_" } } }
            Count = { @{ } }
        }
        $address = $listener.Endpoint[0].Uri -replace '^http', 'rest'
        $rpc = Connect-RpcEndpoint $address -Schema $schema
    }

    AfterAll { Clear-Test }

    It 'call a listener by the paths of its rules' {
        $get = $rpc | Invoke-RpcMethod Get @{ name = 'shelves/a b'; tags = 'x', 'y&z' }
        $create = $rpc | Invoke-RpcMethod Create @{ name = 'new'; tags = 't' }
        $watch = $rpc | Invoke-RpcMethod Watch @{ name = 'shelves/1' }

        $get.name | Should -Be 'shelves/a b'
        $get.tags | Should -Be 'x', 'y&z'
        $create.name | Should -Be 'shelves/new'
        $watch.name | Should -Be 'shelves/1 1', 'shelves/1 2', 'shelves/1 3'
    }

    It 'send and return headers' {
        $null = $rpc | Invoke-RpcMethod Get @{ name = 'shelves/1' } -Header @{ 'x-asked' = 'one' } -ReplyInfoVariable info

        $info.Headers['x-asked'] | Should -Be 'one'
    }

    It 'return the failure of the handler' {
        { $rpc | Invoke-RpcMethod Get @{ name = 'shelves/none' } -ErrorAction Stop } |
            Should -Throw -ErrorId 'RpcStatus.NotFound,*' -ExpectedMessage 'There is no such shelf.'
    }

    It 'refuse a request that fits no path, and a method without a rule' {
        { $rpc | Invoke-RpcMethod Get @{ name = 'books/1' } -ErrorAction Stop } |
            Should -Throw -ErrorId 'InvalidFieldValue,*' -ExpectedMessage "*'name' of 'GET /v1/{name=shelves/``*}'*"
        { $rpc | Invoke-RpcMethod Count @{ name = 'shelves/1' } -ErrorAction Stop } |
            Should -Throw -ErrorId 'NoHttpRule,*' -ExpectedMessage '*library.Shelves/Count*http://*'
    }

    It 'are pinged and measured, and serve commands of services' {
        $ping = Test-RpcEndpoint $address
        $load = Measure-RpcEndpoint Get @{ name = 'shelves/1' } -Endpoint $address -Schema $schema -Count 20
        $module = $rpc | Import-RpcService -Prefix Rest -PassThru
        $get = Get-Command -Module Rest | Where-Object Verb -EQ Get
        $reply = & $get -Name shelves/7
        $module | Remove-Module

        $ping.Product | Should -Be 'ProtoRpc'
        $load.Calls, $load.Failed | Should -Be 20, 0
        $reply.name | Should -Be 'shelves/7'
    }

    It 'are only for clients, and have no format' {
        { Start-RpcListener -Schema $schema -Endpoint rest://127.0.0.1:0/ -Handler @{ Get = { @{} } } } |
            Should -Throw -ErrorId 'InvalidEndpoint,*' -ExpectedMessage "*use 'http://127.0.0.1:0/'*"
        { Connect-RpcEndpoint $address -Schema $schema -ConnectionOption @{ Format = 'Json' } -ErrorAction Stop } |
            Should -Throw -ErrorId 'ParameterNotSupported,*'
    }
}
