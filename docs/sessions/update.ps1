<#
.SYNOPSIS
Runs the commands of the pages that show a session, and writes what they gave into the pages.
.DESCRIPTION
- In docs/first-ten-minutes.md, each block of PowerShell is run, and the block of text behind it is replaced
  by its output.
- Each script in docs/sessions/pictures is run and drawn as a picture of its name in docs/sessions. Its first
  comment is the title; each part up to a blank line is a command at the prompt.
.EXAMPLE
dotnet build cmdlets/ProtoRpc.PowerShell; pwsh docs/sessions/update.ps1
#>
[CmdletBinding()]
param(
    # Where the pages are written; they are read from docs.
    [string] $OutputFolder = (Split-Path $PSScriptRoot),

    # The module to import.
    [string] $Module = (Join-Path (Split-Path (Split-Path $PSScriptRoot)) ProtoRpc.psd1)
)

$ErrorActionPreference = 'Stop'
$docs = Split-Path $PSScriptRoot
$run = Join-Path $PSScriptRoot Invoke-Session.ps1

# PowerShell, and the block of its output if the command has one.
$pattern = '(?ms)^```powershell\n(?<code>.*?)^```\n(?:\n```text\n.*?^```\n)?'
$page = (Get-Content -LiteralPath (Join-Path $docs first-ten-minutes.md) -Raw) -replace '\r\n', "`n"
$found = [regex]::Matches($page, $pattern)
$outputs = [Collections.Generic.Queue[string]]::new([string[]] (
        & $run -Block $found.ForEach{ $_.Groups['code'].Value.TrimEnd() } -Module $Module))
$written = [regex]::Replace($page, $pattern, {
        param($match)
        $code = "``````powershell`n$($match.Groups['code'].Value)``````" + "`n"
        $output = $outputs.Dequeue()
        $output ? $code + "`n``````text`n$output`n``````" + "`n" : $code
    })
[IO.File]::WriteAllText((Join-Path $OutputFolder first-ten-minutes.md), $written)

$folder = New-Item -ItemType Directory -Force (Join-Path $OutputFolder sessions)
foreach ($script in Get-ChildItem (Join-Path $PSScriptRoot pictures) -Filter *.ps1) {
    $title, $session = (Get-Content -LiteralPath $script -Raw) -replace '\r\n', "`n" -split '\n', 2
    $commands = $session.Trim() -split '\n\n+'
    $output = & $run -Block $commands -Module $Module -Colour
    $picture = & (Join-Path $PSScriptRoot ConvertTo-TerminalSvg.ps1) -Command $commands -Output $output -Title (
        $title -replace '^# ')
    [IO.File]::WriteAllText((Join-Path $folder.FullName "$($script.BaseName).svg"), "$picture`n")
}
