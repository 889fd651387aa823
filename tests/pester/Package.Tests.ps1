. (Join-Path $PSScriptRoot common.ps1)

# What a project of lib packs: the names of the archive's files.
BeforeAll {
    function Get-PackageFile([string] $Project) {
        $output = dotnet pack (Join-Path $RepositoryRoot lib $Project) -c Debug --no-build --nologo -o $TestDrive 2>&1
        $LASTEXITCODE | Should -Be 0 -Because "$output"
        $archive = [IO.Compression.ZipFile]::OpenRead((Get-Item (Join-Path $TestDrive "$Project.0*.nupkg")).FullName)
        try {
            $archive.Entries.FullName
        }
        finally {
            $archive.Dispose()
        }
    }
}

Describe 'The package of the core library' {
    BeforeAll {
        $entries = Get-PackageFile ProtoRpc
    }

    It 'brings <_>' -ForEach 'lib/net10.0/ProtoRpc.dll', 'LICENSE', 'THIRD-PARTY-NOTICES.txt' {
        $entries | Should -Contain $_
    }

    It 'brings no protoc and no .proto files, which only those need who load such files' {
        $entries -match '(^|/)protoc|\.proto$|\.targets$' | Should -BeNullOrEmpty
    }
}

Describe 'The package of the compiler' {
    BeforeAll {
        $entries = Get-PackageFile ProtoRpc.Compiler
    }

    It 'brings <_>' -ForEach @(
        'buildTransitive/ProtoRpc.Compiler.targets'
        'files/protoc/linux-x64/protoc'
        'files/protoc/linux-arm64/protoc'
        'files/protoc/osx/protoc'
        'files/protoc/win-x64/protoc.exe'
        'files/protoc/include/google/protobuf/timestamp.proto'
        'files/protos/rpc_messages.proto'
        'files/protos/google/protobuf/csharp_options.proto'
        'files/protos/csharp_rpc_messages.proto'
        'files/protos/google/protobuf/csharp_rpc_messages.proto'
        'LICENSE'
        'THIRD-PARTY-NOTICES.txt'
    ) {
        $entries | Should -Contain $_
    }

    It 'brings no code and none of the sample files' {
        $entries -like 'lib/*' | Should -BeNullOrEmpty
        $entries -match '(sample|search|order|benchmark)\.proto$' | Should -BeNullOrEmpty
    }

    It 'puts its files into the folders where the library looks for them' {
        $targets = [xml] (Get-Content (Join-Path $RepositoryRoot lib ProtoRpc.Compiler ProtoRpc.Compiler.targets) -Raw)

        $item = $targets.Project.ItemGroup.None
        $item.Link | Should -Be '%(RecursiveDir)%(Filename)%(Extension)'
        $item.CopyToOutputDirectory | Should -Be 'PreserveNewest'
        $targets.Project.ItemGroup.ProtoRpcFile.Include | Should -Be '$(MSBuildThisFileDirectory)../files/**/*'
    }
}

Describe 'The package of the tool' {
    It 'brings the notices of what it contains' {
        $output = dotnet pack (Join-Path $RepositoryRoot lib ProtoRpc.Tool) -c Debug --no-build --nologo -o $TestDrive 2>&1
        $LASTEXITCODE | Should -Be 0 -Because "$output"
        $archive = [IO.Compression.ZipFile]::OpenRead((Get-Item (Join-Path $TestDrive ProtoRpc.Tool.*.nupkg)).FullName)
        try {
            $archive.Entries.FullName | Should -Contain 'LICENSE'
            $reader = [IO.StreamReader]::new($archive.GetEntry('THIRD-PARTY-NOTICES.txt').Open())
            $reader.ReadToEnd() | Should -BeLike '*System.CommandLine*MIT License*'
        }
        finally {
            $archive.Dispose()
        }
    }
}

Describe 'The module folder' {
    BeforeAll {
        $Script:version = (Import-PowerShellDataFile (Join-Path $RepositoryRoot ProtoRpc.psd1)).ModuleVersion
        $Script:folder = Join-Path $TestDrive modules ProtoRpc $version
        $output = dotnet build (Join-Path $RepositoryRoot cmdlets ProtoRpc.PowerShell) -t:PackModule -c Debug --no-restore --nologo -v q "-p:ModuleOut=$folder/" 2>&1
        $Script:exitCode = $LASTEXITCODE
        $Script:output = "$output"
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

    It 'is made' {
        $exitCode | Should -Be 0 -Because $output
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
        'bin/protos/google/protobuf/csharp_rpc_messages.proto'
        'en-US/about_ProtoRpc_Completion.help.txt'
        'en-US/about_ProtoRpc_Context.help.txt'
        'en-US/about_ProtoRpc_Services.help.txt'
        'en-US/ProtoRpc.PowerShell.dll-Help.xml'
    ) {
        Join-Path $folder $_ | Should -Exist
    }

    It 'has no debug symbols and nothing of the tests' {
        Get-ChildItem $folder -Recurse -Include *.pdb, *.deps.json, *Tests* | Should -BeNullOrEmpty
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
            # Runs a script as a user without rights, whose environment is the given one.
            function Invoke-AsNobody([string] $Script, [string[]] $Environment) {
                $file = Join-Path $TestDrive "$(New-TestName).ps1"
                Set-Content -LiteralPath $file -Value $Script
                chmod a+r $file
                $output = setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all env -i PATH=$env:PATH NO_COLOR=1 @Environment (
                    [Environment]::ProcessPath) -NoProfile -NonInteractive -File $file 2>&1
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
