. (Join-Path $PSScriptRoot common.ps1)

Describe '$RpcContext' {
    AfterEach { Clear-Test }

    It 'has what is known of a caller on <Endpoint>' -ForEach @(
        @{ Endpoint = 'local'; Local = $true }
        @{ Endpoint = 'tcp'; Local = $false }
    ) {
        $address = $Endpoint -eq 'tcp' ? 'ncacn_ip_tcp:127.0.0.1[0]' : "ncalrpc:[$(New-TestName)]"
        $listener = Start-TestListener -Endpoint $address {
            $facts = [ordered]@{
                User = $RpcContext.User.Name
                IsAuthenticated = $RpcContext.IsAuthenticated
                ProtectionLevel = "$($RpcContext.ProtectionLevel)"
                Transport = "$($RpcContext.Transport)"
                HasAddress = $RpcContext.ClientAddress -ne ''
                ProcessId = $RpcContext.ProcessId
                IsLocal = $RpcContext.IsLocal
                Method = $RpcContext.Method.FullName
                HasDeadline = $RpcContext.Deadline -gt [DateTimeOffset]::Now
                IsCancelled = $RpcContext.CancellationToken.IsCancellationRequested
                Endpoint = "$($RpcContext.Endpoint)"
            }
            @{ text = $facts | ConvertTo-Json -Compress }
        }
        $rpc = Connect-Test $listener

        $facts = (Invoke-RpcMethod SayHello -Connection $rpc -Deadline 30).text | ConvertFrom-Json

        $facts.User | Should -Be ($Local ? $OwnName : '')
        $facts.IsAuthenticated | Should -Be $Local
        $facts.ProtectionLevel | Should -Be ($Local ? 'Privacy' : 'None')
        $facts.Transport | Should -Be ($Local ? 'Local' : 'Tcp')
        $facts.HasAddress | Should -Be (-not $Local)
        $facts.ProcessId | Should -Be ($Local ? $PID : 0)
        $facts.IsLocal | Should -Be $Local
        $facts.Method | Should -Be 'demo.Greeter/SayHello'
        $facts.HasDeadline | Should -BeTrue
        $facts.IsCancelled | Should -BeFalse
        $facts.Endpoint | Should -Be "$($listener.Endpoint)"
    }

    It 'keeps a session for the caller between calls' {
        $listener = Start-TestListener {
            $RpcContext.Session['n'] = 1 + $RpcContext.Session['n']
            @{ number = $RpcContext.Session['n'] }
        }
        $one = Connect-Test $listener
        $two = Connect-Test $listener

        $numbers = $one, $one, $two, $one | ForEach-Object { (Invoke-RpcMethod SayHello -Connection $_).number }

        $numbers | Should -Be 1, 2, 1, 3
    }

    Context 'impersonation' {
        It 'says plainly that this system cannot do it, for one block' -Skip:$IsWindows {
            $rpc = Connect-Test (Start-TestListener { $RpcContext.Impersonate({ 1 }) })

            $null = Invoke-RpcMethod SayHello -Connection $rpc -ErrorAction SilentlyContinue -ErrorVariable errors

            $errors[0].Exception.Code | Should -Be 'Unimplemented'
            $errors[0].Exception.Message | Should -BeLike '*only on Windows*'
        }

        It 'says so when the listener starts, for every call' -Skip:$IsWindows {
            { Start-TestListener { } -With @{ ListenerOption = @{ Impersonate = $true } } } |
                Should -Throw -ErrorId 'ImpersonationNotSupported,*' -ExpectedMessage '*only on Windows*'
            Get-RpcListener | Should -BeNullOrEmpty
        }

        It 'refuses to be an anonymous caller' {
            $rpc = Connect-Test (Start-TestListener { $RpcContext.Impersonate({ 1 }) } -Endpoint 'tcp://127.0.0.1:0')

            $null = Invoke-RpcMethod SayHello -Connection $rpc -ErrorAction SilentlyContinue -ErrorVariable errors

            $errors[0].Exception.Code | Should -Be 'Unauthenticated'
        }

        It 'runs handlers as the caller' -Skip:(-not $IsWindows) {
            $rpc = Connect-Test (Start-TestListener -With @{ ListenerOption = @{ Impersonate = $true } } {
                @{ text = [Security.Principal.WindowsIdentity]::GetCurrent().ImpersonationLevel }
            })

            # A client of a pipe says who it is, and lends its account to nobody.
            (Invoke-RpcMethod SayHello -Connection $rpc).text | Should -Be 'Identification'
        }
    }
}
