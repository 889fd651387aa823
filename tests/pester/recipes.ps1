# Dot-sourced by Recipes.Tests.ps1: what each page of docs/recipes needs to run, and how it is run.

$Global:RecipeJob = $null
$Global:RecipePeers = [Collections.Generic.List[Diagnostics.Process]]::new()

# The blocks of PowerShell of a page, with the output that the page shows. Blocks that begin with a file name are
# written as this file, for the other blocks.
function Global:Read-Recipe([string] $Page, [hashtable] $Names) {
    $text = (Get-Content -LiteralPath (Join-Path $RepositoryRoot docs recipes "$Page.md") -Raw) -replace '\r\n', "`n"
    $pattern = '(?ms)^```(?<language>\w+)\n(?<code>.*?)^```\n(?:\n```text\n(?<shown>.*?)^```)?'
    foreach ($match in [regex]::Matches($text, $pattern)) {
        $code = $match.Groups['code'].Value
        foreach ($name in $Names.Keys) {
            $code = $code.Replace($name, $Names[$name])
        }
        $code = $code -replace '\./(protos|examples)/', "$RepositoryRoot/`$1/" -replace
            'Import-Module ProtoRpc', "Import-Module '$ModuleManifest'"
        if ($code -match '^(#|//) (?<file>[\w.-]+\.\w+)\n') {
            Set-Content -LiteralPath "./$($Matches.file)" $code
        }
        elseif ($match.Groups['language'].Value -eq 'powershell') {
            [pscustomobject]@{ Code = $code; Shown = $match.Groups['shown'].Value }
        }
    }
}

# Runs blocks one after the other with shared variables; returns what each writes, with the names of the page.
function Global:Invoke-Recipe {
    foreach ($RecipeBlock in $args[0]) {
        $RecipeText = . ([scriptblock]::Create($RecipeBlock.Code)) 2>&1 3>&1 | Out-String -Width 110
        foreach ($RecipeName in $args[1].Keys) {
            $RecipeText = $RecipeText.Replace("$($args[1][$RecipeName])", $RecipeName)
        }
        $RecipeText
    }
}

# Nothing where the output is as shown, otherwise the output. Ports, times and numbers with decimals differ from
# run to run. '...' in the first line stands for any output before the rest.
function Global:Compare-Recipe([string] $Shown, [string] $Written) {
    $expected, $actual = $Shown, $Written | ForEach-Object {
        ($_ -replace '\r\n', "`n" -replace '127\.0\.0\.1([:\[])\d+', '127.0.0.1$1PORT' -replace
            '\b\d+(\.\d+)? ms\b', 'TIME' -replace '-{2,}', '-' -replace '[ ]+', ' ' -replace '\s*\n\s*', "`n").Trim()
    }
    $isSame = $expected -match '^\.\.\.\n' ? $actual.EndsWith("`n$($expected.Substring(4))") : $actual -ceq $expected
    $isSame ? '' : "shown:`n$expected`nwritten:`n$actual"
}

# Starts a program that a page calls; it is stopped after the page.
function Global:Start-RecipePeer([string] $Program, [string[]] $Arguments, [hashtable] $Environment = @{}) {
    $start = [Diagnostics.ProcessStartInfo]::new('sh')
    # Its output goes to a file: a pipe that nobody reads would block it.
    '-c', 'exec "$0" "$@" >log 2>&1', $Program + $Arguments | ForEach-Object { $start.ArgumentList.Add($_) }
    foreach ($name in $Environment.Keys) {
        $start.Environment[$name] = $Environment[$name]
    }
    $start.WorkingDirectory = (Get-Location).Path
    $process = [Diagnostics.Process]::Start($start)
    $RecipePeers.Add($process)
    $process
}

function Global:Stop-RecipePeer {
    foreach ($process in $RecipePeers) {
        if (-not $process.HasExited) {
            $process.Kill($true)
            $null = $process.WaitForExit(20000)
        }
        $process.Dispose()
    }
    $RecipePeers.Clear()
    if ($RecipeJob) {
        $RecipeJob | Stop-Job -PassThru | Remove-Job -Force
        $Global:RecipeJob = $null
    }
}

# The folder of .proto files of a package, installed or unpacked by .ci/run.
function Global:Find-RecipeProtos([string] $Package, [string] $Folder) {
    '/', (Join-Path $RepositoryRoot artifacts $Package) | ForEach-Object { Join-Path $_ $Folder } |
        Where-Object { Test-Path -LiteralPath $_ } | Select-Object -First 1
}

$Global:EtcdProtos = 'usr/share/gocode/src/go.etcd.io/etcd/etcdserver/etcdserverpb'
$Global:ContainerdProtos = 'usr/share/gocode/src/github.com/containerd/containerd/api'

function Global:Get-EtcdProblem {
    (Get-Command etcd -CommandType Application -ErrorAction Ignore) -and (Find-RecipeProtos etcd $EtcdProtos) ? '' :
        'etcd is not installed: apt-get install etcd-server golang-etcd-server-dev'
}

function Global:Get-ContainerdProblem {
    (Find-RecipeProtos containerd $ContainerdProtos) -and [Environment]::IsPrivilegedProcess -and $IsLinux ? '' :
        'containerd is not unpacked: .ci/run does it, as root, which containerd needs'
}

function Global:Get-ToolProblem {
    (Find-RecipeTool) ? '' : 'the tool is not built: dotnet build lib/ProtoRpc.Tool'
}

# Not a build for another system: the folders of those end with its name, as release_win-x64.
function Global:Find-RecipeTool {
    'debug', 'release' |
        ForEach-Object { Join-Path $RepositoryRoot artifacts bin ProtoRpc.Tool $_ ProtoRpc.Tool.dll } |
        Get-Item -ErrorAction Ignore | Sort-Object LastWriteTime | Select-Object -Last 1 -ExpandProperty FullName
}

function Global:Get-OpenSslProblem {
    $isThere = (Get-Command openssl, sh -CommandType Application -ErrorAction Ignore).Count -ge 2
    $isThere -and "$(openssl version)" -match '^OpenSSL [3-9]' ? '' :
        'openssl 3 is not installed: apt-get install openssl'
}

# A port that is free at this moment, for a server that cannot choose one itself.
function Global:Get-FreePort {
    $socket = [Net.Sockets.TcpListener]::new([ipaddress]::Loopback, 0)
    $socket.Start()
    $socket.LocalEndpoint.Port
    $socket.Stop()
}

# Starts etcd on a free port, and returns the names of the pages with what stands for them.
function Global:Start-Etcd {
    # Another program can get the port in between.
    foreach ($attempt in 1..3) {
        $port = Get-FreePort
        $peers = 'unix://localhost:2'
        $url = "http://127.0.0.1:$port"
        $etcd = Start-RecipePeer etcd @(
            '--data-dir', "data$attempt", '--listen-client-urls', $url, '--advertise-client-urls', $url
            '--listen-peer-urls', $peers, '--initial-advertise-peer-urls', $peers, '--initial-cluster', "default=$peers")
        $isReady = {
            $etcd.HasExited -or $(try { (Invoke-RestMethod "$url/health" -TimeoutSec 5).health -eq 'true' } catch { $false })
        }
        if ((Wait-Until $isReady 60) -and -not $etcd.HasExited) {
            return @{
                '/usr/share/gocode/src/go.etcd.io/etcd/etcdserver/etcdserverpb' = Find-RecipeProtos etcd $EtcdProtos
                '127.0.0.1:2379' = "127.0.0.1:$port"
            }
        }
    }
    throw "etcd did not start: $(Get-Content ./log -Raw)"
}

# Starts containerd with an image, and changes the image until the page ends.
function Global:Start-Containerd {
    $folder = (Get-Location).Path
    $socket = Join-Path $folder containerd.sock
    $protos = Find-RecipeProtos containerd $ContainerdProtos
    Set-Content ./config.toml @"
version = 2
root = "$folder/root"
state = "$folder/state"
disabled_plugins = ["io.containerd.grpc.v1.cri", "io.containerd.internal.v1.opt"]
[grpc]
address = "$socket"
[ttrpc]
address = "$folder/ttrpc.sock"
"@
    $program = Join-Path $protos.Substring(0, $protos.IndexOf('/usr/share/')) usr bin containerd
    $containerd = Start-RecipePeer $program '--config', "$folder/config.toml"
    if (-not (Wait-Until { $containerd.HasExited -or (Test-Path $socket) } 60) -or $containerd.HasExited) {
        throw "containerd did not start: $(Get-Content ./log -Raw)"
    }
    $images = Import-RpcSchema "$protos/services/images/v1/images.proto" -WarningAction Ignore
    $at = @{ Endpoint = "grpc+unix://$socket"; Schema = $images; Header = @{ 'containerd-namespace' = 'default' } }
    $image = @{
        name = 'docker.io/library/tea:latest'
        target = @{
            media_type = 'application/vnd.oci.image.manifest.v1+json'; digest = "sha256:$('a' * 64)"; size = 528
        }
    }
    $null = Invoke-RpcMethod Create @{ image = $image } @at -ErrorAction Stop
    # Nothing tells when the subscription of the page begins, so the image is updated until the page has its event.
    $Global:RecipeJob = Start-ThreadJob {
        Import-Module $using:ModuleManifest
        $at, $image = $using:at, $using:image
        $watch = [Diagnostics.Stopwatch]::StartNew()
        while ($watch.Elapsed.TotalSeconds -lt 120) {
            $image.labels = @{ update = "$($watch.Elapsed)" }
            $null = Invoke-RpcMethod Update @{ image = $image } @at
        }
    }
    @{
        '/usr/share/gocode/src/github.com/containerd/containerd/api' = $protos
        '/run/containerd/containerd.sock' = $socket
    }
}

# Makes ca.pem, server.pem and me.pem as docs/certificates.md shows it.
function Global:New-RecipeCertificate {
    $page = (Get-Content -LiteralPath (Join-Path $RepositoryRoot docs certificates.md) -Raw) -replace '\r\n', "`n"
    $commands = [regex]::Match($page, '(?s)## Client certificates.*?```console\n(.*?)```').Groups[1].Value
    $said = sh -e -c ($commands -replace '(?m)^\$ ') 2>&1
    if ($LASTEXITCODE) {
        throw "openssl failed: $said"
    }
}

# The programs that pages call: this shell, and the tool of this build.
function Global:Add-RecipeProgram {
    function Global:pwsh { & ([Environment]::ProcessPath) -NonInteractive @args }
    function Global:protorpc { dotnet (Find-RecipeTool) @args }
}

# The port of an endpoint that nobody listens on.
function Global:Get-ClosedEndpoint {
    $listener = Start-RpcListener grpc://127.0.0.1:0 { } -Schema (Join-Path $RepositoryRoot protos search.proto)
    "$($listener.Endpoint[0])"
    $listener | Stop-RpcListener -DrainTimeout 0
}

function Global:Start-RecipeSearch([scriptblock] $Handler, [string] $Endpoint = 'grpc://127.0.0.1:0') {
    Start-RpcListener $Endpoint -Schema (Join-Path $RepositoryRoot protos search.proto) -Handler @{ Search = $Handler }
}

function Global:Start-RecipeShop([hashtable] $With = @{}, [string] $Endpoint = 'grpc://127.0.0.1:0', $Order) {
    $Order ??= @{ number = 'r1' }
    Start-RpcListener $Endpoint -Schema (Join-Path $RepositoryRoot examples testing shop.proto) @With -Handler @{
        ListProducts = { @{ id = 'p1'; name = 'Lamp'; stock = 2 } }
        OrderMore = $Order
    }
}

# What each page needs: why it cannot run here, the servers that it calls with the names it has for them, and what
# is checked at its end.
$Global:RecipeSetUps = @{
    'etcd' = @{ Needs = { Get-EtcdProblem }; Start = { Start-Etcd } }

    'grpc-gateway' = @{ Needs = { Get-EtcdProblem }; Start = { Start-Etcd } }

    'containerd' = @{
        Needs = { Get-ContainerdProblem }
        Start = { Start-Containerd }
    }

    'google-rest' = @{
        Needs = { Get-OpenSslProblem }
        Start = {
            New-RecipeCertificate
            $text = Get-Content -LiteralPath (Join-Path $RepositoryRoot docs recipes google-rest.md) -Raw
            Set-Content ./server.proto ([regex]::Match($text, '(?s)```proto\s(.*?)```').Groups[1].Value)
            $books = [Collections.Concurrent.ConcurrentQueue[object]]::new()
            foreach ($title in 'Ulysses', 'Walden', 'Dune') {
                $books.Enqueue(@{ name = "shelves/7/books/$($books.Count + 1)"; title = $title })
            }
            $env:LIBRARY_TOKEN = 'secret-of-the-library'
            $library = Start-RpcListener https://127.0.0.1:0/ -Schema ./server.proto -Certificate ./server.pem `
                -BearerCheck { param($Token) $Token -eq 'secret-of-the-library' } -Handler @{
                    CreateBook = {
                        param($Request)
                        $all = $using:books
                        $book = @{ name = "$($Request.parent)/books/$($all.Count + 1)"; title = $Request.book.title }
                        $all.Enqueue($book)
                        $book
                    }
                    ListBooks = {
                        param($Request)
                        $all = ($using:books).ToArray()
                        $end = [int]"0$($Request.page_token)" + $Request.page_size
                        @{
                            books = $all[($end - $Request.page_size)..($end - 1)]
                            next_page_token = $end -lt $all.Count ? "$end" : ''
                        }
                    }
                }
            @{
                'rests://library.example.com' = ($library.Endpoint[0].Uri -replace '^http', 'rest').TrimEnd('/')
                '-Token $token' = '-Token $token -CACertificate ./ca.pem'
            }
        }
        Check = { $env:LIBRARY_TOKEN = $null }
    }

    'old-service' = @{
        Needs = { Get-OpenSslProblem }
        Start = {
            New-RecipeCertificate
            # The schema of the old service has no rules.
            $old = Start-RecipeSearch { @{ result = @{ url = "https://example.com/$($Request.query)" } } } `
                'ncacn_ip_tcp:127.0.0.1[0]'
            @{
                'ncacn_ip_tcp:old.example.com[8080]' = "$($old.Endpoint[0])"
                'localhost:8443/ -Handler' = '127.0.0.1:0/ -Handler'
                'https://localhost:8443/v1/search/tea' = '"$($gateway.Endpoint[0])v1/search/tea"'
            }
        }
    }

    'service' = @{
        Needs = { $IsWindows ? 'Windows has no systemd' : (Get-OpenSslProblem) }
        Start = {
            New-RecipeCertificate
            Copy-Item (Join-Path $RepositoryRoot protos search.proto) .
            $hash = [Security.Cryptography.SHA256]::HashData([Text.Encoding]::UTF8.GetBytes('t0ken-of-ann'))
            @{ [Convert]::ToHexString($hash) = 'ann' } | ConvertTo-Json | Set-Content ./tokens.json
            @{}
        }
        Check = {
            Test-RecipeService
            Test-RecipeUnit
        }
    }

    'pester' = @{
        Start = {
            $pester = (Get-Module Pester).Path
            @{ 'Invoke-Pester ./' = @"
& ([Environment]::ProcessPath) -NoProfile -NonInteractive -Command '
    Import-Module "$pester", "$ModuleManifest"; `$PSStyle.OutputRendering = "PlainText"
    Invoke-Pester ./Restock.Tests.ps1' #
"@ }
        }
    }

    'record-replay' = @{
        Start = { @{ 'grpc://shop.example.com:50051' = "$((Start-RecipeShop).Endpoint[0])" } }
    }

    'load-test' = @{
        Needs = { Get-ToolProblem }
        Start = {
            Add-RecipeProgram
            $search = Start-RecipeSearch {
                if ($Request.query -eq 'none') { throw [ProtoRpc.RpcException]::new('NotFound', 'There is no none.') }
                @{ result = @{ url = 'https://example.com' } }
            }
            # The limit of the page is not that of a busy machine.
            @{ 'grpc://search.example.com:50051' = "$($search.Endpoint[0])"; 'MaxP99 = 250' = 'MaxP99 = 60000' }
        }
    }

    'fleet' = @{
        Start = {
            $names = @{ 'grpc://web-4:50051' = Get-ClosedEndpoint }
            foreach ($number in 1..3) {
                $title = 'version {0}' -f ($number -eq 3 ? 2 : 1)
                $web = Start-RecipeSearch { @{ result = @{ url = 'https://example.com'; title = $using:title } } }
                $names["grpc://web-${number}:50051"] = "$($web.Endpoint[0])"
            }
            $names
        }
    }

    'health' = @{
        Needs = { Get-ToolProblem }
        Start = {
            Add-RecipeProgram
            $search = Start-RecipeSearch { @{} }
            @{
                'grpc://search.example.com:50051' = "$($search.Endpoint[0])"
                'grpc://stopped.example.com:50051' = Get-ClosedEndpoint
            }
        }
    }

    'secrets' = @{
        Needs = { Get-OpenSslProblem }
        Start = {
            New-RecipeCertificate
            # Stands in for the module, which the feeds of the tests do not have.
            $name = 'Microsoft.PowerShell.SecretManagement'
            $null = New-Item -ItemType Directory "./modules/$name"
            Set-Content "./modules/$name/$name.psm1" @'
function Set-Secret {
    [CmdletBinding()] param([string] $Name, [string] $Vault, [object] $Secret)
    $Global:RecipeSecrets = @{ "$Vault/$Name" = $Secret }
}

function Get-Secret {
    [CmdletBinding()] param([string] $Name, [string] $Vault)
    $Global:RecipeSecrets["$Vault/$Name"]
}
'@
            $env:PSModulePath = "$(Convert-Path ./modules)$([IO.Path]::PathSeparator)$env:PSModulePath"
            $env:PROTORPC_ENDPOINTS = Join-Path (Get-Location).Path config endpoints.json
            $shop = Start-RecipeShop @{ Certificate = './server.pem'; BearerCheck = { param($Token) $Token -eq 'p455-t0ken' } } `
                grpcs://127.0.0.1:0
            @{
                'grpcs://shop.example.com:50051' = "$($shop.Endpoint[0])"
                '(Read-Host -AsSecureString -Prompt Token)' = '(ConvertTo-SecureString p455-t0ken -AsPlainText)'
                "Token = 'secret:work/shop'" = "Token = 'secret:work/shop'; CACertificate = './ca.pem'"
            }
        }
        Check = {
            Get-Content $env:PROTORPC_ENDPOINTS -Raw | Should -Not -Match 'p455-t0ken'
            Remove-Module Microsoft.PowerShell.SecretManagement
            Remove-Variable RecipeSecrets -Scope Global
        }
    }

    'mutual-tls' = @{ Needs = { Get-OpenSslProblem }; Start = { New-RecipeCertificate; @{} } }

    'failed-calls' = @{
        Start = {
            $crashing = Start-RecipeShop -Order {
                throw [ProtoRpc.RpcException]::new('Internal', 'The printer of receipts is broken.')
            }
            @{
                'grpc://shop.example.com:50051' = "$((Start-RecipeShop).Endpoint[0])"
                'grpc://crashing.example.com:50051' = "$($crashing.Endpoint[0])"
                'grpc://stopped.example.com:50051' = Get-ClosedEndpoint
            }
        }
    }

    'upload' = @{
        Start = {
            $bytes = [byte[]]::new(1000000)
            [Random]::new(7).NextBytes($bytes)
            [IO.File]::WriteAllBytes((Join-Path (Get-Location).Path report.pdf), $bytes)
            @{}
        }
    }

    'message' = @{ Start = { @{ 'inproc://parcels' = "inproc://$(New-TestName)" } } }
}

# systemd accepts the unit of the page, where systemd is installed.
function Global:Test-RecipeUnit {
    $text = Get-Content -LiteralPath (Join-Path $RepositoryRoot docs recipes service.md) -Raw
    $unit = [regex]::Match($text, '(?s)```ini\s(.*?)```').Groups[1].Value
    $unit | Should -BeLike '*Type=notify*'
    if (Get-Command systemd-analyze -ErrorAction Ignore) {
        # The pwsh of the unit is that of a package.
        Set-Content ./counter.service $unit.Replace('/usr/bin/pwsh', '/bin/sh')
        systemd-analyze verify --man=no ./counter.service 2>&1 | Where-Object { "$_" -match 'counter' } |
            Should -BeNullOrEmpty
    }
}

# Runs counter.ps1 twice as systemd does, without systemd: ready, calls with and without the token, SIGTERM.
function Global:Test-RecipeService {
    $path = Join-Path ([IO.Path]::GetTempPath()) (New-TestName)
    $manager = [Net.Sockets.Socket]::new('Unix', 'Dgram', 'Unspecified')
    $manager.ReceiveTimeout = 60000
    $manager.Bind([Net.Sockets.UnixDomainSocketEndPoint]::new($path))
    $buffer = [byte[]]::new(1000)
    $folder = (Get-Location).Path
    $tokens = 't0ken-of-ann', 'another' | ForEach-Object { ConvertTo-SecureString $_ -AsPlainText }
    try {
        foreach ($run in 1, 2) {
            $service = Start-RecipePeer ([Environment]::ProcessPath) @(
                '-NoProfile', '-NonInteractive', '-File', './counter.ps1', 'grpcs://127.0.0.1:0') @{
                NOTIFY_SOCKET = $path; STATE_DIRECTORY = $folder; CREDENTIALS_DIRECTORY = $folder; WATCHDOG_USEC = ''
            }
            $state = [Text.Encoding]::UTF8.GetString($buffer, 0, $manager.Receive($buffer))
            $state | Should -BeLike "READY=1*grpcs://*" -Because (Get-Content ./log -Raw)
            $to = @{
                Endpoint = [regex]::Match($state, 'grpcs://\S+?:\d+').Value; CACertificate = './ca.pem'
                Schema = './search.proto'
            }

            foreach ($query in 'tea', 'tea', 'cups') {
                $title = (Invoke-RpcMethod Search @{ query = $query } @to -Token $tokens[0]).result.title
            }
            $null = Invoke-RpcMethod Search @{ query = 'tea' } @to -Token $tokens[1] `
                -ErrorAction SilentlyContinue -ErrorVariable failed
            Disconnect-RpcEndpoint -Pooled

            $title | Should -Be "$run for ann"
            $failed[0].Exception.Code | Should -Be Unauthenticated
            sh -c "kill -TERM $($service.Id)"
            [Text.Encoding]::UTF8.GetString($buffer, 0, $manager.Receive($buffer)) | Should -Be 'STOPPING=1'
            $service.WaitForExit(30000) | Should -BeTrue
            $service.ExitCode | Should -Be 0 -Because (Get-Content ./log -Raw)
        }
        (Get-Content ./counts.json -Raw | ConvertFrom-Json).tea | Should -Be 4
    }
    finally {
        $manager.Dispose()
        Remove-Item -LiteralPath $path -ErrorAction Ignore
    }
}
