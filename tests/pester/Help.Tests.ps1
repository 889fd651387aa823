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
        $commandNames = (Get-Command -Module ProtoRpc).Name
        $topicNames = (Get-ChildItem $pages -Filter about_*.md).BaseName

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

        It 'describes <Name> in at most five lines' -ForEach $commands {
            $page = Get-Content -LiteralPath (Join-Path $pages "$Name.md") -Raw
            $description = [regex]::Match($page, '(?ms)^## DESCRIPTION\n+(.*?)\n+^## ').Groups[1].Value

            ($description -split '\n').Count | Should -BeLessOrEqual 5
            $description.Length | Should -BeLessThan 600
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

        It 'has links of <Name> that Get-Help finds' -ForEach $commands {
            $links = @((Get-Help $Name -Full).relatedLinks.navigationLink)

            $links | Should -Not -BeNullOrEmpty
            $links.uri | Where-Object { $_ } | Should -BeNullOrEmpty -Because 'names are no addresses'
            $links.linkText | ForEach-Object {
                $_ | Should -BeIn ($commandNames + $topicNames)
            }
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

        It 'has each topic as its page gives it' {
            $folder = (New-Item -ItemType Directory (Join-Path $TestDrive topics)).FullName
            & (Join-Path $RepositoryRoot docs build-help.ps1) -OutputFolder $folder -TopicOnly

            (Get-ChildItem $folder).Name | Should -Be (Get-ChildItem $pages -Filter *.help.txt).Name
            foreach ($topic in Get-ChildItem $folder) {
                Get-Content $topic -Raw | Should -Be (Get-Content (Join-Path $pages $topic.Name) -Raw) -Because (
                    "docs/build-help.ps1 makes $($topic.Name) anew")
            }
        }

        It 'shows no marks of Markdown, and lines of at most 80 characters: <Name>' -ForEach $topics {
            $lines = Get-Content (Join-Path $pages "$Name.help.txt")

            $lines | Where-Object Length -GT 80 | Should -BeNullOrEmpty
            $lines | Where-Object { $_ -match '`|\*\*|\]\(|^ {0,5}(#|\|)|(?<![\w*:])\*\w[^*]*\w\*(?![\w*])' } | Should -BeNullOrEmpty
        }

        It 'shows no marks of Markdown: <Name>' -ForEach $commands {
            $help = Get-Help $Name -Full
            $texts = @(
                $help.description.Text
                $help.parameters.parameter.description.Text
                $help.alertSet.alert.Text
                $help.examples.example.remarks.Text
            )

            $texts | Should -Not -BeNullOrEmpty
            $texts | Where-Object { $_ -match '`|\*\*|\]\(|(?m)^#' } | Should -BeNullOrEmpty
            $help.examples.example.code | Should -Not -BeNullOrEmpty
            $help.examples.example.code | Where-Object { $_ -like '*``````*' } | Should -BeNullOrEmpty
        }
    }

    Context 'examples' {
        BeforeAll {
            $endpoints = $env:PROTORPC_ENDPOINTS
        }

        AfterAll {
            $env:PROTORPC_ENDPOINTS = $endpoints
        }

        # As in a shell that has imported the module. What examples write is deleted with the test.
        It 'run as they stand: <Page>, <Title>' -ForEach $examples {
            $folder = (New-Item -ItemType Directory (Join-Path $TestDrive (New-TestName))).FullName
            $env:PROTORPC_ENDPOINTS = Join-Path $folder endpoints.json
            $shell = [powershell]::Create()
            try {
                $begin = "Import-Module '$ModuleManifest'; Set-Location '$folder'; Remove-PSDrive Temp -Force
                    `$null = New-PSDrive Temp FileSystem '$folder' -Scope Global"
                $null = $shell.AddScript($begin).Invoke()
                $shell.Commands.Clear()
                $null = $shell.AddScript($Code).Invoke()

                $shell.Streams.Error | Should -BeNullOrEmpty
            }
            finally {
                $shell.Commands.Clear()
                $null = $shell.AddScript('Disable-RpcCompletion; Disconnect-RpcEndpoint -Pooled
                    Get-RpcConnection | Disconnect-RpcEndpoint; Get-RpcListener | Stop-RpcListener -DrainTimeout 0').Invoke()
                $shell.Runspace.Close()
                $shell.Dispose()
            }
        }

        It 'have one line of preparation: <Page>, <Title>' -ForEach $examples {
            $prepares = @($Code -split '\n' | Where-Object { $_ -match 'ModuleBase|samples\.ps1' })

            $prepares.Count | Should -BeLessOrEqual 1
            if ($Code -match '\./(protos|examples)/') {
                ($Code -split '\n')[0] | Should -BeLike 'Set-Location (Get-Module ProtoRpc).ModuleBase*'
            }
        }
    }
}
