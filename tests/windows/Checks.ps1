# The checks of Check.ps1, which dot-sources this file. Each writes what the report shows, and throws if it fails.

# The original in Windows PowerShell: a server that returns the bytes in reverse order, or one call.
$originalScript = @'
param($dll, $mode, $protocol, $name, $id)
$ErrorActionPreference = 'Stop'
Add-Type -Path $dll
Add-Type -ReferencedAssemblies $dll -TypeDefinition @"
using System;
using CSharpTest.Net.RpcLibrary;
public static class Original {
    public static void Serve(Guid id, string protocol, string name) {
        using (RpcServerApi server = new RpcServerApi(id)) {
            server.AddProtocol((RpcProtseq)Enum.Parse(typeof(RpcProtseq), protocol), name, 5);
            server.OnExecute += delegate(IRpcClientInfo client, byte[] bytes) { Array.Reverse(bytes); return bytes; };
            server.StartListening();
            Console.WriteLine("ready");
            System.Threading.Thread.Sleep(60000);
        }
    }
    public static string Call(Guid id, string protocol, string name) {
        using (RpcClientApi client = new RpcClientApi(
            id, (RpcProtseq)Enum.Parse(typeof(RpcProtseq), protocol), null, name)) {
            return BitConverter.ToString(client.Execute(new byte[] { 1, 2, 3 }));
        }
    }
}
"@
if ($mode -eq 'serve') { [Original]::Serve($id, $protocol, $name) } else { [Original]::Call($id, $protocol, $name) }
'@

# Both directions with the original over one of its protocols.
function Test-Original([string] $Protocol, [string] $OriginalName, [string] $Endpoint, [string] $ListenEndpoint) {
    Assert-Windows 'the original'
    if (-not $Original) {
        Skip-Check 'give the path of CSharpTest.Net.RpcLibrary.dll with -Original'
    }
    $id = [guid]::NewGuid()
    $server = Invoke-WindowsPowerShell $originalScript $Original, serve, $Protocol, $OriginalName, $id
    try {
        $until = [datetime]::Now.AddSeconds(30)
        while ("$(Receive-Job $server -Keep)" -notmatch 'ready') {
            if ([datetime]::Now -gt $until -or $server.State -ne 'Running') {
                throw "the original does not serve: $(Receive-Job $server -Keep)"
            }
            Start-Sleep -Milliseconds 100
        }
        $rpc = Connect-RpcEndpoint $Endpoint -InterfaceId $id
        Assert-Equal "$(Invoke-RpcMethod -Message 1, 2, 3 -Connection $rpc)" '3 2 1' 'the reply of the original'
        'our client calls the original'
    }
    finally {
        Get-RpcConnection | Disconnect-RpcEndpoint
        Remove-Job $server -Force
    }
    $listener = Start-RpcListener $ListenEndpoint -InterfaceId $id -Handler {
        param([byte[]] $Bytes)
        [array]::Reverse($Bytes)
        $Bytes
    }
    try {
        $name = $Protocol -eq 'ncacn_ip_tcp' ? "$($listener.Endpoint[0].Port)" : $OriginalName
        $client = Invoke-WindowsPowerShell $originalScript $Original, call, $Protocol, $name, $id
        $told = "$(Receive-Job $client -Wait -AutoRemoveJob)"
        Assert-Equal $told '03-02-01' 'what the original got'
        'the original calls our listener'
    }
    finally {
        $listener | Stop-RpcListener -DrainTimeout 0
    }
}

function Assert-Lrpc([string] $Endpoint) {
    Assert-Windows 'its own local RPC'
    $parsed = $null
    if (-not [ProtoRpc.RpcEndpoint]::TryParse($Endpoint, [ref] $parsed)) {
        Skip-Check "this version of the module does not know '$Endpoint'" -State 'not there'
    }
}

function Get-Domain {
    Assert-Windows 'the Kerberos of a domain'
    $computer = Get-CimInstance Win32_ComputerSystem
    if (-not $computer.PartOfDomain) {
        Skip-Check 'this machine is in no domain'
    }
    $computer
}

$checks = @(
    @{ Name = 'system'; Do = {
            "PowerShell $($PSVersionTable.PSVersion) on $($PSVersionTable.OS), $([Environment]::ProcessorCount) processors"
            ".NET $([Environment]::Version), $([Runtime.InteropServices.RuntimeInformation]::ProcessArchitecture)"
            if ($IsWindows) {
                $admin = [Security.Principal.WindowsPrincipal]::new(
                    [Security.Principal.WindowsIdentity]::GetCurrent()).IsInRole(
                    # By the role, because the name of the group depends on the language of Windows.
                    [Security.Principal.WindowsBuiltInRole]::Administrator)
                "elevated: $admin; in a domain: $((Get-CimInstance Win32_ComputerSystem).PartOfDomain)"
            }
        } }

    foreach ($transport in 'local', 'pipe', 'inproc') {
        @{ Name = "identity: $transport"; With = $transport; Do = {
                param($transport)
                $endpoint = @{
                    local = "ncalrpc:[$(New-Name)]"; pipe = "ncacn_np:[\pipe\$(New-Name)]"; inproc = "inproc://$(New-Name)"
                }[$transport]
                Use-Listener $endpoint {
                    param($listener)
                    $text = Get-Text $listener
                    $name, $type, $level, $local, $process = $text -split '\|'
                    Assert-Equal "$name $type $local $process" "$me Kernel True $PID" 'the caller'
                    $text
                }
            } }
    }
    foreach ($endpoint in 'tcp://127.0.0.1:0', 'http://127.0.0.1:0/', 'grpc://127.0.0.1:0') {
        @{ Name = "identity: $endpoint"; With = $endpoint; Do = {
                param($endpoint)
                Use-Listener $endpoint {
                    param($listener)
                    $text = Get-Text $listener
                    Assert-Equal (($text -split '\|')[0]) '' 'the name of an anonymous caller'
                    $text
                }
            } }
    }
    @{ Name = 'identity: a pipe, from another process'; Do = {
            Use-Listener "ncacn_np:[\pipe\$(New-Name)]" {
                param($listener)
                $told = & (Join-Path $PSHOME ($IsWindows ? 'pwsh.exe' : 'pwsh')) -NoProfile -NonInteractive -Command (
                    "Import-Module $(ConvertTo-Literal $Module); `$rpc = Connect-RpcEndpoint '$($listener.Endpoint[0])' " +
                    "$(ConvertTo-Literal "$PSScriptRoot/Check.proto") -Service $service; `"`$PID `$((Invoke-RpcMethod Tell @{} -Connection `$rpc).text)`"") 2>&1
                $process, $text = "$($told.Where{ $_ -is [string] })" -split ' ', 2
                if ($process -notmatch '^\d+$') {
                    throw "the other process did not call: $told"
                }
                Assert-Equal (($text -split '\|')[-1]) $process 'the process of the caller'
                $text
            }
        } }
    @{ Name = 'identity: TLS'; Do = {
            $certificate = New-Certificate
            foreach ($endpoint in 'tcp://127.0.0.1:0', 'https://127.0.0.1:0/', 'grpcs://127.0.0.1:0') {
                $tls = $endpoint.StartsWith('tcp') ? @{ Tls = $true } : @{}
                Use-Listener $endpoint -With (@{ Certificate = $certificate } + $tls) {
                    param($listener)
                    "$endpoint $(Get-Text $listener -With (@{ SkipCertificateCheck = $true } + $tls))"
                }
            }
        } }

    @{ Name = 'NTLM: accounts of the listener'; Do = {
            $ann = [pscredential]::new('CHECK\ann', (ConvertTo-SecureString 'Pa55word' -AsPlainText))
            Use-Listener tcp://127.0.0.1:0 -With @{ Authentication = 'Ntlm, Negotiate'; ListenerOption = @{ NtlmAccount = $ann } } {
                param($listener)
                foreach ($mechanism in 'Ntlm', 'Negotiate') {
                    $text = Get-Text $listener -With @{ Credential = $ann; Mechanism = $mechanism }
                    Assert-Equal ($text.Substring(0, 27)) 'CHECK\ann|NTLM|Privacy|Fals' "the caller by $mechanism"
                    "$mechanism`: $text"
                }
            }
        } }
    foreach ($mechanism in 'Ntlm', 'Negotiate') {
        @{ Name = "$mechanism of the system: own account"; With = $mechanism; Do = {
                param($mechanism)
                Assert-Windows 'SSPI'
                Test-SystemLogon $mechanism $me -Connect @{ Authentication = 'Self' }
            } }
        @{ Name = "$mechanism of the system: name and password"; With = $mechanism; Do = {
                param($mechanism)
                Assert-Windows 'SSPI'
                if (-not $Credential) {
                    Skip-Check 'give an account with -Credential'
                }
                Test-SystemLogon $mechanism '' -Connect @{ Credential = $Credential }
            } }
    }
    @{ Name = 'NTLM of the system: a wrong password is rejected'; Do = {
            Assert-Windows 'SSPI'
            $wrong = [pscredential]::new("$([Environment]::MachineName)\$(New-Name)", (ConvertTo-SecureString (New-Name) -AsPlainText))
            Use-Listener tcp://127.0.0.1:0 -With @{ Authentication = 'Ntlm' } {
                param($listener)
                try {
                    $text = Get-Text $listener -With @{ Credential = $wrong; Mechanism = 'Ntlm' }
                }
                catch {
                    if ($_.Exception.Code -notin 'Unauthenticated', 'PermissionDenied') {
                        throw
                    }

                    return "$($_.FullyQualifiedErrorId): $($_.Exception.Message)"
                }
                throw "the listener accepted an unknown account as '$text'"
            }
        } }
    @{ Name = 'Kerberos: own account, the key of this machine'; Do = {
            $computer = Get-Domain
            if (-not [Security.Principal.WindowsIdentity]::GetCurrent().IsSystem) {
                Skip-Check 'only the system has the key of this machine: run the script as the system'
            }
            $target = "host/$($computer.DNSHostName).$($computer.Domain)"
            "to $target"
            Test-SystemLogon Kerberos '' -Connect @{ Authentication = 'Self'; ServicePrincipalName = $target }
        } }
    @{ Name = 'Kerberos: own account, to itself'; Do = {
            $null = Get-Domain
            $upn = "$(whoami.exe /upn)"
            "to $upn"
            Test-SystemLogon Kerberos $me -Connect @{ Authentication = 'Self'; ServicePrincipalName = $upn }
        } }
    @{ Name = 'Kerberos: name and password'; Do = {
            $null = Get-Domain
            if (-not $Credential) {
                Skip-Check 'give an account of the domain with -Credential'
            }
            Test-SystemLogon Kerberos '' -Connect @{ Credential = $Credential; ServicePrincipalName = "$(whoami.exe /upn)" }
        } }

    foreach ($mechanism in 'Ntlm', 'Negotiate') {
        @{ Name = "header signing: $mechanism"; With = $mechanism; Do = {
                param($mechanism)
                $ann = [pscredential]::new('ann', (ConvertTo-SecureString 'Pa55word' -AsPlainText))
                $own = @{ Authentication = $mechanism; ListenerOption = @{ NtlmAccount = $ann } }, @{ Credential = $ann }
                $system = @{ Authentication = $mechanism }, @{ Authentication = 'Self' }
                foreach ($pair in $IsWindows ? @('own', 'system') : @('own')) {
                    $listen, $connect = $pair -eq 'own' ? $own : $system
                    Use-Listener tcp://127.0.0.1:0 -With $listen {
                        param($listener)
                        $trace = & {
                            $rpc = Connect-RpcEndpoint $listener.Endpoint[0] -Schema $schema -Service $service -Debug `
                                -ConnectionOption (@{ Mechanism = $mechanism; ProtectionLevel = 'Integrity' } + $connect)
                            $null = Invoke-RpcMethod Tell @{} -Connection $rpc -Debug
                        } 5>&1
                        # Bit 4 has two names.
                        $agreed = @($trace | Where-Object { "$_" -match '<- .* BindAck .* flags [^/]*(HeaderSigning|PendingCancel)' })
                        if (-not $agreed) {
                            throw "the listener did not agree to sign headers:`n$($trace -join "`n")"
                        }
                        "$pair accounts: agreed, and a signed call passed"
                    }
                }
            } }
    }

    @{ Name = 'impersonation: pipe'; Do = {
            Assert-Windows 'impersonation'
            Use-Listener "ncacn_np:[\pipe\$(New-Name)]" {
                param($listener)
                $name, $level = (Get-Text $listener -Method Act) -split '\|'
                Assert-Equal $name $me 'the handler''s account'
                "level $level"
            }
        } }
    foreach ($mechanism in 'Ntlm', 'Negotiate') {
        @{ Name = "impersonation: TCP with $mechanism"; With = $mechanism; Do = {
                param($mechanism)
                Assert-Windows 'impersonation'
                Use-Listener tcp://127.0.0.1:0 -With @{ Authentication = $mechanism } {
                    param($listener)
                    $with = @{ Authentication = 'Self'; Mechanism = $mechanism }
                    $name, $level = (Get-Text $listener -Method Act -With $with) -split '\|'
                    Assert-Equal $name $me 'the handler''s account'
                    "level $level"
                }
            } }
    }

    @{ Name = 'LRPC: our client and our listener'; Do = {
            $endpoint = "ncalrpc:[$(New-Name),transport=lrpc]"
            Assert-Lrpc $endpoint
            Use-Listener $endpoint {
                param($listener)
                $text = Get-Text $listener
                Assert-Equal (($text -split '\|')[0]) $me 'the name of the caller'
                $text
            }
        } }
    @{ Name = 'LRPC: the original'; Do = {
            $lrpc = New-Name
            Assert-Lrpc "ncalrpc:[$lrpc,transport=lrpc]"
            Test-Original ncalrpc $lrpc "ncalrpc:[$lrpc,transport=lrpc]" "ncalrpc:[$lrpc,transport=lrpc]"
        } }
    @{ Name = 'pipes: the original'; Do = {
            $pipe = New-Name
            Test-Original ncacn_np "\pipe\$pipe" "ncacn_np:[\pipe\$pipe]" "ncacn_np:[\pipe\$pipe]"
        } }
    @{ Name = 'TCP: the original'; Do = {
            $free = [Net.Sockets.TcpListener]::new([ipaddress]::Loopback, 0)
            $free.Start()
            $port = $free.LocalEndpoint.Port
            $free.Stop()
            Test-Original ncacn_ip_tcp "$port" "ncacn_ip_tcp:127.0.0.1[$port]" 'ncacn_ip_tcp:127.0.0.1[0]'
        } }

    @{ Name = 'silent peers are given up'; Do = {
            $silent = [Net.Sockets.TcpListener]::new([ipaddress]::Loopback, 0)
            $silent.Start()
            $watch = [Diagnostics.Stopwatch]::StartNew()
            try {
                $null = Invoke-RpcMethod Tell @{} -Endpoint "tcp://127.0.0.1:$($silent.LocalEndpoint.Port)" -Schema $schema `
                    -Service $service -Deadline 2
                throw 'a server that never answers answered'
            }
            catch [ProtoRpc.RpcException] {
                Assert-Equal $_.Exception.Code 'DeadlineExceeded' 'the status'
                if ($watch.Elapsed.TotalSeconds -gt 10) {
                    throw "a deadline of 2 s took $($watch.Elapsed.TotalSeconds) s"
                }
                "after $([Math]::Round($watch.Elapsed.TotalSeconds, 2)) s"
            }
            finally {
                $silent.Stop()
            }
        } }
    foreach ($endpoint in 'tcp://127.0.0.1:0', 'pipe', 'http://127.0.0.1:0/', 'grpc://127.0.0.1:0') {
        @{ Name = "deadlines end calls: $endpoint"; With = $endpoint; Do = {
                param($endpoint)
                Use-Listener ($endpoint -eq 'pipe' ? "ncacn_np:[\pipe\$(New-Name)]" : $endpoint) {
                    param($listener)
                    $rpc = Connect-RpcEndpoint $listener.Endpoint[0] -Schema $schema -Service $service
                    $watch = [Diagnostics.Stopwatch]::StartNew()
                    $null = Invoke-RpcMethod Sleep @{} -Connection $rpc -Deadline 1 -ErrorAction SilentlyContinue -ErrorVariable errors
                    Assert-Equal $errors[0].Exception.Code 'DeadlineExceeded' 'the status'
                    if ($watch.Elapsed.TotalSeconds -gt 10) {
                        throw "a deadline of 1 s took $($watch.Elapsed.TotalSeconds) s"
                    }
                    "after $([Math]::Round($watch.Elapsed.TotalSeconds, 2)) s"
                }
            } }
    }
    @{ Name = 'a listener with an idle connection stops'; Do = {
            $listener = Start-RpcListener tcp://127.0.0.1:0 $who -Schema $schema
            $null = Get-Text $listener
            $watch = [Diagnostics.Stopwatch]::StartNew()
            $listener | Stop-RpcListener
            if ($watch.Elapsed.TotalSeconds -gt 5) {
                throw "it took $($watch.Elapsed.TotalSeconds) s"
            }
            Get-RpcConnection | Disconnect-RpcEndpoint
            "after $([Math]::Round($watch.Elapsed.TotalSeconds, 2)) s"
        } }

    @{ Name = 'another machine: pipe'; Do = {
            Assert-Windows 'pipes of other machines'
            if (-not $OtherMachine) {
                Skip-Check 'run the script with -Serve on another machine, and name it with -OtherMachine'
            }
            $rpc = Connect-RpcEndpoint "ncacn_np:$OtherMachine[\pipe\$otherPipe]" -Schema $schema -Service $service
            $text = (Invoke-RpcMethod Tell @{} -Connection $rpc).text
            Assert-Equal (($text -split '\|')[3]) 'False' 'IsLocal'
            $text
            "impersonated: $((Invoke-RpcMethod Act @{} -Connection $rpc).text)"
        } }
    foreach ($mechanism in 'Ntlm', 'Negotiate', 'Kerberos') {
        @{ Name = "another machine: TCP with $mechanism"; With = $mechanism; Do = {
                param($mechanism)
                Assert-Windows 'logons on other machines'
                if (-not $OtherMachine) {
                    Skip-Check 'run the script with -Serve on another machine, and name it with -OtherMachine'
                }
                $rpc = Connect-RpcEndpoint "tcp://${OtherMachine}:$otherPort" -Schema $schema -Service $service `
                    -ConnectionOption @{ Authentication = 'Self'; Mechanism = $mechanism }
                (Invoke-RpcMethod Tell @{} -Connection $rpc).text
            } }
    }
    @{ Name = 'firewall: the defaults'; Do = {
            Assert-Windows 'its firewall'
            Get-NetFirewallProfile | ForEach-Object {
                "$($_.Name): enabled $($_.Enabled), inbound $($_.DefaultInboundAction), notifies $($_.NotifyOnListen)"
            }
            $rules = Get-NetFirewallApplicationFilter -Program ([Environment]::ProcessPath) -ErrorAction Ignore |
                Get-NetFirewallRule | Where-Object Direction -EQ Inbound
            "rules for $([IO.Path]::GetFileName([Environment]::ProcessPath)): $(@($rules).Count)"
            $rules | ForEach-Object { "$($_.DisplayName): $($_.Action), $($_.Profile), enabled $($_.Enabled)" }
            Use-Listener tcp://0.0.0.0:0 {
                param($listener)
                $port = $listener.Endpoint[0].Port
                $own = [Net.Dns]::GetHostAddresses([Net.Dns]::GetHostName()) |
                    Where-Object AddressFamily -EQ InterNetwork | Select-Object -First 1
                "the own address reaches a listener on 0.0.0.0: $(Test-RpcEndpoint "tcp://${own}:$port" -Quiet)"
            }
        } }

    @{ Name = 'Pester suite'; Do = {
            if ($SkipPester) {
                Skip-Check '-SkipPester'
            }
            $tests = Join-Path $PSScriptRoot .. pester
            $json = Join-Path ([IO.Path]::GetTempPath()) "$(New-Name).json"
            $runner = Join-Path $PSScriptRoot .. run pester.ps1
            $env:PROTORPC_MODULE = (Resolve-Path -LiteralPath $Module).Path
            try {
                $told = & (Join-Path $PSHOME ($IsWindows ? 'pwsh.exe' : 'pwsh')) -NoProfile -NonInteractive -File $runner -Path $tests -Report $json
                if ($LASTEXITCODE -eq 3) {
                    Skip-Check "Pester 5 is missing: Install-PSResource Pester -Version '[5.5.0,6.0.0)'"
                }
                $run = Get-Content -LiteralPath $json -Raw | ConvertFrom-Json
            }
            finally {
                Remove-Item -LiteralPath Env:PROTORPC_MODULE
                Remove-Item -LiteralPath $json -ErrorAction Ignore
            }
            $sum = "$($run.passed) passed, $($run.failures.Count) failed, $($run.skips.Count) skipped"
            if ($run.failures.Count) {
                throw "$sum`n$(($run.failures | ForEach-Object { "$($_.name)`n$($_.message)" }) -join "`n")"
            }
            $sum
        } }
)
