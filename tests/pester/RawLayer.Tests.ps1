. (Join-Path $PSScriptRoot common.ps1)

Describe 'The raw layer' {
    BeforeAll {
        $id = [guid]'b1f2c2b4-5d3e-4c7a-9f10-2a6b8c0d4e5f'

        function Start-Raw([scriptblock] $RawHandler, [hashtable] $With = @{}) {
            Start-RpcListener "ncalrpc:[$(New-TestName)]" -InterfaceId $id -RawHandler $RawHandler @With
        }
    }

    AfterEach { Clear-Test }

    It 'carries bytes in and out' {
        $listener = Start-Raw { param([byte[]] $Bytes) [array]::Reverse($Bytes); $Bytes }
        $rpc = Connect-RpcEndpoint $listener.Endpoint[0] -InterfaceId $id

        $reply = Invoke-RpcMethod -Bytes 1, 2, 3 -Connection $rpc

        , $reply | Should -BeOfType byte[]
        $reply | Should -Be 3, 2, 1
        $listener.IsRaw | Should -BeTrue
        $listener.InterfaceId | Should -Be $id
        $rpc.InterfaceId | Should -Be $id
        $rpc.Calls | Should -Be 1
    }

    It 'takes <Name> as the reply' -ForEach @(
        @{ Name = 'nothing'; Handler = { }; Reply = '' }
        @{ Name = 'one byte'; Handler = { [byte]7 }; Reply = '07' }
        @{ Name = 'numbers'; Handler = { 1, 2, 255 }; Reply = '0102FF' }
        @{ Name = 'an array as one object'; Handler = { , [byte[]](8, 9) }; Reply = '0809' }
        @{ Name = 'the variable $Bytes'; Handler = { $Bytes }; Reply = '2A' }
    ) {
        $listener = Start-Raw $Handler
        $null = $listener | Connect-RpcEndpoint

        [Convert]::ToHexString((Invoke-RpcMethod -Bytes 42)) | Should -Be $Reply
    }

    It 'tells the handler who calls' {
        $listener = Start-Raw {
            [Text.Encoding]::UTF8.GetBytes("$($RpcContext.User.Name) $($RpcContext.ProcessId) $($RpcContext.InterfaceId)")
        }
        $rpc = $listener | Connect-RpcEndpoint

        $text = [Text.Encoding]::UTF8.GetString((Invoke-RpcMethod -Bytes @() -Connection $rpc))

        $text | Should -Be "$([Environment]::UserName) $PID $id"
    }

    It 'answers <Name> with return code <Code>, as the original does' -ForEach @(
        @{ Name = 'a handler that throws'; Handler = { throw 'out of paper' }; Code = 2147500037u }
        @{ Name = 'a handler that gives null'; Handler = { $null }; Code = 1715u }
        @{ Name = 'a handler that gives text'; Handler = { 'text' }; Code = 2147500037u }
    ) {
        $null = Start-Raw $Handler | Connect-RpcEndpoint

        $null = Invoke-RpcMethod -Bytes 1 -ErrorAction SilentlyContinue -ErrorVariable errors

        $errors[0].Exception.NativeStatus | Should -Be $Code
    }

    It 'keeps the error of a handler for Receive-RpcListener' {
        $listener = Start-Raw { throw 'out of paper' }
        $null = $listener | Connect-RpcEndpoint
        $null = Invoke-RpcMethod -Bytes 1 -ErrorAction SilentlyContinue

        $null = $listener | Receive-RpcListener -ErrorAction SilentlyContinue -ErrorVariable shown

        "$($shown[0])" | Should -Be 'out of paper'
    }

    It 'refuses requests over -MaxRequestBytes' {
        $null = Start-Raw { $Bytes } -With @{ MaxRequestBytes = 3 } | Connect-RpcEndpoint

        { Invoke-RpcMethod -Bytes 1, 2, 3, 4 -ErrorAction Stop } | Should -Throw -ErrorId 'RpcStatus.ResourceExhausted,*'
        (Invoke-RpcMethod -Bytes 1, 2, 3) | Should -Be 1, 2, 3
    }

    It 'refuses calls over -MaxCalls' {
        $listener = Start-Raw { Start-Sleep -Milliseconds 500; $Bytes } -With @{ MaxCalls = 1 }
        $endpoint = "$($listener.Endpoint)"

        $codes = 1..3 | ForEach-Object -ThrottleLimit 3 -Parallel {
            Import-Module $using:ModuleManifest
            $null = Connect-RpcEndpoint $using:endpoint -InterfaceId $using:id |
                Invoke-RpcMethod -Bytes 1 -ErrorAction SilentlyContinue -ErrorVariable errors
            "$($errors[0].Exception.Code)"
        }

        $codes | Should -Contain 'ResourceExhausted'
        $codes | Should -Contain ''
    }

    It 'says how to connect when bytes and messages are mixed up' {
        $raw = Start-Raw { $Bytes } | Connect-RpcEndpoint
        $messages = Start-TestListener { @{} } | Connect-RpcEndpoint

        { Invoke-RpcMethod SayHello -Connection $raw -ErrorAction Stop } |
            Should -Throw -ErrorId 'WrongConnection,*' -ExpectedMessage '*-Bytes*'
        { Invoke-RpcMethod -Bytes 1 -Connection $messages -ErrorAction Stop } |
            Should -Throw -ErrorId 'WrongConnection,*' -ExpectedMessage '*-InterfaceId*'
    }

    It 'says that an interface is not served' {
        $listener = Start-Raw { $Bytes }

        { Connect-RpcEndpoint $listener.Endpoint[0] -InterfaceId ([guid]::NewGuid()) -ErrorAction Stop } |
            Should -Throw -ErrorId 'RpcStatus.Unimplemented,*'
    }

    It 'is not there on HTTP' {
        { Start-RpcListener 'http://127.0.0.1:0/' -InterfaceId $id -RawHandler { } } |
            Should -Throw -ErrorId 'RpcStatus.Unimplemented,*' -ExpectedMessage '*raw layer*'
    }
}
