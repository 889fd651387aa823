# Runs test files with Pester, one after the other, and writes what each came to, as JSON, for the test runner.
# Several shells take their files from the same queue. Pester prints a line when a test ends: the runner sees that
# the shell is alive, and counts the tests of a file that did not come to its end.
param(
    # Pester's manifest.
    [Parameter(Mandatory)] [string] $Pester,

    # A folder with an entry for each test file, whose text is the file's path.
    [Parameter(Mandatory)] [string] $Queue,

    # Where the shell moves an entry when it begins with the file, and writes the result.
    [Parameter(Mandatory)] [string] $Results,

    [string] $Filter = ''
)

$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'
Import-Module $Pester

# Only one shell can move an entry.
function Move-NextEntry {
    foreach ($entry in [IO.Directory]::GetFiles($Queue) | Sort-Object) {
        $own = Join-Path $Results "$([IO.Path]::GetFileName($entry)).running"
        try {
            [IO.File]::Move($entry, $own)
            return $own
        }
        catch [IO.FileNotFoundException] {
            # Another shell has it.
        }
    }
}

function Get-Case($Item, $Name) {
    $message = @($Item.ErrorRecord | ForEach-Object { "$($_.DisplayErrorMessage)`n$($_.DisplayStackTrace)".Trim() })
    @{ name = $Name; message = $message -join "`n" }
}

while ($own = Move-NextEntry) {
    Write-Host "BEGIN $([IO.Path]::GetFileNameWithoutExtension($own))"
    $configuration = New-PesterConfiguration
    $configuration.Run.Path = [IO.File]::ReadAllText($own)
    $configuration.Run.PassThru = $true
    $configuration.Output.Verbosity = 'Detailed'
    $configuration.Output.RenderMode = 'Plaintext'
    if ($Filter) {
        $configuration.Filter.FullName = "*$Filter*"
    }

    $run = Invoke-Pester -Configuration $configuration

    # A block's BeforeAll or a whole file that fails is a failure too, though no test of it ran.
    # Pester counts the tests of such a block as failed already; the block tells why.
    $failures = @($run.Failed | ForEach-Object { Get-Case $_ $_.ExpandedPath }) +
        @($run.FailedBlocks | ForEach-Object { Get-Case $_ "$($_.ExpandedPath) (its set-up or clean-up)" }) +
        @($run.FailedContainers | ForEach-Object { Get-Case $_ "$($_.Item)" })

    # A test that a filter leaves out is NotRun, not skipped.
    $skips = @($run.Skipped) + @($run.Inconclusive) | Where-Object { $_ } | ForEach-Object { Get-Case $_ $_.ExpandedPath }

    @{ passed = $run.PassedCount; failures = @($failures); skips = @($skips); seconds = $run.Duration.TotalSeconds } |
        ConvertTo-Json -Depth 5 | Set-Content -LiteralPath "$own.json" -Encoding utf8
    [IO.File]::Move("$own.json", [IO.Path]::ChangeExtension($own, 'json'))
    [IO.File]::Delete($own)
}
