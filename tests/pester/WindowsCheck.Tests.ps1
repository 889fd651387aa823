. (Join-Path $PSScriptRoot common.ps1)

Describe 'The checks for Windows' {
    BeforeAll {
        $folder = Join-Path (Split-Path $PSScriptRoot) windows
        $report = Join-Path $TestDrive report.txt

        function Invoke-Check([string] $Arguments) {
            Invoke-Pwsh ("& '$(Join-Path $folder Check.ps1)' -Module '$ModuleManifest' -Report '$report' $Arguments;" +
                'exit $LASTEXITCODE') 180
        }
    }

    It 'parse: <_>' -ForEach 'Check.ps1', 'Checks.ps1' {
        $errors = $null
        $null = [System.Management.Automation.Language.Parser]::ParseFile(
            (Join-Path $folder $_), [ref] $null, [ref] $errors)

        $errors | Should -BeNullOrEmpty
    }

    It 'have a part for the original that parses' {
        $text = Get-Content -LiteralPath (Join-Path $folder Checks.ps1) -Raw
        $errors = $null
        $null = [System.Management.Automation.Language.Parser]::ParseInput(
            [regex]::Match($text, "(?s)@'\r?\n(.*?)\r?\n'@").Groups[1].Value, [ref] $null, [ref] $errors)

        $errors | Should -BeNullOrEmpty
    }

    It 'run here as far as they can, and write a report without names' {
        $run = Invoke-Check '-SkipPester'

        $run.Ended | Should -BeTrue
        $run.ExitCode | Should -Be 0 -Because "$($run.Output)`n$($run.Error)"
        $text = Get-Content -LiteralPath $report -Raw
        $text | Should -Not -Match '\[failed\]'
        'system', 'identity: local', 'identity: pipe', 'NTLM: accounts of the listener', 'header signing: Ntlm',
        'silent peers are given up' | ForEach-Object { $text | Should -Match "\[passed\] $([regex]::Escape($_))" }
        $text | Should -Match '\[skipped\] Pester suite'
        $text | Should -Not -Match "(?i)(?<!\w)$([regex]::Escape([Environment]::MachineName))(?!\w)"
    }

    It 'say why a part is skipped on other systems' -Skip:$IsWindows {
        $run = Invoke-Check "-Name 'impersonation*', 'LRPC*', 'Kerberos*', 'firewall*' -Original ./none.dll"

        $run.ExitCode | Should -Be 0 -Because "$($run.Output)`n$($run.Error)"
        $states = @(Get-Content -LiteralPath $report | Select-String '^\[(.+?)\] (.+) \(').Matches
        $states.Count | Should -BeGreaterThan 7
        $states.ForEach{ $_.Groups[1].Value } | Select-Object -Unique | Should -Be 'skipped'
        Get-Content -LiteralPath $report | Should -Contain '    only Windows has impersonation'
    }

    It 'run from a folder with an apostrophe in its name' {
        $copy = Join-Path $TestDrive "O'Brien"
        Copy-Item -LiteralPath $folder -Destination $copy -Recurse

        $run = Invoke-Pwsh ("& `"$copy/Check.ps1`" -Module '$ModuleManifest' -Report '$report' " +
            "-Name 'identity: a pipe*'; exit `$LASTEXITCODE") 60

        $run.ExitCode | Should -Be 0 -Because "$($run.Output)`n$($run.Error)"
        Get-Content -LiteralPath $report -Raw | Should -Match '(?s)\[passed\] identity: a pipe.*\|Kernel\|'
    }

    It 'report what failed, and exit with 1' {
        $copy = Join-Path $TestDrive checks
        Copy-Item -LiteralPath $folder -Destination $copy -Recurse
        Add-Content -LiteralPath (Join-Path $copy Checks.ps1) (
            "`n" + '$checks = @(@{ Name = "broken"; Do = { throw "out of paper" } })')

        $run = Invoke-Pwsh ("& '$(Join-Path $copy Check.ps1)' -Module '$ModuleManifest' -Report '$report';" +
            'exit $LASTEXITCODE') 60

        $run.ExitCode | Should -Be 1
        Get-Content -LiteralPath $report -Raw | Should -Match '(?s)\[failed\] broken.*out of paper'
    }
}
