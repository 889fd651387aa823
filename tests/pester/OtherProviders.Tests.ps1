. (Join-Path $PSScriptRoot common.ps1)

# .NET takes such a path as relative to the folder that the process was started in.
Describe 'A path that is not on the file system' {
    BeforeAll {
        $schema = Import-RpcSchema (Join-Path $TestProtos greeter.proto)
        $registered = $env:PROTORPC_ENDPOINTS
        $started = [Environment]::CurrentDirectory
        $handler = { @{ text = 'hi' } }
    }

    BeforeEach {
        $env:PROTORPC_ENDPOINTS = Join-Path $TestDrive "$(New-TestName).json"
        $folder = New-Item -ItemType Directory (Join-Path $TestDrive (New-TestName))
        [Environment]::CurrentDirectory = $folder.FullName
    }

    AfterEach {
        [Environment]::CurrentDirectory = $started
        $env:PROTORPC_ENDPOINTS = $registered
        Clear-Test
    }

    It 'is refused by <What>, and nothing is written' -ForEach @(
        @{ What = 'Export-RpcService'; Run = { Export-RpcService Shop $schema -ErrorAction Stop } }
        @{ What = 'Export-RpcSchema'; Run = { Export-RpcSchema s.pb $schema -ErrorAction Stop } }
        @{ What = 'Export-RpcSchema below a folder'; Run = { Export-RpcSchema a/s.pb $schema -ErrorAction Stop } }
        @{ What = 'Export-RpcSchema -Format Proto'; Run = { Export-RpcSchema s $schema -Format Proto -ErrorAction Stop } }
        @{ What = '-AccessLog'; Run = { Start-TestListener $handler -With @{ AccessLog = 'a.log' } } }
        @{ What = '-Record'; Run = { Start-TestListener $handler -With @{ Record = 'a.jsonl' } } }
        @{ What = 'Module of -ListenerOption'; Run = { Start-TestListener $handler -With @{ ListenerOption = @{ Module = './a.psm1' } } } }
        @{ What = 'the schema of Register-RpcEndpoint'; Run = {
                Register-RpcEndpoint shop grpc://h:1 s.proto -ErrorAction Stop
            } }
        @{ What = '-CACertificate of Register-RpcEndpoint'; Run = {
                Register-RpcEndpoint shop grpcs://h:1 -ConnectionOption @{ CACertificate = 'ca.pem' } -ErrorAction Stop
            } }
        @{ What = '-ClientCertificate of Register-RpcEndpoint'; Run = {
                Register-RpcEndpoint shop grpcs://h:1 -ConnectionOption @{ ClientCertificate = 'my.pfx' } -ErrorAction Stop
            } }
    ) {
        Push-Location Env:
        try {
            $Run | Should -Throw -ErrorId 'FileNotFound,*' `
                -ExpectedMessage '*not on the file system*provider Environment*Set-Location*'
        }
        finally { Pop-Location }

        [IO.Directory]::GetFileSystemEntries($folder) | Should -BeNullOrEmpty
        $env:PROTORPC_ENDPOINTS | Should -Not -Exist
        Get-RpcListener | Should -BeNullOrEmpty
    }

    It 'is not read from the folder that the process was started in' {
        [IO.File]::Copy((Join-Path $TestProtos greeter.proto), "$folder/greeter.proto")
        [IO.File]::WriteAllText("$folder/ca.pem", 'not a certificate')
        Push-Location Env:
        try {
            { Import-RpcSchema greeter.proto -ErrorAction Stop } | Should -Throw -ErrorId 'FileNotFound,*'
            { Connect-RpcEndpoint grpcs://127.0.0.1:1 -Schema $schema -CACertificate ca.pem -ErrorAction Stop } |
                Should -Throw -ErrorId 'CertificateNotFound,*' -ExpectedMessage '*provider Environment*'
        }
        finally { Pop-Location }
    }

    It 'is no matter with a full path of the file system' {
        Push-Location Env:
        try {
            Export-RpcSchema "$folder/s.pb" $schema
            Export-RpcService "$folder/Shop" $schema
            $null = Start-TestListener $handler -With @{ AccessLog = "$folder/a.log" }
        }
        finally { Pop-Location }

        "$folder/s.pb", "$folder/Shop/Shop.psd1", "$folder/a.log" | Should -Exist
    }
}
