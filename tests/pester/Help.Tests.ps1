. (Join-Path $PSScriptRoot common.ps1)

BeforeDiscovery {
    $root = Split-Path (Split-Path $PSScriptRoot)
    $pages = Join-Path $root docs en-US
    $commands = (Import-PowerShellDataFile (Join-Path $root ProtoRpc.psd1)).CmdletsToExport |
        ForEach-Object { @{ Name = $_ } }
    $examples = foreach ($page in Get-ChildItem $pages -Filter *-Rpc*.md) {
        $text = Get-Content -LiteralPath $page.FullName -Raw
        foreach ($match in [regex]::Matches($text, '(?ms)^### (Example [^\n]+)\n+```powershell\n(.*?)^```')) {
            @{ Page = $page.BaseName; Title = $match.Groups[1].Value; Code = $match.Groups[2].Value }
        }
    }
    $topics = Get-ChildItem $pages -Filter about_*.md | ForEach-Object { @{ Name = $_.BaseName } }
    $hasPlatyPS = $null -ne (Get-Module -ListAvailable Microsoft.PowerShell.PlatyPS)
}

Describe 'Help' {
    BeforeAll {
        $pages = Join-Path $RepositoryRoot docs en-US
        $common = [System.Management.Automation.Cmdlet]::CommonParameters

        # The parameters of a page, with the type and the aliases of each.
        function Get-PageParameter([string] $Name) {
            $text = Get-Content -LiteralPath (Join-Path $pages "$Name.md") -Raw
            $found = [ordered]@{}
            foreach ($match in [regex]::Matches($text, '(?ms)^### -(\w+)\n(.*?)^```yaml\nType: ([^\n]+)\n')) {
                $found[$match.Groups[1].Value] = @{
                    Text = $match.Groups[2].Value.Trim()
                    Type = $match.Groups[3].Value
                }
            }
            $found
        }
    }

    AfterAll { Clear-Test }

    Context 'pages' {
        It 'has a page for <Name> whose parameters are those of the command' -ForEach $commands {
            $wanted = (Get-Command $Name).Parameters.Values | Where-Object Name -NotIn $common
            $page = Get-PageParameter $Name

            $page.Keys | Sort-Object | Should -Be ($wanted.Name | Sort-Object)
            foreach ($parameter in $wanted) {
                $page[$parameter.Name].Type | Should -Be $parameter.ParameterType.ToString() -Because $parameter.Name
                $page[$parameter.Name].Text | Should -Not -BeNullOrEmpty -Because $parameter.Name
            }
        }

        It 'has each parameter set of <Name> in its page' -ForEach $commands {
            $text = Get-Content -LiteralPath (Join-Path $pages "$Name.md") -Raw

            foreach ($set in (Get-Command $Name).ParameterSets | Where-Object Name -NE '__AllParameterSets') {
                $text | Should -Match "(?m)^### $($set.Name)( \(Default\))?$"
            }
        }

        It 'leaves nothing to fill in' {
            Select-String -Path (Join-Path $pages *.md) -SimpleMatch '{{' | Should -BeNullOrEmpty
        }

        It 'links to pages that exist' {
            $links = Select-String -Path (Join-Path $pages *.md) -Pattern '\]\(([^)#]+\.md)\)' -AllMatches

            $missing = $links.Matches.ForEach{ $_.Groups[1].Value } | Sort-Object -Unique |
                Where-Object { -not (Test-Path (Join-Path $pages $_)) }
            $missing | Should -BeNullOrEmpty
        }
    }

    Context 'the built help' {
        It 'is shown by Get-Help for <Name>' -ForEach $commands {
            $help = Get-Help $Name -Full

            $page = Get-Content -LiteralPath (Join-Path $pages "$Name.md") -Raw
            $synopsis = [regex]::Match($page, '(?ms)## SYNOPSIS\n\n([^\n]+)').Groups[1].Value
            $help.Synopsis | Should -Be $synopsis
            $help.examples.example | Should -Not -BeNullOrEmpty
        }

        It 'has links of <Name> that lead somewhere' -ForEach $commands {
            $links = @((Get-Help $Name -Full).relatedLinks.navigationLink)

            $links | Should -Not -BeNullOrEmpty
            $links.Where({ -not $_.uri }).linkText | Should -BeNullOrEmpty
        }

        It 'shows no syntax of <Name> twice' -ForEach $commands {
            $shown = @((Get-Command $Name -Syntax) -split '\r?\n' | Where-Object { $_ })

            $shown | Select-Object -Unique | Should -HaveCount $shown.Count
        }

        It 'is shown by Get-Help for <Name>' -ForEach $topics {
            Get-Help $Name | Out-String | Should -Match 'SHORT DESCRIPTION'
        }

        It 'is what the pages give' -Skip:(-not $hasPlatyPS) {
            & (Join-Path $RepositoryRoot docs build-help.ps1) -OutputFolder $TestDrive

            $name = 'ProtoRpc.PowerShell.dll-Help.xml'
            $built = Get-Content (Join-Path $TestDrive $name) -Raw
            $built | Should -Be (Get-Content (Join-Path $pages $name) -Raw) -Because 'docs/build-help.ps1 makes it anew'
        }
    }

    Context 'examples' {
        It 'run as they stand: <Page>, <Title>' -ForEach $examples {
            $shell = [powershell]::Create()
            try {
                $begin = "Set-Location -LiteralPath '$RepositoryRoot'; Import-Module '$ModuleManifest'"
                $null = $shell.AddScript($begin).Invoke()
                $shell.Commands.Clear()
                $null = $shell.AddScript($Code).Invoke()

                $shell.Streams.Error | Should -BeNullOrEmpty
                $shell.Commands.Clear()
                $shell.AddScript('Get-RpcConnection; Get-RpcListener').Invoke() | Should -BeNullOrEmpty
            }
            finally {
                $shell.Runspace.Close()
                $shell.Dispose()
            }
        }
    }
}
