. (Join-Path $PSScriptRoot common.ps1)

Describe 'Completion' {
    BeforeAll {
        $endpointsBefore = $env:PROTORPC_ENDPOINTS
        $env:PROTORPC_ENDPOINTS = Join-Path $TestDrive names endpoints.json
        Register-RpcEndpoint shop grpc://127.0.0.1:1 -Tag "`e]0;title`a`u{9b}2J`u{202e}", '$(New-Item pwned)'

        $key = [Security.Cryptography.ECDsa]::Create(
            [Security.Cryptography.ECCurve]::CreateFromFriendlyName('nistP256'))
        $signed = [Security.Cryptography.X509Certificates.CertificateRequest]::new(
            "CN=`"`e]0;title`a'; New-Item pwned; `$(New-Item pwned)`"", $key, 'SHA256').CreateSelfSigned(
            [datetimeoffset]::Now.AddDays(-1), [datetimeoffset]::Now.AddDays(1))
        $certificate = [Security.Cryptography.X509Certificates.X509CertificateLoader]::LoadPkcs12(
            $signed.Export('Pkcs12'), $null, 'Exportable, PersistKeySet')
        $store = [Security.Cryptography.X509Certificates.X509Store]::new('My', 'CurrentUser', 'ReadWrite')
        $store.Add($certificate)

        # Everything that PowerShell gives a meaning to, and that a descriptor can carry as the default of a field.
        $texts = @(
            "x$([char] 0x2019); zz = (New-Item pwned); yy = $([char] 0x2018)y"
            "a$([char] 0x2018)b$([char] 0x201A)c$([char] 0x201B)d'e'';New-Item pwned;'"
            "`"; New-Item pwned; `"`$(New-Item pwned)``"
            "`$(New-Item pwned)"
            "`u{201C}`$(New-Item pwned)`u{201D}`u{201E}"
            "line`nNew-Item pwned`r`n`t`0"
            "`e]0;title`a`u{9b}2J`u{202e}`u{2028}`u{feff}"
            "}; New-Item pwned; @{ a = 1"
            "@'`nx`n'@"
            '-Force'
            ''
        )
        function EscapeForProto([string] $Text) {
            -join ([Text.Encoding]::UTF8.GetBytes($Text).ForEach({ '\x{0:x2}' -f $_ }))
        }
        $lines = for ($i = 0; $i -lt $texts.Count; $i++) {
            "  optional string text$i = $($i + 1) [default = `"$(EscapeForProto $texts[$i])`"];"
            "  optional bytes raw$i = $($i + 101) [default = `"$(EscapeForProto $texts[$i])`"];"
        }
        $folder = Join-Path $TestDrive "it$([char] 0x2019)s"
        $null = New-Item -ItemType Directory $folder
        $proto = Join-Path $folder "hostile.proto"
        Set-Content -LiteralPath $proto @"
syntax = "proto2";
package hostile;
// A comment $([char] 0x1b)]0;title$([char] 7) with $([char] 0x202e) controls
message Request {
$($lines -join "`n")
  optional float finf = 201 [default = inf];
  optional float fninf = 202 [default = -inf];
  optional float fnan = 203 [default = nan];
  optional double dinf = 204 [default = inf];
  optional double dninf = 205 [default = -inf];
  optional double dnan = 206 [default = nan];
  optional double tiny = 207 [default = -4.9e-324];
  optional double huge = 208 [default = 1.7976931348623157e308];
  optional int64 low = 209 [default = -9223372036854775808];
  optional uint64 high = 210 [default = 18446744073709551615];
  optional int32 low32 = 211 [default = -2147483648];
  optional bool flag = 212 [default = true];
  enum Kind { exit = 0; else = 2; }
  optional Kind kind = 213 [default = else];
  optional int32 if = 214;
  optional int32 function = 215;
  optional int32 __proto__ = 216;
  optional Request itself = 217;
  map<string, Kind> kinds = 218;
  map<bool, int32> flags = 219;
  map<int32, string> numbers = 220;
}
message Reply {}
// Serves $([char] 0x1b)[31m red
service Things {
  // Does $([char] 0x9b)2J things
  rpc exit (Request) returns (Reply);
  rpc if (Request) returns (Reply);
}
service Others {
  rpc exit (Request) returns (Reply);
  rpc param (Request) returns (Reply);
}
"@
        $schema = Import-RpcSchema $proto
        $sockets = Join-Path ([IO.Path]::GetTempPath()) "$(New-TestName)$([char] 0x2019); New-Item pwned; $([char] 0x2018)"
        $null = New-Item -ItemType Directory $sockets
        $listener = Start-RpcListener -Schema $schema -Service hostile.Things, hostile.Others -Endpoint "grpc+unix://$sockets/s", "ncalrpc:[$(New-TestName)]" -Handler @{
            'hostile.Things/exit' = { @{} }
            'hostile.Things/if' = { $RpcContext.Session['key'] = 1; @{} }
            'hostile.Others/exit' = { @{} }
            'hostile.Others/param' = { @{} }
        }
        $rpc = Connect-RpcEndpoint $listener.Endpoint[0] -Schema $schema -Service hostile.Things
        $local = Connect-RpcEndpoint $listener.Endpoint[1] -Schema $schema -Service hostile.Things
        $null = Invoke-RpcMethod hostile.Things/if -Connection $local
        $Global:completionSchema = $schema
        $mock = New-RpcMock -Schema $schema
    }

    AfterAll {
        $env:PROTORPC_ENDPOINTS = $endpointsBefore
        $store.Remove($certificate)
        $store.Dispose()
        Clear-Test
        Remove-Item -LiteralPath $sockets -Recurse -ErrorAction Ignore
        Remove-Variable completionSchema -Scope Global -ErrorAction Ignore
    }

    It 'offers nothing but constants for -<Parameter> of <Command>' -ForEach @(
        # What Send-RpcStream offers depends on an open stream: Streams.Tests.ps1.
        foreach ($command in Get-Command -Module ProtoRpc | Where-Object Name -NE Send-RpcStream) {
            foreach ($parameter in $command.Parameters.Values) {
                if ($parameter.Attributes.Where({ $_ -is [System.Management.Automation.ArgumentCompleterAttribute] })) {
                    @{ Command = $command.Name; Parameter = $parameter.Name }
                }
            }
        }
    ) {
        $given = (Get-Command $Command).Parameters
        $line = $Command
        if ($given.ContainsKey('Schema') -and $Parameter -notin 'Schema', 'Connection') { $line += ' -Schema $completionSchema' }
        if ($given.ContainsKey('Method') -and $Parameter -ne 'Method') { $line += ' -Method hostile.Things/exit' }
        if ($Parameter -eq 'Extension') { $line = $line.Replace('$completionSchema', (Join-Path $TestProtos extended.proto)) }
        if ($Command -like 'ConvertTo-*' -and $Parameter -eq 'InputObject') { $line += ' -Type hostile.Request' }

        if ($Parameter -eq 'ServerName') { $line += ' -Endpoint https://shop.example.com:1/' }

        $offered = Complete "$line -$Parameter "

        $offered | Should -Not -BeNullOrEmpty
        foreach ($one in $offered) {
            Find-LiveSyntax $one.CompletionText | Should -BeNullOrEmpty
            $one.ListItemText | Should -Not -Match '[\x00-\x1f\x7f-\x9f\u202e]'
            $one.ToolTip | Should -Not -Match '[\x00-\x1f\x7f-\x9f\u202e]'
        }
    }

    It 'offers a request that is the template, whatever the defaults are' {
        $text = (Complete 'Invoke-RpcMethod -Connection $rpc hostile.Things/exit ').CompletionText

        $text | Should -HaveCount 1
        $request = [scriptblock]::Create($text).Invoke()[0]
        for ($i = 0; $i -lt $texts.Count; $i++) {
            $request."text$i" | Should -BeExactly $texts[$i]
            [Convert]::FromBase64String(($request."raw$i" -replace '^base64:')) | Should -Be ([Text.Encoding]::UTF8.GetBytes($texts[$i]))
        }
        $request.dninf, $request.dnan, $request.fninf | Should -Be '-Infinity', 'NaN', '-Infinity'
        $request.low | Should -Be ([long]::MinValue)
        $request.high | Should -Be ([ulong]::MaxValue)
        $bytes = ConvertTo-RpcMessage $request -Type hostile.Request -Schema $schema
        $again = $bytes | ConvertFrom-RpcMessage -Type hostile.Request -Schema $schema
        $again.text0 | Should -BeExactly $texts[0]
        $again.dninf | Should -Be ([double]::NegativeInfinity)
        $again.low, $again.high | Should -Be ([long]::MinValue), ([ulong]::MaxValue)
        $again.kind | Should -Be 'else'
    }

    It 'offers handlers that a listener takes' {
        $text = (Complete 'Start-RpcListener -Schema $schema -Handler ').CompletionText

        $handlers = [scriptblock]::Create($text).Invoke()[0]
        $handlers.Keys | Sort-Object | Should -Be @(
            'hostile.Others/exit', 'hostile.Others/param', 'hostile.Things/exit', 'hostile.Things/if')
    }

    It 'offers <Expected> for <Line>' -ForEach @(
        @{ Line = 'Connect-RpcEndpoint ht'; Expected = "'http://localhost:8081/'" }
        @{ Line = 'Connect-RpcEndpoint http'; Expected = "'https://HOST:443/'" }
        @{ Line = 'Start-RpcListener -Endpoint http'; Expected = "'http://localhost:8081/'" }
        @{ Line = 'Connect-RpcEndpoint rest'; Expected = "'rest://localhost:8081/'" }
        @{ Line = 'Connect-RpcEndpoint connect'; Expected = "'connects://HOST:443/'" }
        @{ Line = 'Connect-RpcEndpoint grpcw'; Expected = "'grpcweb://localhost:8081/'" }
    ) {
        (Complete $Line).CompletionText | Should -Contain $Expected
    }

    It 'offers ids for <_>' -ForEach 'Get-RpcListener', 'Stop-RpcListener -Id', 'Wait-RpcListener -Id', 'Receive-RpcListener -Id' {
        $offered = Complete "$_ "
        $offered.CompletionText | Should -Contain "$($listener.Id)"
        $offered.Where({ $_.CompletionText -eq "$($listener.Id)" }).ToolTip | Should -BeLike "*listener $($listener.Id)*"
    }

    It 'offers ids for <_>' -ForEach 'Get-RpcConnection', 'Get-RpcConnection -Id', 'Disconnect-RpcEndpoint -Id' {
        (Complete "$_ ").CompletionText | Should -Contain "$($rpc.Id)"
    }

    It 'offers requests and methods of the connection in <_>' -ForEach @(
        '$rpc | Invoke-RpcMethod -Method exit -Message '
        '$rpc | Invoke-RpcMethod exit '
        'Get-RpcConnection | Invoke-RpcMethod -Deadline 3 hostile.Things/exit '
        'Invoke-RpcMethod exit '
    ) {
        (Complete $_).CompletionText | Select-Object -First 1 | Should -BeLike '@{ text0 = *'
    }

    It 'offers methods after a connection in the pipeline' {
        (Complete '$rpc | Invoke-RpcMethod ex').CompletionText | Should -Contain 'hostile.Things/exit'
    }

    It 'offers nothing but constants inside <_>' -ForEach @(
        '@{ ', '@{ i', '@{ kind = ', '@{ kinds = @{ x = ', '@{ itself = ', '@{ flag = '
    ) {
        Enable-RpcCompletion
        try {
            $line = "Invoke-RpcMethod -Connection `$rpc hostile.Things/exit $_"
            $offered = (TabExpansion2 $line $line.Length).CompletionMatches
        } finally {
            Disable-RpcCompletion
        }

        $offered | Should -Not -BeNullOrEmpty
        foreach ($one in $offered) {
            # Keys such as if and function stand before an equals sign.
            Find-LiveSyntax ($one.ResultType -eq 'Property' ? "@{ $($one.CompletionText) = 1 }" : $one.CompletionText) |
                Should -BeNullOrEmpty
            "$($one.ListItemText)$($one.ToolTip)" | Should -Not -Match '[\x00-\x1f\x7f-\x9f\u202e]'
        }
    }
}
