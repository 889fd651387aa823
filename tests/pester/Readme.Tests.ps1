. (Join-Path $PSScriptRoot common.ps1)

BeforeDiscovery {
    $page = Get-Content -LiteralPath (Join-Path (Split-Path (Split-Path $PSScriptRoot)) README.md) -Raw
    $code = [regex]::Matches($page, '(?ms)^```powershell\r?\n(.*?)^```').ForEach{ $_.Groups[1].Value }

    # What the blocks write, in their order.
    $written = 'rpc GetUser[\s\S]*7', '^\s*$', 'https://example\.com/tea', 'https://example\.com'
    $blocks = foreach ($i in 0..([Math]::Max($code.Count, $written.Count) - 1)) {
        @{ Number = $i + 1; Code = $code[$i]; Written = $written[$i] }
    }
}

Describe 'README.md' {
    BeforeAll {
        # The servers that the blocks call.
        $users = Join-Path $TestDrive users.proto
        Set-Content -LiteralPath $users @'
syntax = "proto3";
message User { int32 id = 1; }
service Users { rpc GetUser (User) returns (User); }
'@
        $api = Start-RpcListener -Schema $users -Endpoint grpc://127.0.0.1:0 -Handler @{
            GetUser = { param($Request) $Request }
        }
        $sample = Start-RpcListener -Schema (Join-Path $RepositoryRoot protos sample.proto) -Handler @{ Send = @{} } `
            -Endpoint 'ncacn_ip_tcp:127.0.0.1[0]'
        $token = ConvertTo-SecureString t -AsPlainText
        Push-Location $RepositoryRoot
    }

    AfterAll {
        Pop-Location
        Clear-Test
    }

    It 'has block <Number>, which runs' -ForEach $blocks {
        # Servers of the test, and endpoints that nobody else has.
        $here = "$Code".Replace('grpcs://api.example.com:443', "$($api.Endpoint[0])").
            Replace('ncacn_ip_tcp:server[8080]', "$($sample.Endpoint[0])").
            Replace('MyService]', "$(New-TestName)]").
            Replace('\pipe\MyService', "\pipe\$(New-TestName)") -replace
            'http://127\.0\.0\.1:8081/(\w\S+)', '"$($listener.Endpoint[0])$1"' -replace
            '127\.0\.0\.1:(50051|8081)', '127.0.0.1:0'

        $output = & ([scriptblock]::Create($here)) | Out-String

        $output | Should -Match $Written
    }
}
