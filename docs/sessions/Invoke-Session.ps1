<#
.SYNOPSIS
Runs blocks of PowerShell one after the other in a fresh shell, and writes what the terminal would show
after each.
.DESCRIPTION
The blocks share their variables. The shell starts in the root of the repository, without a profile.
#>
[CmdletBinding()]
[OutputType([string[]])]
param(
    [Parameter(Mandatory)] [string[]] $Block,

    # The module to import.
    [string] $Module = (Join-Path (Split-Path (Split-Path $PSScriptRoot)) ProtoRpc.psd1),

    # The width of the terminal in characters.
    [int] $Width = 100,

    # With the colours of a terminal, as ANSI sequences.
    [switch] $Colour
)

$ErrorActionPreference = 'Stop'
$folder = Join-Path ([IO.Path]::GetTempPath()) "protorpc-session-$([guid]::NewGuid().ToString('N'))"
$null = New-Item -ItemType Directory $folder
try {
    # Through files: what the blocks write to the console would mix with an answer on standard output.
    $request = Join-Path $folder request.json
    $reply = Join-Path $folder reply.json
    @{
        Block = $Block
        Module = $Module
        Folder = Split-Path (Split-Path $PSScriptRoot)
        Width = $Width
        Rendering = $Colour ? 'Ansi' : 'PlainText'
    } | ConvertTo-Json | Set-Content -LiteralPath $request
    $worker = Join-Path $PSScriptRoot Start-SessionWorker.ps1
    # The process of a dotnet tool is dotnet.
    $shell = Join-Path $PSHOME ($IsWindows ? 'pwsh.exe' : 'pwsh')
    & $shell -NoProfile -NonInteractive -File $worker -Request $request -Reply $reply | Out-Host
    if (-not (Test-Path $reply)) {
        throw "The session ended with exit code $LASTEXITCODE before its last block."
    }

    Get-Content -LiteralPath $reply -Raw | ConvertFrom-Json -NoEnumerate | ForEach-Object { $_ }
}
finally {
    Remove-Item -LiteralPath $folder -Recurse -Force
}
