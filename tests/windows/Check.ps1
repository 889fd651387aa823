#requires -Version 7.6
<#
.SYNOPSIS
Checks on a Windows machine what the tests on other systems cannot check, and writes a report to send back.
.DESCRIPTION
Build the module first (dotnet build cmdlets/ProtoRpc.PowerShell), or name an installed one with -Module.
docs/windows-checklist.md describes each check. Checks that need something which is not there are reported as skipped, with the reason.
The report shows neither passwords nor the names of user, machine and domain, unless you add -KeepNames.
The script exits with 0 if no check failed, and with 1 otherwise.
.EXAMPLE
pwsh -File tests/windows/Check.ps1 -Credential (Get-Credential)
.EXAMPLE
pwsh -File tests/windows/Check.ps1 -Original C:\old\CSharpTest.Net.RpcLibrary.dll -OtherMachine web2
#>
[CmdletBinding()]
param(
    # Where the report goes.
    [string] $Report = 'protorpc-windows.txt',

    # The manifest of the module.
    [string] $Module = (Join-Path $PSScriptRoot .. .. ProtoRpc.psd1),

    # Runs only the checks whose names match; wildcards are allowed.
    [string[]] $Name = '*',

    # An account of this machine or its domain, for NTLM and Kerberos with a password.
    [pscredential] $Credential,

    # CSharpTest.Net.RpcLibrary.dll of the original, which Windows PowerShell then loads.
    [string] $Original,

    # Another machine, where this script runs with -Serve under the same account of the domain.
    [string] $OtherMachine,

    # Serves the checks of another machine until you press Enter.
    [switch] $Serve,

    # Leaves out the Pester suite, which takes about ten minutes.
    [switch] $SkipPester,

    # Writes the names of user, machine and domain into the report.
    [switch] $KeepNames
)

$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'
Import-Module $Module
if ($Original) {
    # The compiler of Windows PowerShell has another folder than the shell.
    $Original = $PSCmdlet.GetUnresolvedProviderPathFromPSPath($Original)
}
$schema = Import-RpcSchema (Join-Path $PSScriptRoot Check.proto)
$service = 'check.Who'
$otherPipe = 'protorpc-check'
$otherPort = 50130
$results = [Collections.Generic.List[object]]::new()

# What a handler sees of its caller.
$who = @{
    Tell = {
        $seen = $RpcContext.User.Name, $RpcContext.AuthenticationType, $RpcContext.ProtectionLevel,
            $RpcContext.IsLocal, $RpcContext.ProcessId
        @{ text = $seen -join '|' }
    }
    Act = {
        $told = $RpcContext.Impersonate({
            $me = [Security.Principal.WindowsIdentity]::GetCurrent()
            "$($me.Name)|$($me.ImpersonationLevel)"
        })
        @{ text = "$told" }
    }
    Sleep = { Start-Sleep -Seconds 60; @{} }
}

$me = $IsWindows ? [Security.Principal.WindowsIdentity]::GetCurrent().Name : [Environment]::UserName

if ($Serve) {
    $listener = Start-RpcListener "ncacn_np:[\pipe\$otherPipe]", "tcp://0.0.0.0:$otherPort" $who -Schema $schema `
        -Authentication $($IsWindows ? 'Ntlm, Negotiate, Kerberos' : 'None')
    $listener.Endpoint | ForEach-Object { "Listening on $_" }
    $null = Read-Host 'Press Enter to stop'
    $listener | Stop-RpcListener
    return
}

# The state of a check that cannot run here. 'not there' is for what this version of the module does not have.
function Skip-Check([string] $Why, [string] $State = 'skipped') {
    throw [OperationCanceledException]::new("${State}: $Why")
}

function Assert-Equal([string] $Actual, [string] $Expected, [string] $What) {
    if ($Actual -ne $Expected) {
        throw "$What is '$Actual', and not '$Expected'"
    }
}

function Assert-Windows([string] $What) {
    if (-not $IsWindows) {
        Skip-Check "only Windows has $What"
    }
}

# A text as PowerShell reads it: a path may have an apostrophe.
function ConvertTo-Literal([string] $Text) {
    "'$([Management.Automation.Language.CodeGeneration]::EscapeSingleQuotedStringContent($Text))'"
}

function New-Name { "check$([guid]::NewGuid().ToString('N').Substring(0, 12))" }

# Runs a block with a listener, which is then stopped.
function Use-Listener([string] $Endpoint, [scriptblock] $Do, [hashtable] $With = @{}) {
    $listener = Start-RpcListener $Endpoint $who -Schema $schema @With
    try {
        & $Do $listener
    }
    finally {
        Get-RpcConnection | Disconnect-RpcEndpoint
        $listener | Stop-RpcListener -DrainTimeout 0
    }
}

# Calls a method of a listener, and returns the text of the reply.
function Get-Text($Listener, [string] $Method = 'Tell', [hashtable] $With = @{}) {
    $rpc = Connect-RpcEndpoint $Listener.Endpoint[0] -Schema $schema -Service $service -ConnectionOption $With
    (Invoke-RpcMethod $Method @{} -Connection $rpc).text
}

# Who the system's own NTLM or Kerberos says is calling, at both levels of protection.
function Test-SystemLogon([string] $Mechanism, [string] $Expected, [hashtable] $Connect) {
    foreach ($level in 'Integrity', 'Privacy') {
        Use-Listener 'tcp://127.0.0.1:0' -With @{ Authentication = $Mechanism } {
            param($listener)
            $text = Get-Text $listener -With (@{ Mechanism = $Mechanism; ProtectionLevel = $level } + $Connect)
            $name, $type, $seen = $text -split '\|'
            if ($Expected) {
                Assert-Equal $name $Expected 'the name of the caller'
            }
            Assert-Equal $seen $level 'the level of protection'
            "$level`: $name by $type"
        }
    }
}

function New-Certificate {
    $key = [Security.Cryptography.ECDsa]::Create([Security.Cryptography.ECCurve]::CreateFromFriendlyName('nistP256'))
    $request = [Security.Cryptography.X509Certificates.CertificateRequest]::new('CN=127.0.0.1', $key, 'SHA256')
    $names = [Security.Cryptography.X509Certificates.SubjectAlternativeNameBuilder]::new()
    $names.AddIpAddress([ipaddress]::Loopback)
    $request.CertificateExtensions.Add($names.Build())
    $signed = $request.CreateSelfSigned([datetimeoffset]::Now.AddHours(-1), [datetimeoffset]::Now.AddHours(1))
    [Security.Cryptography.X509Certificates.X509CertificateLoader]::LoadPkcs12($signed.Export('Pkcs12'), $null)
}

# Runs Windows PowerShell, which can load the original's assemblies.
function Invoke-WindowsPowerShell([string] $Script, [string[]] $Arguments) {
    $file = Join-Path ([IO.Path]::GetTempPath()) "$(New-Name).ps1"
    Set-Content -LiteralPath $file -Value $Script
    Start-Job -ArgumentList $file, $Arguments {
        param($file, $arguments)
        powershell.exe -NoProfile -ExecutionPolicy Bypass -File $file @arguments 2>&1 | ForEach-Object { "$_" }
        Remove-Item -LiteralPath $file
    }
}

. (Join-Path $PSScriptRoot Checks.ps1)

foreach ($check in $checks | Where-Object { $n = $_.Name; $Name.Where{ $n -like $_ } }) {
    $watch = [Diagnostics.Stopwatch]::StartNew()
    $state, $details = 'passed', @()
    try {
        $details = @(& $check.Do $check.With)
    }
    catch [OperationCanceledException] {
        $state, $text = $_.Exception.Message -split ': ', 2
        $details = @($text)
    }
    catch {
        $state = 'failed'
        $details = @("$($_.Exception.Message) ($($_.FullyQualifiedErrorId))", $_.ScriptStackTrace)
    }
    $result = [pscustomobject]@{
        Check = $check.Name
        State = $state
        Seconds = [Math]::Round($watch.Elapsed.TotalSeconds, 1)
        Details = $details -join "`n"
    }
    $results.Add($result)
    Write-Host ('{0,-9} {1} ({2} s)' -f $result.State, $result.Check, $result.Seconds)
    if ($state -ne 'passed') {
        Write-Host "          $($details[0])"
    }
}

$lines = foreach ($result in $results) {
    "[$($result.State)] $($result.Check) ($($result.Seconds) s)"
    $result.Details -split "`r?`n" | Where-Object { $_ } | ForEach-Object { "    $_" }
}
$sums = $results | Group-Object State | Sort-Object Name | ForEach-Object { "$($_.Count) $($_.Name)" }
$text = (@("ProtoRpc $((Get-Module ProtoRpc).Version) on Windows: $($sums -join ', ')", '') + $lines) -join "`n"
if (-not $KeepNames) {
    $hidden = [ordered]@{}
    # A machine without a domain has its own name for one.
    $hidden[[Net.NetworkInformation.IPGlobalProperties]::GetIPGlobalProperties().DomainName] = 'DOMAIN'
    $hidden["$env:USERDNSDOMAIN"] = 'DOMAIN'
    $hidden[[Environment]::UserDomainName] = 'DOMAIN'
    $hidden[[Environment]::MachineName] = 'MACHINE'
    $hidden[[Environment]::UserName] = 'USER'
    if ($Credential) {
        foreach ($part in $Credential.UserName -split '[\\@]') {
            $hidden[$part] = 'ACCOUNT'
        }
    }
    if ($OtherMachine) {
        $hidden[$OtherMachine] = 'OTHER'
    }
    # Whole words only: a user 'net' must not change '.NET'.
    foreach ($word in $hidden.Keys | Where-Object { $_ } | Sort-Object Length -Descending) {
        $text = [regex]::Replace($text, "(?<!\w)(?<!\.(?=NET\b))$([regex]::Escape($word))(?!\w)", $hidden[$word], 'IgnoreCase')
    }
}
Set-Content -LiteralPath $Report -Value $text -Encoding utf8
Write-Host "$($sums -join ', '). The report is in $((Resolve-Path -LiteralPath $Report).Path): read it, then send it."
exit [int][bool]($results.State -contains 'failed')
