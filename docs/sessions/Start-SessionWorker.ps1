# The fresh shell of Invoke-Session.ps1. Its variables have long names, because the blocks share its scope.
param(
    [Parameter(Mandatory)] [string] $Request,
    [Parameter(Mandatory)] [string] $Reply
)

$sessionRequest = Get-Content -LiteralPath $Request -Raw | ConvertFrom-Json
$sessionReplyPath = $Reply
$PSStyle.OutputRendering = $sessionRequest.Rendering
$ProgressPreference = 'SilentlyContinue'
Set-Location -LiteralPath $sessionRequest.Folder
Import-Module $sessionRequest.Module
Remove-Variable Request, Reply

$sessionReplies = foreach ($sessionBlock in $sessionRequest.Block) {
    $sessionOutput = try {
        # Errors, warnings and what handlers write are part of what a terminal shows.
        . ([scriptblock]::Create($sessionBlock)) *>&1 | Out-String -Width $sessionRequest.Width
    }
    catch {
        $_ | Out-String -Width $sessionRequest.Width
    }
    (($sessionOutput -join '') -replace '\r\n', "`n" -replace '(?m)[ \t]+$', '').Trim("`n")
}
ConvertTo-Json @($sessionReplies) | Set-Content -LiteralPath $sessionReplyPath
