<#
.SYNOPSIS
Builds what Get-Help shows from the pages in docs/en-US: the help file of the cmdlets, and the text of each about
topic. Run it after a page has changed, and commit the pages and what it writes.
.DESCRIPTION
The help file needs Microsoft.PowerShell.PlatyPS 1.x. The topics do not.
#>
[CmdletBinding()]
param(
    # Where the files are written.
    [string] $OutputFolder = (Join-Path $PSScriptRoot en-US),

    # Builds only the about topics.
    [switch] $TopicOnly
)

$ErrorActionPreference = 'Stop'
. (Join-Path $PSScriptRoot HelpText.ps1)

foreach ($page in Get-ChildItem (Join-Path $PSScriptRoot en-US) -Filter about_*.md) {
    [IO.File]::WriteAllText(
        (Join-Path $OutputFolder "$($page.BaseName).help.txt"),
        (ConvertTo-HelpTopic ([IO.File]::ReadAllText($page.FullName))))
}

if ($TopicOnly) {
    return
}

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
    [IO.File]::WriteAllText((Join-Path $OutputFolder $file.Name), (ConvertTo-PlainMaml $text).TrimEnd() + "`n")
}
finally {
    Remove-Item -LiteralPath $work -Recurse -ErrorAction Ignore
}
