. (Join-Path $PSScriptRoot common.ps1)

Describe 'In-process endpoints' {
    BeforeAll {
        $proto = Join-Path $TestDrive talk.proto
        Set-Content -LiteralPath $proto -Value @'
syntax = "proto3";
package talk;
message Words { string text = 1; }
service Talk {
  rpc Say (Words) returns (Words);
  rpc Split (Words) returns (stream Words);
  rpc Join (stream Words) returns (Words);
  rpc Chat (stream Words) returns (stream Words);
}
'@
        $name = "test-$([guid]::NewGuid().ToString('n'))"
        $listener = Start-RpcListener "inproc://$name" -Schema $proto -Handler @{
            Say = {
                param($Request)
                if ($Request.text -eq 'fail') { throw 'out of paper' }
                $RpcContext.ReplyTrailers['last'] = 'bye'
                @{ text = "$($RpcContext.User.Name)|$($RpcContext.AuthenticationType)|$($RpcContext.ProcessId)" }
            }
            Split = { param($Request) $Request.text -split ' ' | ForEach-Object { @{ text = $_ } } }
            Join = { param($Request) @{ text = ($Request | ForEach-Object text) -join ' ' } }
            Chat = { param($Request) $Request | ForEach-Object { @{ text = $_.text.ToUpperInvariant() } } }
        }
        $rpc = Connect-RpcEndpoint "inproc://$name"
    }

    AfterAll {
        $rpc | Disconnect-RpcEndpoint
        $listener | Stop-RpcListener
    }

    It 'needs no schema, and names this process as the caller' -Skip:$IsWindows {
        $reply = Invoke-RpcMethod Say @{ text = 'who' } -Connection $rpc -ReplyInfoVariable info

        $reply.text | Should -Be "$OwnName|Kernel|$PID"
        $info.Trailers['last'] | Should -Be 'bye'
    }

    It 'streams replies, requests and both' {
        (Invoke-RpcMethod Split @{ text = 'a b c' } -Connection $rpc).text | Should -Be a, b, c
        ('a', 'b' | ForEach-Object { @{ text = $_ } } | Invoke-RpcMethod Join -Connection $rpc).text | Should -Be 'a b'
        ('a', 'b' | ForEach-Object { @{ text = $_ } } | Invoke-RpcMethod Chat -Connection $rpc).text | Should -Be A, B
    }

    It 'tells why a handler failed' {
        { Invoke-RpcMethod Say @{ text = 'fail' } -Connection $rpc -ErrorAction Stop } |
            Should -Throw -ExpectedMessage '*out of paper*'
    }

    It 'answers Test-RpcEndpoint, and takes a schema' {
        $ping = Test-RpcEndpoint "inproc://$name"
        $ping.Product | Should -Be ProtoRpc
        $ping.Services | Should -Be talk.Talk
        Test-RpcEndpoint "inproc://$name" -Schema $proto -Quiet | Should -BeTrue
        Test-RpcEndpoint inproc://nobody -Quiet | Should -BeFalse
    }

    It 'is reached from another runspace of the process' {
        $module = Join-Path $PSScriptRoot ../../ProtoRpc.psd1
        $texts = 1..3 | ForEach-Object -ThrottleLimit 3 -Parallel {
            Import-Module $using:module
            (Invoke-RpcMethod Join @{ text = "$_" } -Connection (Connect-RpcEndpoint "inproc://$using:name")).text
        }

        $texts | Sort-Object | Should -Be 1, 2, 3
    }

    It 'completes to the endpoints there are, and to the form' {
        $offered = (Complete 'Connect-RpcEndpoint inproc').CompletionText

        $offered | Should -Contain "'inproc://$name'"
        $offered | Should -Contain "'inproc://NAME'"
    }

    It 'says that nobody listens under a name in this process' {
        { Connect-RpcEndpoint inproc://nobody -ErrorAction Stop } |
            Should -Throw -ErrorId 'RpcStatus.Unavailable,*' -ExpectedMessage '*no server of this process*'
    }

    It 'refuses a second listener of the name' {
        { Start-RpcListener "inproc://$name" -Schema $proto -Handler { } } | Should -Throw -ErrorId 'EndpointInUse,*'
    }

    It 'refuses -<Name>' -ForEach @(
        @{ Name = 'Token'; Value = [securestring]::new() }
        @{ Name = 'Format'; Value = 'Json' }
        @{ Name = 'Compression'; Value = 'Gzip' }
        @{ Name = 'Mechanism'; Value = 'Ntlm' }
        @{ Name = 'InterfaceId'; Value = [guid]::NewGuid() }
    ) {
        { Connect-RpcEndpoint "inproc://$name" -Schema $proto -ConnectionOption @{ $Name = $Value } -ErrorAction Stop } |
            Should -Throw -ErrorId 'ParameterNotSupported,*' `
                -ExpectedMessage "$Name of -ConnectionOption does not apply to 'inproc://*"
    }
}
