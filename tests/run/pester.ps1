# Runs the Pester tests of a folder and writes what they came to, as JSON, for the test runner.
# Exit codes: 0 the report was written, whatever it says; 3 there is no Pester 5 and it cannot be installed.
param(
    [Parameter(Mandatory)] [string] $Path,
    [Parameter(Mandatory)] [string] $Report,
    [string] $Filter = ''
)

$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'

function Find-Pester {
    Get-Module -ListAvailable Pester | Where-Object { $_.Version.Major -eq 5 } |
        Sort-Object Version -Descending | Select-Object -First 1
}

if (-not (Find-Pester)) {
    try {
        Install-PSResource Pester -Version '[5.5.0,6.0.0)' -Scope CurrentUser -TrustRepository -Quiet
    }
    catch {
        Write-Output "Pester cannot be installed: $($_.Exception.Message)"
    }
}

$pester = Find-Pester
if (-not $pester) {
    exit 3
}

Import-Module $pester.Path
$configuration = New-PesterConfiguration
$configuration.Run.Path = $Path
$configuration.Run.PassThru = $true
$configuration.Output.Verbosity = 'None'
if ($Filter) {
    $configuration.Filter.FullName = "*$Filter*"
}

$run = Invoke-Pester -Configuration $configuration

function Get-Case($Item, $Name) {
    $message = @($Item.ErrorRecord | ForEach-Object { "$($_.DisplayErrorMessage)`n$($_.DisplayStackTrace)".Trim() })
    @{ name = $Name; message = $message -join "`n" }
}

# A block's BeforeAll or a whole file that fails is a failure too, though no test of it ran.
# Pester counts the tests of such a block as failed already; the block tells why.
$failures = @($run.Failed | ForEach-Object { Get-Case $_ $_.ExpandedPath }) +
    @($run.FailedBlocks | ForEach-Object { Get-Case $_ "$($_.ExpandedPath) (its set-up or clean-up)" }) +
    @($run.FailedContainers | ForEach-Object { Get-Case $_ "$($_.Item)" })

# A test that a filter leaves out is NotRun, not skipped.
$skips = @($run.Skipped) + @($run.Inconclusive) | Where-Object { $_ } | ForEach-Object { Get-Case $_ $_.ExpandedPath }

@{ passed = $run.PassedCount; failures = @($failures); skips = @($skips) } |
    ConvertTo-Json -Depth 5 | Set-Content -LiteralPath $Report -Encoding utf8
exit 0
