<#
.SYNOPSIS
Builds the help file of the module from the pages in docs/en-US. Run it after a page has changed, and commit both.
.DESCRIPTION
Needs Microsoft.PowerShell.PlatyPS 1.x.
#>
[CmdletBinding()]
param(
    # Where the help file is written.
    [string] $OutputFolder = (Join-Path $PSScriptRoot en-US)
)

$ErrorActionPreference = 'Stop'
Import-Module Microsoft.PowerShell.PlatyPS

$work = Join-Path ([IO.Path]::GetTempPath()) ([guid]::NewGuid())
try {
    $pages = Get-ChildItem (Join-Path $PSScriptRoot en-US) -Filter *-Rpc*.md | Sort-Object Name |
        Import-MarkdownCommandHelp
    $file = Export-MamlCommandHelp -CommandHelp $pages -OutputFolder $work -Force
    $text = [IO.File]::ReadAllText($file.FullName) -replace '\r\n', "`n"

    # PlatyPS also writes this link for pages that are not online.
    $text = $text -replace
        '(?m)^ *<maml:navigationLink>\n *<maml:linkText>Online Version</maml:linkText>\n *<maml:uri />\n *</maml:navigationLink>\n'
    [IO.File]::WriteAllText((Join-Path $OutputFolder $file.Name), $text.TrimEnd() + "`n")
}
finally {
    Remove-Item -LiteralPath $work -Recurse -ErrorAction Ignore
}
