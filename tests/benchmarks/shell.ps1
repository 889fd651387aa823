# Measures the module against its yardsticks: all that one table compares is measured in turns in one run.
# Needs pwsh 7.6 or newer. Builds what it needs in Release, unless a built program is given.
param(
    [double] $WarmUp = 10,
    [double] $Seconds = 5,
    [int] $Rounds = 3,
    [int] $Clients = 5,
    [int] $Callers = 3,

    # The folder or manifest of the module Pode.
    [string] $Pode,

    # The built ProtoRpc.Benchmarks.dll, whose build has built the module as well.
    [string] $Program,

    # Writes the results as JSON.
    [switch] $AsJson,

    [ValidateSet('calls', 'pipeline', 'fanout', 'service', 'handler', 'stream', 'convert', 'import', 'first')]
    [string[]] $Only = ('calls', 'pipeline', 'fanout', 'service', 'handler', 'stream', 'convert', 'import', 'first')
)

$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'
$root = Resolve-Path (Join-Path $PSScriptRoot .. ..)
$manifest = Join-Path $root ProtoRpc.psd1
$pwsh = Join-Path $PSHOME ($IsWindows ? 'pwsh.exe' : 'pwsh')
$results = [Collections.Generic.List[object]]::new()
$peers = [Collections.Generic.List[object]]::new()
$sessions = [Collections.Generic.List[object]]::new()

function Get-Median([double[]] $Values) {
    $sorted = @($Values | Sort-Object)
    $middle = [int][Math]::Floor($sorted.Count / 2)
    if ($sorted.Count % 2) { $sorted[$middle] } else { ($sorted[$middle - 1] + $sorted[$middle]) / 2 }
}

# Starts a program that prints 'ready ADDRESS' and runs until its input is closed.
function Start-Program([string] $Path, [string[]] $Arguments) {
    $start = [Diagnostics.ProcessStartInfo]::new($Path)
    $Arguments.ForEach{ $start.ArgumentList.Add($_) }
    $start.RedirectStandardInput = $start.RedirectStandardOutput = $true
    $process = [Diagnostics.Process]::Start($start)
    $peers.Add($process)
    $reading = $process.StandardOutput.ReadLineAsync()
    $line = if ($reading.Wait(60000)) { $reading.Result }
    if ($line -notmatch '^ready ?(.*)$') { throw "$Path $($Arguments[0]) said '$line' and not 'ready'." }
    [pscustomobject]@{ Process = $process; Address = $Matches[1] }
}

function Start-Worker([string[]] $Arguments) { Start-Program dotnet (@($Program) + $Arguments) }

# Starts a script in a shell of its own, so that its work is no part of what is measured. It writes 'ready' with
# its address, and ends with its input.
function Start-Shell([scriptblock] $Script, [string[]] $Arguments) {
    $quoted = $Arguments.ForEach{ "'$($_.Replace("'", "''"))'" }
    Start-Program $pwsh ('-NoProfile', '-NonInteractive', '-Command', "& { $Script } $quoted")
}

function Stop-Programs {
    $sessions | Remove-PSSession
    $sessions.Clear()
    Get-RpcConnection | Disconnect-RpcEndpoint
    foreach ($process in $peers) {
        $process.StandardInput.Close()
        if (-not $process.WaitForExit(10000)) { $process.Kill($true) }
    }
    $peers.Clear()
}

# A session of the shell's remoting in a process of its own: the channel of Start-Job and of New-PSSession,
# without a network.
function Start-Session {
    $instance = [Management.Automation.Runspaces.PowerShellProcessInstance]::new()
    $runspace = [runspacefactory]::CreateOutOfProcessRunspace($null, $instance)
    $runspace.Open()
    $session = [Management.Automation.Runspaces.PSSession]::Create($runspace, 'Process', $null)
    $sessions.Add($session)
    Invoke-Command -Session $session {
        function Search-Word($query) {
            @{ url = "http://example.com/$query"; title = 'An example'; snippets = 'first words', 'second words' }
        }
    }
    $session
}

# Runs a block until the time is over; operations in a second.
function Measure-Block([double] $Time, $Stack) {
    $watch = [Diagnostics.Stopwatch]::StartNew()
    $count = 0
    do {
        . $Stack.Block
        $count += $Stack.Size
    } while ($watch.Elapsed.TotalSeconds -lt $Time)
    $count / $watch.Elapsed.TotalSeconds
}

# Lets processes of callers call at the same time; calls in a second, summed.
function Measure-Callers([double] $Time, $Stack) {
    foreach ($client in $Stack.Callers) { $client.Process.StandardInput.WriteLine([int]($Time * 1000)) }
    $rates = foreach ($client in $Stack.Callers) {
        $line = $client.Process.StandardOutput.ReadLine()
        if ($line -notmatch '^done (\d+) ([\d.]+) ') { throw "A caller said '$line'." }
        [double]$Matches[1] * 1000 / [double]$Matches[2]
    }
    ($rates | Measure-Object -Sum).Sum
}

function Measure-Stack([double] $Time, $Stack) {
    if ($Stack.Callers) { Measure-Callers $Time $Stack } else { Measure-Block $Time $Stack }
}

# A block of a script that is repeated, with so many operations in it.
function Use-Block([int] $Size, [scriptblock] $Block) { @{ Size = $Size; Block = $Block } }

# Processes of the C# client. Its first words are those of the program's role 'client'.
function Use-Callers([string] $Kind, [string] $Address, [int] $Processes = $Clients, [int] $Threads = $Callers) {
    @{ Callers = @(foreach ($i in 1..$Processes) { Start-Worker client, $Kind, $Address, 0, 0, 0, $Threads }) }
}

# Warms every stack up, then measures rounds of all of them, forth and back.
function Measure-Group([string] $Group, [string] $Unit, [Collections.Specialized.OrderedDictionary] $Stacks) {
    Write-Verbose "Measures: $Group" -Verbose:(-not $AsJson)
    $names = @($Stacks.Keys)
    $rates = @{}
    foreach ($name in $names) {
        $rates[$name] = [Collections.Generic.List[double]]::new()
        $null = Measure-Stack $WarmUp $Stacks[$name]
    }
    foreach ($round in 1..$Rounds) {
        foreach ($name in $names) { $rates[$name].Add((Measure-Stack $Seconds $Stacks[$name])) }
        [array]::Reverse($names)
    }
    foreach ($name in $Stacks.Keys) {
        $results.Add([pscustomobject]@{ Group = $Group; Unit = $Unit; Name = $name; Values = $rates[$name].ToArray() })
    }
}

# Servers of searches, and what their callers send.
$word = 'words'
$search = @{ query = $word; page_number = 1; result_per_page = 10 }

# Made once, outside of the loop, which is to the yardstick's advantage.
$body = '{"query":"words","pageNumber":1,"resultPerPage":10}'

function Connect-Search([string] $Endpoint) {
    $server = Start-Worker server, search, $Endpoint
    Connect-RpcEndpoint $server.Address -Schema (Join-Path $root protos/search.proto)
}

function Measure-Calls {
    $local = Connect-Search "ncalrpc:[ProtoRpcBench$PID]"
    $tcp = Connect-Search 'ncacn_ip_tcp:127.0.0.1[0]'
    $grpc = Connect-Search 'grpc://127.0.0.1:0'
    $http = Connect-Search 'http://127.0.0.1:0/'
    $local | Import-RpcService -Prefix Bench
    $uri = (Start-Worker server, search-api, '').Address
    $session = Start-Session

    $reply = Invoke-RpcMethod Search $search -Connection $local
    $same = Invoke-RestMethod $uri -Method Post -Body $body -ContentType application/json
    if ($reply.result[0].url -ne $same.result[0].url) { throw 'The two servers do not answer the same.' }

    Measure-Group 'One call after the other' 'calls/s' ([ordered]@{
            'Invoke-RpcMethod, local' = Use-Block 100 {
                foreach ($i in 1..100) { $null = Invoke-RpcMethod Search $search -Connection $local }
            }
            'Search-Bench of Import-RpcService, local' = Use-Block 100 {
                foreach ($i in 1..100) { $null = Search-Bench -Query words -PageNumber 1 -ResultPerPage 10 }
            }
            'Invoke-RpcMethod, TCP' = Use-Block 100 {
                foreach ($i in 1..100) { $null = Invoke-RpcMethod Search $search -Connection $tcp }
            }
            'Invoke-RpcMethod, gRPC' = Use-Block 50 {
                foreach ($i in 1..50) { $null = Invoke-RpcMethod Search $search -Connection $grpc }
            }
            'Invoke-RpcMethod, HTTP' = Use-Block 50 {
                foreach ($i in 1..50) { $null = Invoke-RpcMethod Search $search -Connection $http }
            }
            'Invoke-RestMethod, minimal API' = Use-Block 10 {
                foreach ($i in 1..10) {
                    $null = Invoke-RestMethod $uri -Method Post -Body $body -ContentType application/json
                }
            }
            'Invoke-Command in an open PSSession' = Use-Block 5 {
                foreach ($i in 1..5) { $null = Invoke-Command -Session $session { Search-Word $using:word } }
            }
            'Start-ThreadJob' = Use-Block 1 {
                $null = Start-ThreadJob { @{ url = "http://example.com/$($using:word)" } } |
                    Receive-Job -Wait -AutoRemoveJob
            }
            'Start-Job' = Use-Block 1 {
                $null = Start-Job { @{ url = "http://example.com/$($using:word)" } } |
                    Receive-Job -Wait -AutoRemoveJob
            }
        })
}

# What the cmdlet costs over the client of the core.
function Measure-Empty {
    $schema = Import-RpcSchema (Join-Path $root protos/benchmark.proto)
    $local = (Start-Worker server, rpc, "ncalrpc:[ProtoRpcBenchEmpty$PID]", 0).Address
    $grpc = (Start-Worker server, rpc, 'grpc://127.0.0.1:0', 0).Address
    $ofLocal = Connect-RpcEndpoint $local -Schema $schema
    $ofGrpc = Connect-RpcEndpoint $grpc -Schema $schema
    $empty = @{}
    Measure-Group 'An empty call, one caller' 'calls/s' ([ordered]@{
            'Invoke-RpcMethod, local' = Use-Block 100 {
                foreach ($i in 1..100) { $null = Invoke-RpcMethod Test $empty -Connection $ofLocal }
            }
            'the C# client, local' = Use-Callers rpc $local 1 1
            'Invoke-RpcMethod, gRPC' = Use-Block 50 {
                foreach ($i in 1..50) { $null = Invoke-RpcMethod Test $empty -Connection $ofGrpc }
            }
            'the C# client, gRPC' = Use-Callers rpc $grpc 1 1
        })
}

function Measure-Pipeline {
    $local = Connect-Search "ncalrpc:[ProtoRpcBenchPipe$PID]"
    $grpc = Connect-Search 'grpc://127.0.0.1:0'
    $local | Import-RpcService -Prefix Bench
    $uri = (Start-Worker server, search-api, '').Address
    $session = Start-Session
    $messages = foreach ($i in 1..500) { [pscustomobject]$search }
    $bodies = @($body) * 50
    Measure-Group 'A call for each object of the pipeline' 'calls/s' ([ordered]@{
            'Invoke-RpcMethod, local' = Use-Block 500 {
                $messages | Invoke-RpcMethod Search -Connection $local | Out-Null
            }
            'Search-Bench of Import-RpcService, local' = Use-Block 500 { $messages | Search-Bench | Out-Null }
            'Invoke-RpcMethod, gRPC' = Use-Block 500 {
                $messages | Invoke-RpcMethod Search -Connection $grpc | Out-Null
            }
            'Invoke-RestMethod, minimal API' = Use-Block 50 {
                $bodies | ForEach-Object {
                    Invoke-RestMethod $uri -Method Post -Body $_ -ContentType application/json
                } | Out-Null
            }
            'Invoke-Command in an open PSSession' = Use-Block 500 {
                $messages | Invoke-Command -Session $session { process { Search-Word $_.query } } | Out-Null
            }
        })
}

function Measure-FanOut {
    $endpoints = 1..4
    $many = @(foreach ($i in $endpoints) { Connect-Search "ncalrpc:[ProtoRpcBenchFan$i-$PID]" })
    $uris = @(foreach ($i in $endpoints) { (Start-Worker server, search-api, '').Address })
    $all = @(foreach ($i in $endpoints) { Start-Session })
    Measure-Group 'One command to four servers at the same time' 'calls/s' ([ordered]@{
            'Invoke-RpcMethod -Connection, local' = Use-Block 40 {
                foreach ($i in 1..10) { $null = Invoke-RpcMethod Search $search -Connection $many }
            }
            'ForEach-Object -Parallel, Invoke-RestMethod' = Use-Block 4 {
                $null = $uris | ForEach-Object -Parallel {
                    Invoke-RestMethod $_ -Method Post -Body $using:body -ContentType application/json
                }
            }
            'Invoke-Command in open PSSessions' = Use-Block 4 {
                $null = Invoke-Command -Session $all { Search-Word $using:word }
            }
        })
}

# Script blocks against code, for callers of several processes.
$listen = {
    param($Manifest, $Schema, $Endpoint, $Workers)
    Import-Module $Manifest
    $handler = @{ Handler = @{ Test = { @{} } }; ListenerOption = @{ WorkerCount = $Workers } }
    $listener = Start-RpcListener $Endpoint -Schema $Schema @handler
    [Console]::Out.WriteLine("ready $($listener.Endpoint)")
    $null = [Console]::In.ReadToEnd()
    Stop-RpcListener $listener
}

$servePode = {
    param($Module, $Port)
    Import-Module $Module
    $null = Start-ThreadJob {
        # Until the server, which does not return, accepts connections.
        $client = [Net.Sockets.TcpClient]::new()
        while (-not $client.Connected) {
            try { $client.Connect('127.0.0.1', $using:Port) } catch { Start-Sleep -Milliseconds 100 }
        }
        $client.Dispose()
        [Console]::Out.WriteLine("ready http://127.0.0.1:$($using:Port)/test")
        $null = [Console]::In.ReadToEnd()
        [Environment]::Exit(0)
    }
    Start-PodeServer -Threads 4 -Quiet -DisableTermination {
        Add-PodeEndpoint -Address 127.0.0.1 -Port $Port -Protocol Http
        Add-PodeRoute -Method Post -Path /test -ScriptBlock { Write-PodeJsonResponse -Value @{ data = @() } }
    }
}

function Start-Listener([string] $Endpoint, [int] $Workers) {
    (Start-Shell $listen $manifest, (Join-Path $root protos/benchmark.proto), $Endpoint, "$Workers").Address
}

function Measure-Handler {
    $stacks = [ordered]@{
        'C# handler' = Use-Callers rpc (Start-Worker server, rpc, "ncalrpc:[ProtoRpcBenchCode$PID]", 0).Address
    }
    foreach ($workers in 1, 2, 4) {
        $stacks["script block, $workers worker$($workers -gt 1 ? 's' : '')"] =
            Use-Callers rpc (Start-Listener "ncalrpc:[ProtoRpcBenchScript$workers-$PID]" $workers)
    }
    Measure-Group "Handlers, local, $Clients x $Callers callers" 'calls/s' $stacks
    Stop-Programs

    $method = 'Benchmark.SampleService/Test'
    $code = (Start-Worker server, rpc, 'http://127.0.0.1:0/', 0).Address
    $stacks = [ordered]@{
        'C# handler' = Use-Callers api "$code$method"
        'script block, 4 workers' = Use-Callers api "$(Start-Listener 'http://127.0.0.1:0/' 4)$method"
    }
    if ($Pode) {
        # Pode takes no port 0.
        $free = [Net.Sockets.TcpListener]::new([ipaddress]::Loopback, 0)
        $free.Start()
        $port = $free.LocalEndpoint.Port
        $free.Stop()
        try { $stacks['Pode, 4 threads'] = Use-Callers api (Start-Shell $servePode $Pode, "$port").Address }
        catch { [Console]::Error.WriteLine("Pode is left out, since it did not start: $_") }
    }
    Measure-Group "Handlers, HTTP with JSON, $Clients x $Callers callers" 'calls/s' $stacks
}

# Small messages of one stream, as objects in the pipeline.
function Measure-Stream {
    $server = Start-Worker server, numbers, 'grpc://127.0.0.1:0'
    $rpc = Connect-RpcEndpoint $server.Address -Schema (Join-Path $PSScriptRoot protos/numbers.proto)
    Measure-Group 'Replies of one stream as objects of the pipeline' 'objects/s' ([ordered]@{
            'Invoke-RpcMethod, gRPC' = Use-Block 10000 {
                $rpc | Invoke-RpcMethod Count @{} | Select-Object -First 10000 | Out-Null
            }
        })
}

# What the commands of a service cost over Invoke-RpcMethod, with 3 and with 18 fields.
function Measure-Service {
    $proto = Join-Path $PSScriptRoot protos/orders.proto
    $server = Start-Shell {
        param($Manifest, $Schema, $Endpoint)
        Import-Module $Manifest
        $reply = @{ status = 0 }
        $listener = Start-RpcListener $Endpoint -Schema $Schema -Handler @{ CreateShort = $reply; CreateLong = $reply }
        [Console]::Out.WriteLine("ready $($listener.Endpoint)")
        $null = [Console]::In.ReadToEnd()
        Stop-RpcListener $listener
    } $manifest, $proto, "ncalrpc:[ProtoRpcBenchService$PID]"
    $rpc = Connect-RpcEndpoint $server.Address -Schema $proto
    $rpc | Import-RpcService -Prefix Bench
    $data = [byte[]](1, 2, 3)
    $address = @{ city = 'x'; street = 'y' }
    $long = @{
        customer = 'Ann'; title = 't'; note = 'n'; email = 'a@b'; phone = '123'; count = 5; page = 6; total = 7
        flags = 8; price = 9.5; rate = 1.5; paid = $true; sent = $true; kind = 'KIND_SMALL'; tags = 'a', 'b'
        numbers = 1, 2; data = $data; address = $address
    }
    $longs = foreach ($i in 1..500) { [pscustomobject]$long }
    Measure-Group "A service's command, 3 fields, local" 'calls/s' ([ordered]@{
            'Invoke-RpcMethod' = Use-Block 100 {
                foreach ($i in 1..100) {
                    $null = Invoke-RpcMethod CreateShort @{ customer = 'Ann'; count = 1; page = 0 } -Connection $rpc
                }
            }
            'New-BenchShort' = Use-Block 100 {
                foreach ($i in 1..100) { $null = New-BenchShort -Customer Ann -Count 1 -Page 0 }
            }
        })
    Measure-Group "A service's command, 18 fields, local" 'calls/s' ([ordered]@{
            'Invoke-RpcMethod' = Use-Block 100 {
                foreach ($i in 1..100) {
                    $null = Invoke-RpcMethod CreateLong -Connection $rpc -Message @{
                        customer = 'Ann'; title = 't'; note = 'n'; email = 'a@b'; phone = '123'; count = 5; page = 6
                        total = 7; flags = 8; price = 9.5; rate = 1.5; paid = $true; sent = $true
                        kind = 'KIND_SMALL'; tags = 'a', 'b'; numbers = 1, 2; data = $data; address = $address
                    }
                }
            }
            'New-BenchLong' = Use-Block 100 {
                foreach ($i in 1..100) {
                    $null = New-BenchLong -Customer Ann -Title t -Note n -Email 'a@b' -Phone '123' -Count 5 -Page 6 `
                        -Total 7 -Flags 8 -Price 9.5 -Rate 1.5 -Paid -Sent -Kind KIND_SMALL -Tags a, b `
                        -Numbers 1, 2 -Data $data -Address $address
                }
            }
            'Invoke-RpcMethod, from the pipeline' = Use-Block 500 {
                $longs | Invoke-RpcMethod CreateLong -Connection $rpc | Out-Null
            }
            'New-BenchLong, from the pipeline' = Use-Block 500 { $longs | New-BenchLong | Out-Null }
        })
}

# Objects to bytes and back, against the shell's JSON of the same objects.
function Measure-Convert {
    $random = [Random]::new(1)
    $records = foreach ($i in 1..100) {
        $bytes = [byte[]]::new(32)
        $random.NextBytes($bytes)
        @{
            bytes = $bytes; text = [Convert]::ToBase64String($bytes); number = $random.Next()
            float = $random.NextDouble(); time = $random.NextInt64()
        }
    }
    $object = @{ data = $records }
    $type = @{ Schema = Import-RpcSchema (Join-Path $root protos/benchmark.proto); Type = 'Benchmark.SampleRequest' }
    $binary = [byte[]](ConvertTo-RpcMessage $object @type)
    $json = ConvertTo-Json $object -Depth 5 -Compress
    Measure-Group 'Hashtables of 100 records to bytes or text' 'conversions/s' ([ordered]@{
            'ConvertTo-RpcMessage' = Use-Block 10 { foreach ($i in 1..10) { $null = ConvertTo-RpcMessage $object @type } }
            'ConvertTo-Json' = Use-Block 10 {
                foreach ($i in 1..10) { $null = ConvertTo-Json $object -Depth 5 -Compress }
            }
        })
    Measure-Group 'Bytes or text to objects of 100 records' 'conversions/s' ([ordered]@{
            'ConvertFrom-RpcMessage' = Use-Block 10 {
                foreach ($i in 1..10) { $null = ConvertFrom-RpcMessage $binary @type }
            }
            'ConvertFrom-Json' = Use-Block 10 { foreach ($i in 1..10) { $null = ConvertFrom-Json $json } }
            'ConvertFrom-RpcMessage, all records read' = Use-Block 10 {
                foreach ($i in 1..10) {
                    foreach ($record in (ConvertFrom-RpcMessage $binary @type).data) { $null = $record.text }
                }
            }
            'ConvertFrom-Json, all records read' = Use-Block 10 {
                foreach ($i in 1..10) { foreach ($record in (ConvertFrom-Json $json).data) { $null = $record.text } }
            }
        })
}

# `dotnet run --project tests/run -- pack` makes it.
function Find-Packed([string] $Name) {
    Get-Item (Join-Path $root out $Name) -ErrorAction Ignore | Select-Object -Last 1
}

# Measures fresh processes in turns. The first runs fill the disk cache.
function Measure-Processes([string] $Group, [Collections.Specialized.OrderedDictionary] $Cases) {
    Write-Verbose "Measures: $Group" -Verbose:(-not $AsJson)
    $times = @{}
    foreach ($name in $Cases.Keys) { $times[$name] = @(); $null = . $Cases[$name] }
    foreach ($i in 1..(3 * $Rounds)) {
        foreach ($name in $Cases.Keys) { $times[$name] += . $Cases[$name] }
    }
    foreach ($name in $Cases.Keys) {
        $results.Add([pscustomobject]@{ Group = $Group; Unit = 'ms'; Name = $name; Values = $times[$name] })
    }
}

function Measure-Import {
    $cases = [ordered]@{
        'pwsh without the module' = { Measure-Shell exit }
    }
    if ($packed = Find-Packed ProtoRpc/*/ProtoRpc.psd1) {
        $cases['pwsh that imports the packed module'] = { Measure-Shell "Import-Module '$packed'" }
    }
    $cases['pwsh that imports the module of a build'] = { Measure-Shell "Import-Module '$manifest'" }
    Measure-Processes 'Start of a shell, less is better' $cases
}

function Measure-Shell([string] $Script) {
    (Measure-Command { & $pwsh -NoProfile -NonInteractive -Command $Script }).TotalMilliseconds
}

# What a user waits for at the first command of a script: the milliseconds that the script itself measures.
function Measure-First {
    $module = (Find-Packed ProtoRpc/*/ProtoRpc.psd1) ?? $manifest
    $local = (Start-Worker server, search, "ncalrpc:[ProtoRpcBenchFirst$PID]").Address
    $grpc = (Start-Worker server, search, 'grpc://127.0.0.1:0').Address
    $schema = Join-Path $root protos search.proto
    $call = "Invoke-RpcMethod Search @{ query = 'words' } -Endpoint"
    $folders = [IO.Directory]::CreateTempSubdirectory('protorpc-first-').FullName
    $before = $env:PROTORPC_SCHEMA_CACHE

    # The script prints its milliseconds behind what it writes.
    function Measure-InShell([string] $Script, [string] $Cache = 'kept') {
        $env:PROTORPC_SCHEMA_CACHE = Join-Path $folders $Cache
        $lines = & $pwsh -NoProfile -NonInteractive -Command (
            '$ErrorActionPreference = "Stop"; $watch = [Diagnostics.Stopwatch]::new();' + $Script + '; $watch.Elapsed.TotalMilliseconds')
        if ($LASTEXITCODE) { throw "'$Script' failed: $lines" }
        [double]@($lines)[-1]
    }

    $import = "Import-Module '$module'; `$watch.Start();"
    $line = "Invoke-RpcMethod -Endpoint '$local' -Schema '$schema' -Method Sea"
    $tab = { param($Text) "`$null = TabExpansion2 `"$Text`" $($Text.Length)" }
    try {
        Measure-Processes 'First command of a shell, less is better' ([ordered]@{
                'Tab, a path of Get-ChildItem' = {
                    Measure-InShell "`$watch.Start(); $(& $tab 'Get-ChildItem -Path ./p')"
                }
                'Tab, a method of Invoke-RpcMethod' = { Measure-InShell "$import $(& $tab $line)" }
                'Invoke-RpcMethod, a schema that is compiled' = {
                    Measure-InShell "$import `$null = $call '$local' -Schema '$schema'" (New-Guid)
                }
                'Invoke-RpcMethod, a schema that was compiled before' = {
                    Measure-InShell "$import `$null = $call '$local' -Schema '$schema'"
                }
                'Invoke-RpcMethod, reflection' = { Measure-InShell "$import `$null = $call '$grpc'" }
            })
        if ($archive = Find-Packed protorpc-*-$(Get-Platform).tar.gz) {
            tar -xzf $archive -C $folders
            $tool = Get-Item (Join-Path $folders protorpc-* protorpc)
            Measure-Processes 'protorpc, less is better' ([ordered]@{
                    'protorpc --version' = { (Measure-Command { & $tool --version }).TotalMilliseconds }
                    'protorpc call, reflection' = {
                        (Measure-Command { & $tool call $grpc Search -d '{"query":"words"}' }).TotalMilliseconds
                    }
                })
        }
    }
    finally {
        $env:PROTORPC_SCHEMA_CACHE = $before
        Remove-Item -Recurse $folders
    }
}

function Get-Platform {
    ($IsWindows ? 'win-' : $IsMacOS ? 'osx-' : 'linux-') +
        "$([Runtime.InteropServices.RuntimeInformation]::ProcessArchitecture)".ToLowerInvariant()
}

if (-not $Program) {
    $Program = Join-Path $root artifacts/bin/ProtoRpc.Benchmarks/release/ProtoRpc.Benchmarks.dll
    $output = dotnet build (Join-Path $PSScriptRoot ProtoRpc.Benchmarks.csproj) -c Release --nologo -v q 2>&1
    if ($LASTEXITCODE) { throw "The benchmarks do not build:`n$($output -join "`n")" }
}
Import-Module $manifest

foreach ($measurement in $Only) {
    try {
        switch ($measurement) {
            'calls' { Measure-Calls; Stop-Programs; Measure-Empty }
            'pipeline' { Measure-Pipeline }
            'fanout' { Measure-FanOut }
            'service' { Measure-Service }
            'handler' { Measure-Handler }
            'stream' { Measure-Stream }
            'convert' { Measure-Convert }
            'import' { Measure-Import }
            'first' { Measure-First }
        }
    }
    finally {
        Stop-Programs
    }
}

if ($AsJson) {
    ConvertTo-Json $results -Depth 3 -Compress
}
else {
    foreach ($group in $results.Group | Select-Object -Unique) {
        $rows = @($results.Where{ $_.Group -eq $group })
        $first = Get-Median $rows[0].Values
        $rows | Select-Object Name, @{ n = $rows[0].Unit; e = { '{0:N0}' -f (Get-Median $_.Values) } },
            @{ n = 'of the first'; e = { '{0:P0}' -f ((Get-Median $_.Values) / $first) } } |
            Format-Table -AutoSize | Out-String -Width 200 | ForEach-Object { "$group$_" }
    }
}
