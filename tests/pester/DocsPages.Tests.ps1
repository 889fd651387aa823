. (Join-Path $PSScriptRoot common.ps1)

BeforeDiscovery {
    $root = Split-Path (Split-Path $PSScriptRoot)
    $folders = '.', 'docs', 'examples', 'tests'
    $pages = $folders.ForEach{ Get-ChildItem (Join-Path $root $_) -Filter *.md -Recurse:($_ -ne '.') } |
        Where-Object FullName -NotMatch '[\\/](bin|obj|node_modules)[\\/]'
    $withBlocks = $pages | Where-Object { (Get-Content -LiteralPath $_ -Raw) -match '(?m)^ *```powershell' } |
        ForEach-Object { @{ Page = [IO.Path]::GetRelativePath($root, $_.FullName) } }
}

Describe 'Pages' {
    AfterAll { Clear-Test }

    Context 'blocks of PowerShell' {
        BeforeAll {
            $commands = @{}
            Get-Command -Module ProtoRpc | ForEach-Object { $commands[$_.Name] = $_.Parameters.Keys }

            # What is wrong in a block, one line each.
            function Get-Mistake([string] $Code) {
                $errors = $null
                # A page leaves out what is not its subject, with three dots.
                $code = $Code -replace '@\{ \.\.\. \}', '@{}'
                $tree = [System.Management.Automation.Language.Parser]::ParseInput($code, [ref] $null, [ref] $errors)
                $errors.ForEach{ $_.Message }
                foreach ($command in $tree.FindAll({ $args[0].GetType().Name -eq 'CommandAst' }, $true)) {
                    $name = $command.GetCommandName()
                    if ($name -notmatch '^\w+-Rpc') {
                        continue
                    }
                    if (-not $commands.ContainsKey($name)) {
                        "there is no command $name"
                        continue
                    }
                    $command.CommandElements.ForEach{ $_.ParameterName }.Where{
                        $_ -and $_ -notin $commands[$name] }.ForEach{ "$name has no parameter -$_" }
                }
            }
        }

        It 'parse and name parameters that exist: <Page>' -ForEach $withBlocks {
            $text = (Get-Content -LiteralPath (Join-Path $RepositoryRoot $Page) -Raw) -replace '\r\n', "`n"
            $mistakes = foreach ($match in [regex]::Matches($text, '(?ms)^ *```powershell\n(?<code>.*?)^ *```')) {
                $line = $text.Substring(0, $match.Index).Split("`n").Count
                (Get-Mistake $match.Groups['code'].Value).ForEach{ "${Page}:${line}: $_" }
            }

            $mistakes | Should -BeNullOrEmpty
        }

        It 'are read: mistakes are found' {
            Get-Mistake 'Start-RpcListener -Bogus 1' | Should -Be 'Start-RpcListener has no parameter -Bogus'
            Get-Mistake 'Start-RpcLissener' | Should -Be 'there is no command Start-RpcLissener'
            Get-Mistake 'if (' | Should -Not -BeNullOrEmpty
        }
    }

    Context 'sessions' {
        BeforeAll {
            $docs = Join-Path $RepositoryRoot docs
            & (Join-Path $docs sessions update.ps1) -OutputFolder $TestDrive -Module $ModuleManifest

            # Without what is different in each run: ports, times, latencies, and the spaces around them.
            function Get-Stable([string] $Path) {
                (Get-Content -LiteralPath $Path -Raw) -replace '\r\n', "`n" -replace '127\.0\.0\.1:\d+', 'HOST' -replace
                    '\d\d:\d\d:\d\d', 'TIME' -replace '\b\d+\.\d+\b', 'NUMBER' -replace '[ ]{2,}', ' ' -replace
                    'textLength="[^"]*"', ''
            }
        }

        It 'gives what <_> shows' -ForEach 'first-ten-minutes.md' {
            Get-Stable (Join-Path $TestDrive $_) | Should -BeExactly (Get-Stable (Join-Path $docs $_)) -Because (
                'docs/sessions/update.ps1 writes it anew')
        }

        # Latencies and rates differ in each run, and so do the places of columns that are as wide as these.
        It 'draws the picture <_>' -ForEach 'terminal', 'errors', 'streams', 'mocks', 'load-test' {
            $picture = $_
            $shown, $drawn = $docs, $TestDrive | ForEach-Object { Get-Stable (Join-Path $_ sessions "$picture.svg") }
            if ($_ -in 'mocks', 'load-test') {
                $shown, $drawn = $shown, $drawn | ForEach-Object { $_ -replace '\d[\d.,]*|NUMBER', 'N' }
            }

            ([xml] (Get-Content -Raw (Join-Path $TestDrive sessions "$picture.svg"))).svg | Should -Not -BeNullOrEmpty
            $drawn | Should -BeExactly $shown -Because 'docs/sessions/update.ps1 draws it anew'
        }

        It 'tests each picture' {
            (Get-ChildItem (Join-Path $docs sessions pictures) -Filter *.ps1).BaseName | Sort-Object |
                Should -Be ('errors', 'load-test', 'mocks', 'streams', 'terminal')
        }
    }

    Context 'a session' {
        BeforeAll {
            $session = Join-Path $RepositoryRoot docs sessions Invoke-Session.ps1
            $draw = Join-Path $RepositoryRoot docs sessions ConvertTo-TerminalSvg.ps1
        }

        It 'shows output, errors and warnings, and shares variables' {
            $shown = & $session -Module $ModuleManifest -Block '$a = 1', '$a + 1', 'Write-Warning x; throw "no"', "'end'"

            $shown | Should -HaveCount 4
            $shown[0] | Should -Be ''
            $shown[1] | Should -Be '2'
            $shown[2] | Should -Match '(?s)x.*no'
            $shown[3] | Should -Be 'end'
        }

        It 'says when a block ends the shell' {
            { & $session -Module $ModuleManifest -Block 'exit 3' } | Should -Throw '*exit code 3*'
        }

        It 'draws hostile text as text' {
            $text = "<script>`e[38;5;196m&</text>`e[0m`e[38;2;1;2;3m x"

            $picture = [xml] (& $draw -Command 'Get-Date' -Output $text)

            $picture.svg.g.text.'#text' -join '' | Should -Be 'PS>Get-Date<script>&</text>x'
            $picture.svg.g.text.fill | Should -Contain '#ff0000'
            $picture.svg.g.text.fill | Should -Contain '#010203'
        }

        It 'goes on in the next line where a row is too long' {
            $picture = [xml] (& $draw -Command 'x' -Output ('y' * 25) -Width 10)

            $picture.svg.g.text.'#text' | Should -Be 'PS>', 'x', ('y' * 10), ('y' * 10), 'yyyyy'
        }
    }
}
