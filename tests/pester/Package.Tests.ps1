. (Join-Path $PSScriptRoot common.ps1)

# The packages: those that the suite 'pack' made in this run, or packed here.
BeforeAll {
    $Script:packed = $env:PROTORPC_PACKAGES
    if (-not $packed) {
        $Script:packed = Join-Path $TestDrive packed
        $platform = "$($IsWindows ? 'win' : $IsMacOS ? 'osx' : 'linux')-$(
            "$([Runtime.InteropServices.RuntimeInformation]::ProcessArchitecture)".ToLowerInvariant())"
        $output = dotnet run --project (Join-Path $RepositoryRoot tests run) -- pack --out $packed --archive none `
            --ready-to-run $platform 2>&1
        $LASTEXITCODE | Should -Be 0 -Because "$output"
    }

    $Script:manifest = Import-PowerShellDataFile (Join-Path $RepositoryRoot ProtoRpc.psd1)
    $label = $manifest.PrivateData.PSData.Prerelease
    $Script:version = $manifest.ModuleVersion + ($label ? "-$label" : '')
    $Script:moduleFolder = Join-Path $packed ProtoRpc $manifest.ModuleVersion

    # The files of a package by their names, with their texts.
    function Get-PackageText([string] $Path) {
        $texts = @{}
        $archive = [IO.Compression.ZipFile]::OpenRead((Join-Path $packed $Path))
        try {
            foreach ($entry in $archive.Entries) {
                $reader = [IO.StreamReader]::new($entry.Open())
                $texts[$entry.FullName] = $entry.Length -lt 2MB ? $reader.ReadToEnd() : ''
                $reader.Dispose()
            }
        }
        finally {
            $archive.Dispose()
        }
        $texts
    }

    # Unpacks the package of the module into a folder of modules.
    function Install-Unpacked([string] $Folder) {
        $target = Join-Path $Folder ProtoRpc $manifest.ModuleVersion
        [IO.Compression.ZipFile]::ExtractToDirectory((Join-Path $packed gallery "ProtoRpc.$version.nupkg"), $target)
        # As Install-PSResource leaves out what only a package needs.
        Remove-Item -LiteralPath (Join-Path $target '[Content_Types].xml'), (Join-Path $target ProtoRpc.nuspec)
        Remove-Item -LiteralPath (Join-Path $target _rels) -Recurse -Force
    }
}

Describe 'The package of <_>' -ForEach 'ProtoRpc', 'ProtoRpc.Shared', 'ProtoRpc.AspNetCore', 'ProtoRpc.Grpc', 'ProtoRpc.Compiler', 'ProtoRpc.Tool' {
    BeforeAll {
        $name = $_
        $texts = Get-PackageText "packages/$name.$version.nupkg"
        $nuspec = ([xml] $texts["$name.nuspec"]).package.metadata
    }

    It 'has the license, the notices, a page and an icon' {
        'LICENSE', 'THIRD-PARTY-NOTICES.txt', 'README.md', 'icon.png' | Should -BeIn $texts.Keys
        $nuspec.readme | Should -Be README.md
        $nuspec.icon | Should -Be icon.png
        $nuspec.license.'#text' | Should -Be MIT
    }

    It 'has a page, a description and tags of its own' {
        $texts['README.md'] | Should -BeLike "# $(($name -replace '^ProtoRpc.Tool$', 'protorpc'))*"
        $nuspec.description | Should -Not -BeLike '*for PowerShell and .NET*'
        $nuspec.tags | Should -BeLike 'protobuf rpc *'
    }

    It 'has the version and the addresses of the manifest' {
        $nuspec.version | Should -Be $version
        $nuspec.projectUrl | Should -Be $manifest.PrivateData.PSData.ProjectUri
        $nuspec.repository.url | Should -Be $manifest.PrivateData.PSData.ProjectUri
        $nuspec.releaseNotes | Should -Be $manifest.PrivateData.PSData.ReleaseNotes
    }
}

Describe 'The library <_>' -ForEach 'ProtoRpc', 'ProtoRpc.Shared', 'ProtoRpc.AspNetCore', 'ProtoRpc.Grpc' {
    BeforeAll {
        $name = $_
        $texts = Get-PackageText "packages/$name.$version.nupkg"
        $symbols = Get-PackageText "packages/$name.$version.snupkg"
    }

    It 'has the assembly and its documentation, and its symbols in a package of their own' {
        "lib/net10.0/$name.dll", "lib/net10.0/$name.xml" | Should -BeIn $texts.Keys
        $texts.Keys -like '*.pdb' | Should -BeNullOrEmpty
        "lib/net10.0/$name.pdb" | Should -BeIn $symbols.Keys
    }

    It 'points from its symbols to the sources' -Skip:(-not $env:PROTORPC_PACKAGES) {
        # The suite 'pack' clones as from the address of the project.
        $symbols["lib/net10.0/$name.pdb"].Contains('"documents":{"/_/*":"https://raw.githubusercontent.com/') |
            Should -BeTrue
    }

    It 'documents the types that other assemblies can use, and no others' {
        $members = ([xml] $texts["lib/net10.0/$name.xml"]).doc.members.member.name
        $documented = $members -like 'T:*' -replace '^T:'
        # A type is a line of its name alone; the documentation counts its type parameters instead.
        $public = Get-Content (Join-Path $RepositoryRoot lib $name 'PublicAPI.*.txt') |
            Where-Object { $_ -match '^[\w.]+(<[\w, ]+>)?$' } |
            ForEach-Object { $_ -replace '<(.+)>', { '`' + $_.Groups[1].Value.Split(',').Count } }

        $documented | Should -Not -BeNullOrEmpty
        $documented | Where-Object { $_ -notin $public } | Should -BeNullOrEmpty
        $members -like 'M:*' | Should -Not -BeNullOrEmpty
    }

    It 'brings no protoc and no .proto files, which only those need who load such files' {
        $texts.Keys -match '(^|/)protoc|\.proto$|\.targets$' | Should -BeNullOrEmpty
    }
}

Describe 'The package of the compiler' {
    BeforeAll {
        $texts = Get-PackageText "packages/ProtoRpc.Compiler.$version.nupkg"
    }

    It 'brings <_>' -ForEach @(
        'buildTransitive/ProtoRpc.Compiler.targets'
        'files/protoc/linux-x64/protoc'
        'files/protoc/linux-arm64/protoc'
        'files/protoc/osx/protoc'
        'files/protoc/win-x64/protoc.exe'
        'files/protoc/include/google/protobuf/timestamp.proto'
        'files/protoc/include/google/api/annotations.proto'
        'files/protos/rpc_messages.proto'
        'files/protos/google/protobuf/csharp_options.proto'
        'files/protos/csharp_rpc_messages.proto'
        'files/protos/google/protobuf/csharp_rpc_messages.proto'
    ) {
        $_ | Should -BeIn $texts.Keys
    }

    It 'brings no code and none of the sample files' {
        $texts.Keys -like 'lib/*' | Should -BeNullOrEmpty
        $texts.Keys -match '(sample|search|order|benchmark)\.proto$' | Should -BeNullOrEmpty
    }

    It 'puts its files into the folders where the library looks for them' {
        $targets = [xml] (Get-Content (Join-Path $RepositoryRoot lib ProtoRpc.Compiler ProtoRpc.Compiler.targets) -Raw)

        $item = $targets.Project.ItemGroup.None
        $item.Link | Should -Be '%(RecursiveDir)%(Filename)%(Extension)'
        $item.CopyToOutputDirectory | Should -Be 'PreserveNewest'
        $targets.Project.ItemGroup.ProtoRpcFile[0].Include | Should -Be '$(MSBuildThisFileDirectory)../files/**/*'
    }
}

Describe 'A project that references the compiler' {
    BeforeAll {
        $archive = Join-Path $packed packages "ProtoRpc.Compiler.$version.nupkg"
        [IO.Compression.ZipFile]::ExtractToDirectory($archive, (Join-Path $TestDrive compiler))
        $project = Join-Path $TestDrive uses.proj
        Set-Content $project "<Project><Import Project='compiler/buildTransitive/ProtoRpc.Compiler.targets' /></Project>"

        # The files that a build for a platform copies to its output folder.
        function Get-CopiedFile([string] $Platform) {
            $output = dotnet msbuild $project -getItem:None "-p:RuntimeIdentifier=$Platform"
            $LASTEXITCODE | Should -Be 0 -Because "$output"
            ($output | ConvertFrom-Json).Items.None.Link.Replace('\', '/')
        }
    }

    It 'gets the protoc of <Platform> alone if it is built for <Platform>' -ForEach @(
        @{ Platform = 'linux-x64'; File = 'protoc/linux-x64/protoc' }
        @{ Platform = 'linux-musl-arm64'; File = 'protoc/linux-arm64/protoc' }
        @{ Platform = 'osx-x64'; File = 'protoc/osx/protoc' }
        @{ Platform = 'win-arm64'; File = 'protoc/win-x64/protoc.exe' }
    ) {
        $files = Get-CopiedFile $Platform

        $files -match '/protoc(\.exe)?$' | Should -Be $File
        $files | Should -Contain 'protoc/include/google/protobuf/timestamp.proto'
        $files | Should -Contain 'protoc/include/google/type/money.proto'
        $files | Should -Contain 'protos/rpc_messages.proto'
    }

    It 'gets the protoc of every platform if it is built for all' {
        (Get-CopiedFile '') -match '/protoc(\.exe)?$' | Should -HaveCount 4
    }
}

Describe 'The package of the tool' {
    It 'installs from its folder as a dotnet tool, lists a schema and says hello' {
        $tools = Join-Path $TestDrive tools
        $config = Join-Path $TestDrive nuget.config
        Set-Content $config "<configuration><packageSources><clear /><add key='packed' value='$packed/packages' /></packageSources></configuration>"

        $output = dotnet tool install ProtoRpc.Tool --tool-path $tools --configfile $config --no-cache 2>&1
        $LASTEXITCODE | Should -Be 0 -Because "$output"
        $protorpc = (Get-Command (Join-Path $tools protorpc)).Source
        & $protorpc list --schema (Join-Path $RepositoryRoot protos sample.proto) | Select-Object -First 1 | Should -Be 'Sample.MyService'
        Push-Location $TestDrive
        try {
            & $protorpc demo | Should -Contain 'anonymous says: Hello via TCP!'
        }
        finally {
            Pop-Location
        }
    }

    It 'brings the notices of what it contains, and no documentation of libraries' {
        $texts = Get-PackageText "packages/ProtoRpc.Tool.$version.nupkg"

        $texts['THIRD-PARTY-NOTICES.txt'] | Should -BeLike '*System.CommandLine*MIT License*'
        $texts.Keys -like '*.xml' | Should -BeIn 'tools/net10.0/any/DotnetToolSettings.xml', '[Content_Types].xml'
    }
}

Describe 'The archive of the tool' {
    It 'runs where there is no .NET' {
        $system = $IsWindows ? 'win' : $IsMacOS ? 'osx' : 'linux'
        $processor = [Runtime.InteropServices.RuntimeInformation]::OSArchitecture.ToString().ToLowerInvariant()
        $archive = Get-ChildItem (Join-Path $packed archives) -Filter "*-$system-$processor.*" -ErrorAction Ignore
        if (-not $archive) {
            Set-ItResult -Skipped -Because "the suite 'pack' makes it"
        }

        $folder = (New-Item -ItemType Directory (Join-Path $TestDrive archive)).FullName
        tar -xf $archive[0].FullName -C $folder
        $LASTEXITCODE | Should -Be 0
        $protorpc = (Get-Item (Join-Path $folder protorpc-* ($IsWindows ? 'protorpc.exe' : 'protorpc'))).FullName
        $start = [Diagnostics.ProcessStartInfo]::new($protorpc, @('list', '--schema', (Join-Path $RepositoryRoot protos sample.proto)))
        $start.Environment['DOTNET_ROOT'] = $start.Environment['DOTNET_ROOT_X64'] = Join-Path $TestDrive nothing
        $start.RedirectStandardOutput = $true
        $process = [Diagnostics.Process]::Start($start)
        $process.StandardOutput.ReadLine() | Should -Be 'Sample.MyService'
        $null = $process.StandardOutput.ReadToEnd()
        $process.WaitForExit()
        $process.ExitCode | Should -Be 0
        Join-Path (Split-Path $protorpc) licenses Microsoft.NETCore.App.Runtime.* LICENSE.TXT | Should -Exist
        (Get-ChildItem (Join-Path (Split-Path $protorpc) protoc)).Name | Should -HaveCount 2 -Because 'there is one protoc, and the imports'
    }
}

Describe 'The sums and the bill of materials' {
    It 'name each package with its hash' {
        $lines = Get-Content (Join-Path $packed SHA256SUMS)

        $lines.Count | Should -BeGreaterThan 9
        foreach ($line in $lines) {
            $hash, $file = $line -split '  ', 2
            (Get-FileHash (Join-Path $packed $file)).Hash | Should -Be $hash -Because $file
        }
        Get-ChildItem (Join-Path $packed packages), (Join-Path $packed gallery) -File | ForEach-Object {
            $lines -like "*  $($_.Directory.Name)/$($_.Name)" | Should -HaveCount 1
        }
    }

    It 'list what the module contains' {
        $bill = Get-Content (Join-Path $packed "ProtoRpc-$version.spdx.json") -Raw | ConvertFrom-Json

        $bill.spdxVersion | Should -Be 'SPDX-2.3'
        $module = $bill.packages | Where-Object packageFileName -EQ "gallery/ProtoRpc.$version.nupkg"
        $module.checksums[0].checksumValue | Should -Be (Get-FileHash (Join-Path $packed $module.packageFileName)).Hash
        $contents = ($bill.relationships | Where-Object spdxElementId -EQ $module.SPDXID).relatedSpdxElement
        $names = ($bill.packages | Where-Object SPDXID -In $contents).name
        # protoc, imports, and the package of each assembly that is not ours.
        $others = (Get-ChildItem (Join-Path $moduleFolder bin) -Filter *.dll).BaseName -notlike 'ProtoRpc*'
        $names | Sort-Object | Should -Be ($others + 'Grpc.Tools' + 'Google.Api.CommonProtos' | Sort-Object)
        ($bill.packages | Where-Object name -EQ 'Google.Protobuf').externalRefs[0].referenceLocator | Should -BeLike 'pkg:nuget/Google.Protobuf@*'
        # Every relation has two ends.
        $bill.relationships.relatedSpdxElement + $bill.relationships.spdxElementId | ForEach-Object {
            $_ | Should -BeIn ($bill.packages.SPDXID + 'SPDXRef-DOCUMENT')
        }
    }
}

Describe 'The package of the module' {
    BeforeAll {
        $texts = Get-PackageText "gallery/ProtoRpc.$version.nupkg"
        $nuspec = ([xml] $texts['ProtoRpc.nuspec']).package.metadata
    }

    It 'has the nuspec of Publish-PSResource' {
        $nuspec.id | Should -Be ProtoRpc
        $nuspec.version | Should -Be $version
        $nuspec.requireLicenseAcceptance | Should -Be 'false'
        $nuspec.licenseUrl, $nuspec.projectUrl | Should -Not -BeNullOrEmpty
        $tags = -split $nuspec.tags
        'PSModule', 'PSEdition_Core', 'PSIncludes_Cmdlet', 'PSCmdlet_Invoke-RpcMethod', 'PSCommand_Invoke-RpcMethod' | Should -BeIn $tags
        ($tags -like 'PSCmdlet_*').Count | Should -Be $manifest.CmdletsToExport.Count
        # What the Gallery takes.
        $nuspec.tags.Length | Should -BeLessThan 4000
    }

    It 'has the files of the folder' {
        $files = Get-ChildItem $moduleFolder -Recurse -File | ForEach-Object {
            [IO.Path]::GetRelativePath($moduleFolder, $_.FullName).Replace('\', '/')
        }

        $texts.Keys | Where-Object { $_ -notin 'ProtoRpc.nuspec', '_rels/.rels', '[Content_Types].xml' } |
            Sort-Object | Should -Be ($files | Sort-Object)
    }

    It 'names the type of each of its files' {
        $types = ([xml] $texts['[Content_Types].xml']).Types
        foreach ($name in $texts.Keys -ne '[Content_Types].xml') {
            $end = [IO.Path]::GetExtension($name).TrimStart('.')
            $end ? $types.Default.Extension -contains $end : $types.Override.PartName -contains "/$name" | Should -BeTrue -Because $name
        }
    }

    It 'installs from a folder repository' {
        if (-not (Get-Command Install-PSResource -ErrorAction Ignore)) {
            Set-ItResult -Skipped -Because 'there is no Microsoft.PowerShell.PSResourceGet'
        }

        $repository = New-TestName
        $result = Invoke-Pwsh @"
Register-PSResourceRepository $repository '$packed/gallery' -Trusted
try {
    `$null = New-Item -ItemType Directory '$TestDrive/saved'
    Save-PSResource ProtoRpc -Repository $repository -Path '$TestDrive/saved'
}
finally {
    Unregister-PSResourceRepository $repository
}
Import-Module '$TestDrive/saved/ProtoRpc'
(Get-RpcService -Schema '$RepositoryRoot/protos/sample.proto').FullName
"@

        $result.Error | Should -BeNullOrEmpty
        $result.Output.Trim() | Should -Be 'Sample.MyService'
    }

    It 'is called by its name where its unpacked contents are the only module' {
        $modules = Join-Path $TestDrive only
        Install-Unpacked $modules

        $result = Invoke-Pwsh @"
`$env:PSModulePath = '$modules'
`$module = Get-Module ProtoRpc -ListAvailable
`$module.Version.ToString()
(Get-RpcService -Schema '$RepositoryRoot/protos/sample.proto').FullName
(Get-Module ProtoRpc).ModuleBase
"@

        $result.Error | Should -BeNullOrEmpty
        $result.Output.Trim() -split '\r?\n' | Should -Be @(
            $manifest.ModuleVersion, 'Sample.MyService', (Join-Path $modules ProtoRpc $manifest.ModuleVersion))
    }
}

Describe 'The module folder' {
    BeforeAll {
        $Script:folder = Join-Path $TestDrive modules ProtoRpc $manifest.ModuleVersion
        $null = New-Item -ItemType Directory (Split-Path $folder)
        Copy-Item $moduleFolder $folder -Recurse
        # Imports the module, serves a method and calls it; the schema is compiled by protoc.
        $Script:session = @"
`$ErrorActionPreference = 'Stop'
Import-Module '$folder/ProtoRpc.psd1'
`$listener = Start-RpcListener -Schema '$TestDrive/greeter.proto' -Service demo.Greeter -Endpoint 'ncacn_ip_tcp:127.0.0.1[0]' -Handler @{
    SayHello = { param(`$Request) @{ text = "Hello `$(`$Request.name)" } }
}
`$rpc = Connect-RpcEndpoint `$listener.Endpoint[0] -Schema `$listener.Schema -Service demo.Greeter
(`$rpc | Invoke-RpcMethod SayHello @{ name = 'packed' }).text
(Get-Module ProtoRpc).ModuleBase
Stop-RpcListener `$listener
"@
        Copy-Item (Join-Path $TestProtos greeter.proto) $TestDrive
    }

    It 'has <_>' -ForEach @(
        'ProtoRpc.psd1'
        'ProtoRpc.psm1'
        'cmdlets/views/Message.Format.ps1xml'
        'cmdlets/views/Schema.Format.ps1xml'
        'cmdlets/views/Exception.Format.ps1xml'
        'LICENSE'
        'THIRD-PARTY-NOTICES.txt'
        'bin/ProtoRpc.dll'
        'bin/protoc/linux-x64/protoc'
        'bin/protoc/include/google/protobuf/timestamp.proto'
        'bin/protoc/include/google/api/annotations.proto'
        'bin/protos/google/protobuf/csharp_rpc_messages.proto'
        'en-US/about_ProtoRpc_Completion.help.txt'
        'en-US/about_ProtoRpc_Context.help.txt'
        'en-US/about_ProtoRpc_Services.help.txt'
        'en-US/about_ProtoRpc_Calls.help.txt'
        'en-US/ProtoRpc.PowerShell.dll-Help.xml'
        'protos/search.proto'
        'examples/samples.ps1'
        'examples/testing/shop.proto'
    ) {
        Join-Path $folder $_ | Should -Exist
    }

    It 'has the files that the examples of the help name' {
        $named = Get-ChildItem (Join-Path $RepositoryRoot docs en-US) -Filter *-Rpc*.md | ForEach-Object {
            $examples = [regex]::Matches((Get-Content $_ -Raw), '(?ms)^```powershell\n.*?^```').Value
            [regex]::Matches($examples, '(?<=[ (])\./(protos|examples)/[\w./*-]*\w').Value
        } | Sort-Object -Unique

        $named.Count | Should -BeGreaterThan 3
        $named | ForEach-Object { Join-Path $folder $_ | Should -Exist }
    }

    It 'runs the samples of the help from its own folder' {
        $result = Invoke-Pwsh @"
Import-Module '$folder/ProtoRpc.psd1'
Set-Location (Get-Module ProtoRpc).ModuleBase; ./examples/samples.ps1
(Invoke-RpcMethod GetBook @{ name = 'books/1' } -Endpoint inproc://library).title
(Invoke-RpcMethod Search @{ query = 'lamp' } -Endpoint inproc://search).result.url
(Get-Help about_ProtoRpc_Calls).Contains('SHORT DESCRIPTION')
"@
        $result.Error | Should -BeNullOrEmpty
        $result.Output.Trim() -split '\r?\n' | Should -Be 'Emma', 'https://example.com/lamp', 'True'
    }

    It 'has the assemblies for this platform compiled ahead of time, and loads these' {
        $native = Join-Path $folder bin "$($IsWindows ? 'win' : $IsMacOS ? 'osx' : 'linux')-$(
            "$([Runtime.InteropServices.RuntimeInformation]::ProcessArchitecture)".ToLowerInvariant())"
        foreach ($name in 'ProtoRpc.Shared', 'ProtoRpc.Loader', 'ProtoRpc', 'ProtoRpc.PowerShell', 'Google.Protobuf') {
            $file = [IO.File]::OpenRead((Join-Path $native "$name.dll"))
            $reader = [Reflection.PortableExecutable.PEReader]::new($file)
            try {
                $reader.PEHeaders.CorHeader.ManagedNativeHeaderDirectory.Size | Should -BeGreaterThan 0 -Because $name
            }
            finally {
                $reader.Dispose()
            }
        }

        $result = Invoke-Pwsh @"
Import-Module '$folder/ProtoRpc.psd1'
`$null = ConvertTo-RpcMessage demo.HelloRequest @{ name = 'x' } -Schema '$TestDrive/greeter.proto'
[AppDomain]::CurrentDomain.GetAssemblies().Where{ `$_.GetName().Name -like '*Proto*' }.Location
"@
        $result.Error | Should -BeNullOrEmpty
        $loaded = $result.Output.Trim() -split '\r?\n'
        $loaded | Should -HaveCount 5
        $loaded | ForEach-Object { Split-Path $_ | Should -Be $native }
    }

    It 'works on a platform for which nothing is compiled ahead of time' {
        $other = Join-Path $TestDrive other ProtoRpc $manifest.ModuleVersion
        $null = New-Item -ItemType Directory (Split-Path $other)
        Copy-Item $moduleFolder $other -Recurse
        Get-ChildItem (Join-Path $other bin) -Directory | Where-Object Name -Match '^(linux|win|osx)-' |
            Remove-Item -Recurse

        $result = Invoke-Pwsh $session.Replace("$folder", "$other")
        $result.Error | Should -BeNullOrEmpty
        $result.Output.Trim() -split '\r?\n' | Should -Be 'Hello packed', $other
    }

    It 'has no files of the shell or of ASP.NET Core' {
        (Get-ChildItem (Join-Path $folder bin) -Filter *.dll).BaseName | Sort-Object | Should -Be @(
            'Google.Protobuf', 'Microsoft.Extensions.Logging.Abstractions', 'Microsoft.OpenApi', 'ProtoRpc',
            'ProtoRpc.AspNetCore', 'ProtoRpc.Loader', 'ProtoRpc.PowerShell', 'ProtoRpc.Shared')
        Join-Path $folder bin runtimes | Should -Not -Exist
    }

    It 'has no debug symbols and nothing of the tests' {
        Get-ChildItem $folder -Recurse -Include *.pdb, *.deps.json, *Tests* |
            Where-Object FullName -NotLike '*examples*Invoke-Restock.Tests.ps1' | Should -BeNullOrEmpty
    }

    It 'names each assembly of others in the notices' {
        $notices = Get-Content (Join-Path $folder THIRD-PARTY-NOTICES.txt) -Raw
        $others = (Get-ChildItem (Join-Path $folder bin) -Filter *.dll).BaseName -notlike 'ProtoRpc*'

        $others | Should -Not -BeNullOrEmpty
        $others | ForEach-Object { $notices | Should -BeLike "*$_*" }
        $notices | Should -BeLike '*Neither the name of Google Inc.*'
    }

    It 'serves and calls in a new shell' {
        $result = Invoke-Pwsh $session

        $result.Error | Should -BeNullOrEmpty
        $result.Output.Trim() -split '\r?\n' | Should -Be 'Hello packed', $folder
    }

    Context 'installed by root without the execute bit' {
        BeforeDiscovery {
            $isRoot = -not $IsWindows -and [Environment]::IsPrivilegedProcess
            $reason = -not $isRoot ? 'needs root, to run as another user'
                : -not (Get-Command setpriv -CommandType Application -ErrorAction Ignore) ? 'needs setpriv'
                : $null
        }

        BeforeAll {
            $nobody = '--reuid=65534', '--regid=65534', '--clear-groups', '--bounding-set=-all'
            # The folder of NuGet's packages, where PowerShell may be, is root's own.
            $Script:shell = [Environment]::ProcessPath
            setpriv @nobody test -x $shell
            if ($LASTEXITCODE -ne 0) {
                Copy-Item -LiteralPath $PSHOME -Destination (Join-Path $TestDrive shell) -Recurse
                $Script:shell = Join-Path $TestDrive shell pwsh
            }

            # Runs a script as a user without rights, whose environment is the given one.
            function Invoke-AsNobody([string] $Script, [string[]] $Environment) {
                $file = Join-Path $TestDrive "$(New-TestName).ps1"
                Set-Content -LiteralPath $file -Value $Script
                chmod a+r $file
                $output = setpriv @nobody env -i PATH=$env:PATH DOTNET_ROOT=$env:DOTNET_ROOT NO_COLOR=1 @Environment $shell `
                    -NoProfile -NonInteractive -File $file 2>&1
                [pscustomobject]@{ ExitCode = $LASTEXITCODE; Output = "$($output -join "`n")" }
            }
        }

        It 'is called by another user, with a copy of protoc in the cache of that user' -Skip:($null -ne $reason) {
            chmod -R 'a+rX' $TestDrive
            $protoc = Get-Item (Join-Path $folder bin protoc * protoc)
            chmod a-x $protoc.FullName
            $userHome = (New-Item -ItemType Directory (Join-Path $TestDrive home)).FullName
            chown 65534:65534 $userHome

            $result = Invoke-AsNobody $session "HOME=$userHome"
            $again = Invoke-AsNobody $session "HOME=$userHome"

            $result.Output | Should -Be "Hello packed`n$folder"
            $again.Output | Should -Be "Hello packed`n$folder"
            $copy = Get-ChildItem (Join-Path $userHome .cache protorpc) -File
            $copy | Should -HaveCount 1
            (stat -c '%a %u' $copy.FullName $copy.Directory.FullName) | Should -Be '700 65534', '700 65534'
            (Get-FileHash $copy).Hash | Should -BeIn ($protoc | Get-FileHash).Hash
            stat -c '%a' ($protoc | Where-Object FullName -Like '*linux-x64*').FullName | Should -Be '644'
        }

        It 'does not use what another user has put into the cache' -Skip:($null -ne $reason) {
            chmod -R 'a+rX' $TestDrive
            chmod a-x (Get-Item (Join-Path $folder bin protoc * protoc)).FullName
            $shared = (New-Item -ItemType Directory (Join-Path $TestDrive shared)).FullName
            chmod 1777 $shared
            $planted = New-Item -ItemType Directory (Join-Path $shared protorpc)
            chmod 777 $planted.FullName

            $result = Invoke-AsNobody $session "XDG_CACHE_HOME=$shared", "HOME=$shared"

            $result.ExitCode | Should -Be 1
            $result.Output | Should -BeLike "*'$($planted.FullName)' belongs to another user*"
            Get-ChildItem $planted | Should -BeNullOrEmpty
        }

        It 'says what to set where there is no cache' -Skip:($null -ne $reason) {
            chmod -R 'a+rX' $TestDrive
            chmod a-x (Get-Item (Join-Path $folder bin protoc * protoc)).FullName

            $result = Invoke-AsNobody $session

            $result.ExitCode | Should -Be 1
            ($result.Output -replace '\s*\n[\s|]*', ' ') | Should -BeLike '*neither XDG_CACHE_HOME nor HOME names a folder*PROTOC*'
        }
    }
}
