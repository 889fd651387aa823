. (Join-Path $PSScriptRoot common.ps1)

Describe 'The package of the core library' {
    BeforeAll {
        $output = dotnet pack (Join-Path $RepositoryRoot lib ProtoRpc) -c Debug --no-build --nologo -o $TestDrive 2>&1
        $archive = [IO.Compression.ZipFile]::OpenRead((Get-Item (Join-Path $TestDrive ProtoRpc.*.nupkg)).FullName)
        $entries = $archive.Entries.FullName
    }

    AfterAll { ${archive}?.Dispose() }

    It 'is made' {
        $LASTEXITCODE | Should -Be 0 -Because "$output"
    }

    It 'brings <_>' -ForEach @(
        'lib/net10.0/ProtoRpc.dll'
        'buildTransitive/ProtoRpc.targets'
        'files/protoc/linux-x64/protoc'
        'files/protoc/linux-arm64/protoc'
        'files/protoc/osx/protoc'
        'files/protoc/win-x64/protoc.exe'
        'files/protoc/include/google/protobuf/timestamp.proto'
        'files/protos/rpc_messages.proto'
        'files/protos/google/protobuf/csharp_options.proto'
    ) {
        $entries | Should -Contain $_
    }

    It 'puts its files into the folders where the library looks for them' {
        $targets = [xml] (Get-Content (Join-Path $RepositoryRoot lib ProtoRpc package ProtoRpc.targets) -Raw)

        $item = $targets.Project.ItemGroup.None
        $item.Link | Should -Be '%(RecursiveDir)%(Filename)%(Extension)'
        $item.CopyToOutputDirectory | Should -Be 'PreserveNewest'
        $targets.Project.ItemGroup.ProtoRpcFile.Include -split ';' |
            ForEach-Object { $_ -replace '\*\*.*' } | Select-Object -Unique |
            Should -Be '$(MSBuildThisFileDirectory)../files/'
    }
}
