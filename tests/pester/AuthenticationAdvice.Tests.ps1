. (Join-Path $PSScriptRoot common.ps1)

Describe 'Errors that say how to authenticate' {
    BeforeAll {
        $robot = { param($Token) if ($Token -eq 'right') { 'robot' } }
        $account = [pscredential]::new('CORP\bob', (ConvertTo-SecureString pw -AsPlainText))
        $native = Start-TestListener @{ SayHello = @{} } -Endpoint 'tcp://127.0.0.1:0' -With @{
            Authentication = 'Ntlm'; ListenerOption = @{ NtlmAccount = $account }
        }
        $tokens = Start-TestListener @{ SayHello = @{} } -Endpoint 'http://127.0.0.1:0/', 'grpc://127.0.0.1:0' -With @{
            BearerCheck = $robot
        }
        $both = Start-TestListener @{ SayHello = @{} } -Endpoint 'http://127.0.0.1:0/', 'grpc://127.0.0.1:0' -With @{
            BearerCheck = $robot; BasicCheck = { param($Credential) $null }
        }
        $own = Start-TestListener @{
            SayHello = { throw [ProtoRpc.RpcException]::new('Unauthenticated', 'Who are you?') }
        } -Endpoint 'grpc://127.0.0.1:0'

        function Get-Refusal($Endpoint, $With = @{}) {
            Invoke-RpcMethod SayHello -Endpoint $Endpoint -Schema $tokens.Schema -Service demo.Greeter @With `
                -ErrorAction SilentlyContinue -ErrorVariable refused | Out-Null
            "$($refused[0])"
        }
    }

    AfterAll {
        Disconnect-RpcEndpoint -Pooled
        Clear-Test
    }

    It 'name -Token if the server accepts tokens' {
        Get-Refusal $tokens.Endpoint[0] | Should -BeLike '*requires authentication: Bearer.* To authenticate, use -Token.'
        Get-Refusal $tokens.Endpoint[1] | Should -BeLike '*requires authentication: Bearer.* To authenticate, use -Token.'
    }

    It 'name -Credential and -Token if the server accepts both' {
        foreach ($endpoint in $both.Endpoint) {
            Get-Refusal $endpoint |
                Should -BeLike '*requires authentication: Basic, Bearer.* To authenticate, use -Credential or -Token.'
        }
    }

    It 'name -Credential and Self on native endpoints' {
        Get-Refusal $native.Endpoint[0] | Should -BeLike (
            '*requires authentication*anonymous.* To authenticate, use -Credential or ' +
            'Authentication of -ConnectionOption (Self).*')
    }

    It 'name what the endpoint can take if the server does not say' {
        Get-Refusal $own.Endpoint[0] | Should -BeLike '*Who are you?* To authenticate, use -Credential or -Token.'
    }

    It 'give no advice to a caller who has authenticated' {
        $wrong = ConvertTo-SecureString wrong -AsPlainText

        Get-Refusal $tokens.Endpoint[0] @{ Token = $wrong } | Should -BeLike '*not accepted*'
        Get-Refusal $tokens.Endpoint[0] @{ Token = $wrong } | Should -Not -BeLike '*To authenticate*'
        Get-Refusal $tokens.Endpoint[1] @{ Header = @{ authorization = 'Bearer x' } } | Should -BeLike '*not accepted*'
    }

    It 'leave the message of the exception as the server sent it' {
        Invoke-RpcMethod SayHello -Endpoint $own.Endpoint[0] -Schema $own.Schema -Service demo.Greeter `
            -ErrorAction SilentlyContinue -ErrorVariable refused

        $refused[0].Exception.Message | Should -Be 'Who are you?'
    }
}
