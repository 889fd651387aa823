. (Join-Path $PSScriptRoot common.ps1)

BeforeDiscovery {
    $pages = Get-ChildItem (Join-Path (Split-Path (Split-Path $PSScriptRoot)) docs recipes) -Filter *.md |
        Where-Object { (Get-Content -LiteralPath $_ -Raw) -match '(?m)^```powershell' } |
        ForEach-Object { @{ Page = $_.BaseName } }
}

Describe 'Recipes' {
    BeforeAll {
        . (Join-Path $PSScriptRoot recipes.ps1)
        $rendering = $PSStyle.OutputRendering
        $PSStyle.OutputRendering = 'PlainText'
        $before = $env:PROTORPC_ENDPOINTS, $env:PSModulePath
        $here = (Get-Location).Path
    }

    AfterAll {
        $PSStyle.OutputRendering = $rendering
        $env:PROTORPC_ENDPOINTS, $env:PSModulePath = $before
    }

    AfterEach {
        Set-Location -LiteralPath $here
        Stop-RecipePeer
        Remove-Item function:pwsh, function:protorpc -ErrorAction Ignore
        Disconnect-RpcEndpoint -Pooled
        Clear-Test
    }

    It 'have a set-up for each page with PowerShell: <Pages>' -ForEach @{ Pages = $pages.Page } {
        $RecipeSetUps.Keys | Sort-Object | Should -Be ($Pages | Sort-Object)
    }

    It 'run, and write what the page shows: <Page>' -ForEach $pages {
        $folder = New-Item -ItemType Directory (Join-Path $TestDrive $Page)
        Set-Location -LiteralPath $folder.FullName
        $setUp = $RecipeSetUps[$Page]
        if ($why = $setUp.Needs ? (& $setUp.Needs) : '') {
            Set-ItResult -Skipped -Because $why
            return
        }
        $names = $setUp.Start ? (& $setUp.Start) : @{}

        $blocks = @(Read-Recipe $Page $names)
        $written = @(Invoke-Recipe $blocks $names)

        $blocks.Count + [bool] $setUp.Check | Should -BeGreaterThan 0
        for ($i = 0; $i -lt $blocks.Count; $i++) {
            if ($difference = Compare-Recipe $blocks[$i].Shown $written[$i]) {
                throw "$($blocks[$i].Code)`n$difference"
            }
        }
        if ($setUp.Check) {
            & $setUp.Check
        }
    }

    It 'fit on a screen: <Page>' -ForEach $pages {
        $lines = Get-Content -LiteralPath (Join-Path $RepositoryRoot docs recipes "$Page.md")

        $lines.Count | Should -BeLessOrEqual 55
        ($lines | Measure-Object Length -Maximum).Maximum | Should -BeLessOrEqual 400
    }

    It 'differ from another output: <Shown>' -ForEach @(
        @{ Shown = 'x'; Written = "y`n" }
        @{ Shown = ''; Written = 'y' }
        @{ Shown = "...`nx"; Written = "y`nz" }
    ) {
        Compare-Recipe $Shown $Written | Should -Not -BeNullOrEmpty
    }

    It 'are the same with other ports and times: <Shown>' -ForEach @(
        @{ Shown = 'a 127.0.0.1:1'; Written = "a   127.0.0.1:22`n" }
        @{ Shown = 'p99 4.2 ms'; Written = 'p99 11.93 ms' }
        @{ Shown = "...`nx"; Written = "y`nx" }
    ) {
        Compare-Recipe $Shown $Written | Should -BeExactly ''
    }
}
