. (Join-Path $PSScriptRoot common.ps1)

# Most members have a fallback that is only slower, so without these tests nothing would show that one is missing.
Describe 'The members of PowerShell that are not public' {
    BeforeDiscovery {
        $page = Get-Content -Raw (Join-Path $RepositoryRoot docs architecture.md)
        $table = ($page -split '## Members of PowerShell that are not public')[1] -split '\r?\n' -match '^\| `'
        $members = $table | ForEach-Object { [regex]::Matches($_.Split('|')[1], '`(\w+)\.(\.?\w+)`') } |
            ForEach-Object { @{ Type = $_.Groups[1].Value; Member = $_.Groups[2].Value } }
        $accesses = Get-ChildItem (Join-Path $RepositoryRoot cmdlets) -Recurse -Filter *.cs |
            Select-String 'UnsafeAccessor\(.* Name = "(?:[gs]et_)?(?<name>\w+)"' |
            ForEach-Object { @{ Name = $_.Matches[0].Groups['name'].Value; File = $_.Filename } }
    }

    BeforeAll {
        $flags = [Reflection.BindingFlags]'Public, NonPublic, Instance, Static, DeclaredOnly'
        $types = [psobject].Assembly.GetTypes() | Group-Object Name -AsHashTable
    }

    It 'include <Type>.<Member> in this shell' -ForEach $members {
        $types[$Type].ForEach{ $_.GetMember($Member, $flags) } | Should -Not -BeNullOrEmpty
    }

    It 'list <Name>, which <File> accesses' -ForEach $accesses {
        $page = Get-Content -Raw (Join-Path (Split-Path $PSScriptRoot | Split-Path) docs architecture.md)
        $page | Should -Match "\.$Name``"
    }

    It 'are optional for the names of types' {
        $accelerators = [ProtoRpc.ModuleLoadContext].Assembly.GetType('ProtoRpc.TypeAccelerators')
        $accelerators.GetMethod('From').Invoke($null, @(, [psobject].Assembly)) | Should -Not -BeNullOrEmpty
        $accelerators.GetMethod('From').Invoke($null, @(, [string].Assembly)) | Should -BeNullOrEmpty
    }
}
