. (Join-Path $PSScriptRoot common.ps1)

BeforeDiscovery {
    # Linux Standard Base: each Linux has the user and the group daemon.
    $missing = & {
        if (-not $IsLinux -or [Environment]::UserName -ne 'root') { return 'only root on Linux can act as another account' }
        if (-not (Get-Command setpriv -CommandType Application -ErrorAction Ignore)) { return 'setpriv is not installed' }
        setpriv --reuid=daemon --regid=daemon --init-groups test -x ([Environment]::ProcessPath) -a -r (Split-Path (Split-Path $PSScriptRoot))
        if ($LASTEXITCODE) { return 'the account daemon cannot read the folder of the shell or of the repository' }
    }
}

Describe 'AllowedUser and AllowedGroup of -ListenerOption' {
    BeforeAll {
        $handler = @{ SayHello = { @{ text = "$($RpcContext.User.Name)" } } }

        # A shell of another account has no home folder, and needs a place for its copy of protoc.
        $cache = Join-Path ([IO.Path]::GetTempPath()) (New-TestName)
        if ($IsLinux) {
            $null = New-Item -ItemType Directory -Path $cache
            chmod 1777 $cache
        }

        # Calls a listener in a shell of another account.
        function Invoke-As([string] $Account, [string] $Endpoint, [string] $Option = '@{}', [string] $Command) {
            if (-not $Command) {
                $Command = "(Invoke-RpcMethod SayHello -Endpoint '$Endpoint' -Schema '$TestProtos/greeter.proto' -Service demo.Greeter -ConnectionOption $Option -ErrorAction Stop).text"
            }
            $file = Join-Path ([IO.Path]::GetTempPath()) "$(New-TestName).ps1"
            Set-Content -LiteralPath $file -Value @"
`$ProgressPreference = 'SilentlyContinue'
Import-Module '$ModuleManifest'
try { $Command }
catch { "`$_" }
"@
            chmod 644 $file
            setpriv --reuid=$Account --regid=$Account --clear-groups mkdir -p $cache/$Account
            try {
                (setpriv --reuid=$Account --regid=$Account --init-groups env HOME=$cache/$Account XDG_CACHE_HOME=$cache/$Account ([Environment]::ProcessPath) -NoProfile -NonInteractive -File $file) -join "`n"
            } finally {
                Remove-Item -LiteralPath $file
            }
        }
    }

    AfterEach { Clear-Test }

    AfterAll {
        if ($IsLinux) { Remove-Item -LiteralPath $cache -Recurse -Force }
    }

    It 'opens <_> to a user, and not to others' -Skip:($null -ne $missing) -ForEach 'ncalrpc:[{0}]', 'ncacn_np:[\pipe\{0}]' {
        $listener = Start-TestListener $handler -Endpoint ($_ -f (New-TestName)) -With @{ ListenerOption = @{ AllowedUser = 'daemon' } }

        Invoke-As daemon $listener.Endpoint[0] | Should -Be daemon
        Invoke-As bin $listener.Endpoint[0] | Should -BeLike '*PermissionDenied*AllowedUser of -ListenerOption*'
        (Invoke-RpcMethod SayHello -Connection (Connect-Test $listener)).text | Should -Be root
    }

    It 'fails the ping of an account that may not connect to <_>' -Skip:($null -ne $missing) -ForEach 'ncalrpc:[{0}]', 'ncacn_np:[\pipe\{0}]' {
        $listener = Start-TestListener $handler -Endpoint ($_ -f (New-TestName)) -With @{ ListenerOption = @{ AllowedUser = 'daemon' } }
        $ping = "(Test-RpcEndpoint '$($listener.Endpoint[0])' -ErrorAction Stop).Product"

        Invoke-As daemon $listener.Endpoint[0] -Command $ping | Should -Be ProtoRpc
        Invoke-As bin $listener.Endpoint[0] -Command $ping | Should -BeLike '*PermissionDenied*AllowedUser of -ListenerOption*'
    }

    It 'opens a local endpoint to a group, and not to others' -Skip:($null -ne $missing) {
        $listener = Start-TestListener $handler -With @{ ListenerOption = New-RpcListenerOption -AllowedGroup daemon }

        Invoke-As daemon $listener.Endpoint[0] | Should -Be daemon
        Invoke-As bin $listener.Endpoint[0] | Should -BeLike '*PermissionDenied*may not connect*'
    }

    It 'opens a Unix socket of gRPC at a path' -Skip:($null -ne $missing) {
        $folder = New-Item -ItemType Directory -Path (Join-Path ([IO.Path]::GetTempPath()) (New-TestName))
        try {
            chmod 711 $folder
            $listener = Start-TestListener $handler -Endpoint "grpc+unix://$folder/api.sock" -With @{ ListenerOption = @{ AllowedUser = 'daemon' } }

            Invoke-As daemon $listener.Endpoint[0] | Should -Be daemon
            Invoke-As bin $listener.Endpoint[0] | Should -BeLike '*PermissionDenied*'
        } finally {
            Clear-Test
            Remove-Item $folder -Recurse
        }
    }

    It 'is for the own account alone without them' -Skip:($null -ne $missing) {
        $listener = Start-TestListener $handler

        Invoke-As daemon $listener.Endpoint[0] | Should -BeLike '*nothing listens*ServerUser of -ConnectionOption*'
    }

    It 'is skipped with a reason where no other account can be had' -Skip:($null -eq $missing) {
        Set-ItResult -Skipped -Because $missing
    }

    It 'names an account that there is not: <Name>' -ForEach @(
        @{ Name = 'AllowedUser'; Value = 'no such user' }
        @{ Name = 'AllowedGroup'; Value = 'no such group' }
    ) {
        $problem = { Start-TestListener $handler -With @{ ListenerOption = @{ $Name = $Value } } } |
            Should -Throw -ErrorId 'InvalidSecurity,*' -PassThru

        "$problem" | Should -BeLike "*$Name of -ListenerOption has '$Value'*no such*"
    }

    It 'names the endpoints that it is for' {
        { Start-TestListener $handler -Endpoint 'tcp://127.0.0.1:0' -With @{ ListenerOption = @{ AllowedUser = 'root' } } } |
            Should -Throw -ErrorId 'ParameterNotSupported,*' -ExpectedMessage '*AllowedUser of -ListenerOption*local://*'
    }

    It 'is for raw listeners as well' -Skip:($null -ne $missing) {
        { Start-RpcListener "ncalrpc:[$(New-TestName)]" -Handler { param($Bytes) $Bytes } -InterfaceId (New-Guid) -ListenerOption @{ AllowedUser = 'daemon' } -ErrorAction Stop } |
            Should -Not -Throw
    }
}
