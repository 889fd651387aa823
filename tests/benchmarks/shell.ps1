# Measures the module, each figure against its yardstick in the same run.
# Needs pwsh 7.6 or newer; builds what it needs in Release, and nothing fails when a goal is missed.
param(
    [double] $WarmUp = 10,
    [double] $Seconds = 2,
    [int] $Rounds = 5,
    [int] $Imports = 11,
    [ValidateSet('calls', 'handler', 'grpc', 'stream', 'service', 'convert', 'import')]
    [string[]] $Only = ('calls', 'handler', 'grpc', 'stream', 'service', 'convert', 'import')
)

$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'
$root = Resolve-Path (Join-Path $PSScriptRoot .. ..)
$pwsh = [Environment]::ProcessPath
$results = [Collections.Generic.List[object]]::new()

function Get-Median([double[]] $Values) {
    $sorted = @($Values | Sort-Object)
    $middle = [int][Math]::Floor($sorted.Count / 2)
    if ($sorted.Count % 2) { $sorted[$middle] } else { ($sorted[$middle - 1] + $sorted[$middle]) / 2 }
}

function Build-Project([string] $Path) {
    $output = dotnet build (Join-Path $root $Path) -c Release --nologo -v q 2>&1
    if ($LASTEXITCODE) { throw "$Path does not build:`n$($output -join "`n")" }
}

# Starts a program that prints 'ready ADDRESS' and runs until its input is closed.
function Start-Peer([string] $Name, [string[]] $Arguments) {
    $start = [Diagnostics.ProcessStartInfo]::new('dotnet')
    $start.ArgumentList.Add((Join-Path $root "artifacts/bin/$Name/release/$Name.dll"))
    $Arguments.ForEach{ $start.ArgumentList.Add($_) }
    $start.RedirectStandardInput = $start.RedirectStandardOutput = $true
    $process = [Diagnostics.Process]::Start($start)
    $line = $process.StandardOutput.ReadLine()
    if ($line -notmatch '^ready (.+)$') { throw "$Name said '$line'." }
    [pscustomobject]@{ Process = $process; Address = $Matches[1] }
}

function Stop-Peer($Peer) {
    $Peer.Process.StandardInput.Close()
    if (-not $Peer.Process.WaitForExit(10000)) { $Peer.Process.Kill($true) }
}

function Add-Result($What, $Ours, $Yardstick, $Ratio, $Goal) {
    $results.Add([pscustomobject]@{ What = $What; Ours = $Ours; Yardstick = $Yardstick; Ratio = $Ratio; Goal = $Goal })
}

# Blocks of calls in a foreach loop, as a script would make them, until the time is over; calls in a second.
function Measure-Loop([double] $Time, [scriptblock] $Block, [int] $BlockSize) {
    $watch = [Diagnostics.Stopwatch]::StartNew()
    $calls = 0
    while ($watch.Elapsed.TotalSeconds -lt $Time) {
        . $Block
        $calls += $BlockSize
    }
    $calls / $watch.Elapsed.TotalSeconds
}

function Measure-Calls {
    $kestrel = Start-Peer ProtoRpc.Benchmarks.Kestrel
    $server = Start-Peer ProtoRpc.Benchmarks server, search, "ncalrpc:[ProtoRpcBench$PID]"
    try {
        $schema = Import-RpcSchema (Join-Path $root protos/search.proto)
        $rpc = Connect-RpcEndpoint $server.Address -Schema $schema
        $uri = "$($kestrel.Address)/search"
        $message = @{ query = 'words'; page_number = 1; result_per_page = 10 }

        # Made once, outside of the loop, which is to the yardstick's advantage.
        $body = '{"query":"words","pageNumber":1,"resultPerPage":10}'
        $ours = { foreach ($i in 1..200) { $null = Invoke-RpcMethod Search $message -Connection $rpc } }
        $rest = {
            foreach ($i in 1..20) {
                $null = Invoke-RestMethod $uri -Method Post -Body $body -ContentType application/json
            }
        }

        $reply = Invoke-RpcMethod Search $message -Connection $rpc
        $same = Invoke-RestMethod $uri -Method Post -Body $body -ContentType application/json
        if ($reply.result[0].url -ne $same.result[0].url) { throw 'The two servers do not answer the same.' }

        $null = Measure-Loop $WarmUp $rest 20
        $null = Measure-Loop $WarmUp $ours 200
        $rates = foreach ($i in 1..$Rounds) {
            $theirs = Measure-Loop $Seconds $rest 20
            $own = Measure-Loop $Seconds $ours 200
            [pscustomobject]@{ Rest = $theirs; Ours = $own; Ratio = $own / $theirs }
        }
        Add-Result 'Invoke-RpcMethod in a loop, ncalrpc, calls/s' ('{0:N0}' -f (Get-Median $rates.Ours)) `
            ('{0:N0} Invoke-RestMethod, Kestrel' -f (Get-Median $rates.Rest)) `
            ('{0:N1}' -f (Get-Median $rates.Ratio)) '>= 20'
        $rpc | Disconnect-RpcEndpoint
    }
    finally {
        Stop-Peer $server
        Stop-Peer $kestrel
    }
}

function Measure-Handler {
    $schema = Import-RpcSchema (Join-Path $root protos/benchmark.proto)
    $listener = Start-RpcListener -Schema $schema -Endpoint "ncalrpc:[ProtoRpcBenchHandler$PID]" `
        -Handler @{ Test = { @{} } }
    try {
        $program = Join-Path $root artifacts/bin/ProtoRpc.Benchmarks/release/ProtoRpc.Benchmarks.dll
        $output = dotnet $program callers "ncalrpc:[ProtoRpcBenchHandler$PID]" `
            --warmup $WarmUp --seconds $Seconds --rounds $Rounds
        if ("$output" -notmatch 'calls/s (\d+)') { throw "The callers said '$output'." }
        Add-Result 'Script block handler, ncalrpc, 5 x 3 callers, calls/s' `
            ('{0:N0}' -f [int]$Matches[1]) '' '' '>= 45,000'
    }
    finally {
        Stop-RpcListener $listener
    }
}

# What a call from a loop costs over the same call by the client of the core, in a process of its own.
function Measure-Grpc {
    $server = Start-Peer ProtoRpc.Benchmarks server, rpc, 'grpc://127.0.0.1:0', 0
    try {
        $rpc = Connect-RpcEndpoint $server.Address -Schema (Import-RpcSchema (Join-Path $root protos/benchmark.proto))
        $request = @{}
        $ours = { foreach ($i in 1..200) { $null = Invoke-RpcMethod Test $request -Connection $rpc } }
        $program = Join-Path $root artifacts/bin/ProtoRpc.Benchmarks/release/ProtoRpc.Benchmarks.dll
        $null = Measure-Loop $WarmUp $ours 200
        $times = foreach ($i in 1..$Rounds) {
            $output = dotnet $program callers $server.Address --clients 1 --callers 1 `
                --warmup $WarmUp --seconds $Seconds --rounds 1
            if ("$output" -notmatch 'calls/s (\d+)') { throw "The caller said '$output'." }
            [pscustomobject]@{ Bare = 1e6 / [int]$Matches[1]; Ours = 1e6 / (Measure-Loop $Seconds $ours 200) }
        }
        $bare = Get-Median $times.Bare
        $cmdlet = Get-Median $times.Ours
        Add-Result 'Invoke-RpcMethod in a loop, grpc, us a call' ('{0:N0}' -f $cmdlet) `
            ('{0:N0} the client of the core' -f $bare) ('{0:N0} more' -f ($cmdlet - $bare)) '<= 40 more'
        $rpc | Disconnect-RpcEndpoint
    }
    finally {
        Stop-Peer $server
    }
}

# A million small messages of one stream, as objects in the pipeline.
function Measure-Stream {
    $server = Start-Peer ProtoRpc.Benchmarks server, numbers, 'grpc://127.0.0.1:0'
    try {
        $rpc = Connect-RpcEndpoint $server.Address `
            -Schema (Import-RpcSchema (Join-Path $PSScriptRoot protos/numbers.proto))
        $streams = foreach ($i in 0..$Rounds) {
            $watch = [Diagnostics.Stopwatch]::StartNew()
            $rpc | Invoke-RpcMethod Count @{} | Out-Null
            [pscustomobject]@{ Rate = 1e6 / $watch.Elapsed.TotalSeconds; Memory = [Environment]::WorkingSet / 1MB }
        }
        Add-Result 'Objects of a stream into the pipeline, grpc, objects/s' `
            ('{0:N0}' -f (Get-Median $streams[1..$Rounds].Rate)) `
            ('{0:N0} MiB after the first million' -f $streams[0].Memory) `
            ('{0:N0} MiB at the end' -f $streams[-1].Memory) '>= 150,000'
        $rpc | Disconnect-RpcEndpoint
    }
    finally {
        Stop-Peer $server
    }
}

# A listener in a process of its own, so that its work is no part of what is measured.
function Start-OrderListener([string] $Endpoint) {
    $start = [Diagnostics.ProcessStartInfo]::new($pwsh)
    $script = {
        param($Manifest, $Proto, $Endpoint)
        Import-Module $Manifest
        $listener = Start-RpcListener $Endpoint -Schema $Proto -Handler @{
            CreateShort = @{ status = 0 }
            CreateLong = @{ status = 0 }
        }
        [Console]::Out.WriteLine("ready $($listener.Endpoint)")
        $null = [Console]::In.ReadToEnd()
        Stop-RpcListener $listener
    }
    $arguments = (Join-Path $root ProtoRpc.psd1), (Join-Path $PSScriptRoot protos/orders.proto), $Endpoint
    $text = "& { $script } $($arguments.ForEach{ "'$_'" })"
    '-NoProfile', '-NonInteractive', '-Command', $text | ForEach-Object { $start.ArgumentList.Add($_) }
    $start.RedirectStandardInput = $start.RedirectStandardOutput = $true
    $process = [Diagnostics.Process]::Start($start)
    $line = $process.StandardOutput.ReadLine()
    if ($line -notmatch '^ready (.+)$') { throw "The listener said '$line'." }
    [pscustomobject]@{ Process = $process; Address = $Matches[1] }
}

# What the commands of a service cost over Invoke-RpcMethod, with 3 and with 18 fields: single calls with
# parameters by name, and pipelines of 1,000 objects.
function Measure-Service {
    $server = Start-OrderListener "ncalrpc:[ProtoRpcBenchService$PID]"
    try {
        $rpc = Connect-RpcEndpoint $server.Address -Schema (Join-Path $PSScriptRoot protos/orders.proto)
        $rpc | Import-RpcService -Prefix Bench
        $data = [byte[]](1, 2, 3)
        $short = @{ customer = 'Ann'; count = 1; page = 0 }
        $long = @{
            customer = 'Ann'; title = 't'; note = 'n'; email = 'a@b'; phone = '123'; count = 5; page = 6; total = 7
            flags = 8; price = 9.5; rate = 1.5; paid = $true; sent = $true; kind = 'KIND_SMALL'; tags = 'a', 'b'
            numbers = 1, 2; data = $data; address = @{ city = 'x'; street = 'y' }
        }
        $shorts = foreach ($i in 1..1000) { [pscustomobject]$short }
        $longs = foreach ($i in 1..1000) { [pscustomobject]$long }
        $cases = @(
            , ('3 fields by name', 200, {
                    foreach ($i in 1..200) {
                        $null = Invoke-RpcMethod CreateShort @{ customer = 'Ann'; count = 1; page = 0 } -Connection $rpc
                    }
                }, {
                    foreach ($i in 1..200) { $null = New-BenchShort -Customer Ann -Count 1 -Page 0 }
                })
            , ('18 fields by name', 200, {
                    foreach ($i in 1..200) {
                        $null = Invoke-RpcMethod CreateLong -Connection $rpc -Message @{
                            customer = 'Ann'; title = 't'; note = 'n'; email = 'a@b'; phone = '123'; count = 5; page = 6
                            total = 7; flags = 8; price = 9.5; rate = 1.5; paid = $true; sent = $true
                            kind = 'KIND_SMALL'; tags = 'a', 'b'; numbers = 1, 2; data = $data
                            address = @{ city = 'x'; street = 'y' }
                        }
                    }
                }, {
                    foreach ($i in 1..200) {
                        $null = New-BenchLong -Customer Ann -Title t -Note n -Email 'a@b' -Phone '123' -Count 5 -Page 6 `
                            -Total 7 -Flags 8 -Price 9.5 -Rate 1.5 -Paid -Sent -Kind KIND_SMALL -Tags a, b `
                            -Numbers 1, 2 -Data $data -Address @{ city = 'x'; street = 'y' }
                    }
                })
            , ('3 fields from the pipeline', 1000, {
                    $shorts | Invoke-RpcMethod CreateShort -Connection $rpc | Out-Null
                }, { $shorts | New-BenchShort | Out-Null })
            , ('18 fields from the pipeline', 1000, {
                    $longs | Invoke-RpcMethod CreateLong -Connection $rpc | Out-Null
                }, { $longs | New-BenchLong | Out-Null })
        )
        foreach ($case in $cases) {
            $null = Measure-Loop $WarmUp $case[2] $case[1]
            $null = Measure-Loop $WarmUp $case[3] $case[1]
            $times = foreach ($i in 1..$Rounds) {
                $bare = 1e6 / (Measure-Loop $Seconds $case[2] $case[1])
                $ours = 1e6 / (Measure-Loop $Seconds $case[3] $case[1])
                [pscustomobject]@{ Bare = $bare; Ours = $ours; Ratio = $ours / $bare }
            }
            Add-Result "A service's command, ncalrpc, $($case[0]), us a call" `
                ('{0:N0}' -f (Get-Median $times.Ours)) `
                ('{0:N0} Invoke-RpcMethod' -f (Get-Median $times.Bare)) `
                ('{0:N2}' -f (Get-Median $times.Ratio)) '<= 1.3'
        }
        $rpc | Disconnect-RpcEndpoint
    }
    finally {
        Stop-Peer $server
    }
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
    $cases = @(
        , ('hashtable to bytes', { foreach ($i in 1..20) { $null = ConvertTo-RpcMessage $object @type } },
            { foreach ($i in 1..20) { $null = ConvertTo-Json $object -Depth 5 -Compress } })
        , ('bytes to object', { foreach ($i in 1..20) { $null = ConvertFrom-RpcMessage $binary @type } },
            { foreach ($i in 1..20) { $null = ConvertFrom-Json $json } })
        , ('bytes to object, all records looked at', {
                foreach ($i in 1..20) {
                    foreach ($record in (ConvertFrom-RpcMessage $binary @type).data) { $null = $record.text }
                }
            }, {
                foreach ($i in 1..20) { foreach ($record in (ConvertFrom-Json $json).data) { $null = $record.text } }
            })
    )
    foreach ($case in $cases) {
        $null = Measure-Loop $WarmUp $case[1] 20
        $null = Measure-Loop $WarmUp $case[2] 20
        $times = foreach ($i in 1..$Rounds) {
            $ours = 1e6 / (Measure-Loop $Seconds $case[1] 20)
            $theirs = 1e6 / (Measure-Loop $Seconds $case[2] 20)
            [pscustomobject]@{ Ours = $ours; Theirs = $theirs; Ratio = $theirs / $ours }
        }
        Add-Result "100 records, $($case[0]), us" ('{0:N0}' -f (Get-Median $times.Ours)) `
            ('{0:N0} JSON' -f (Get-Median $times.Theirs)) ('{0:N1}' -f (Get-Median $times.Ratio)) '>= 5'
    }
}

function Measure-Import {
    $manifest = Join-Path $root ProtoRpc.psd1
    $empty = { & $pwsh -NoProfile -NonInteractive -Command 'exit' }
    $import = { & $pwsh -NoProfile -NonInteractive -Command "Import-Module '$manifest'" }

    # The first runs fill the disk cache.
    $null = . $empty; $null = . $import
    $times = foreach ($i in 1..$Imports) {
        $without = (Measure-Command $empty).TotalMilliseconds
        $with = (Measure-Command $import).TotalMilliseconds
        [pscustomobject]@{ Empty = $without; Import = $with }
    }
    $emptyMedian = Get-Median $times.Empty
    $importMedian = Get-Median $times.Import
    Add-Result 'Import of the module, ms over an empty pwsh' ('{0:N0}' -f ($importMedian - $emptyMedian)) `
        ('{0:N0} empty, {1:N0} with' -f $emptyMedian, $importMedian) '' '<= 100'
}

Build-Project cmdlets/ProtoRpc.PowerShell/ProtoRpc.PowerShell.csproj
Build-Project tests/benchmarks/ProtoRpc.Benchmarks.csproj
Build-Project tests/benchmarks/kestrel/ProtoRpc.Benchmarks.Kestrel.csproj
Import-Module (Join-Path $root ProtoRpc.psd1)

switch ($Only) {
    'calls' { Measure-Calls }
    'handler' { Measure-Handler }
    'grpc' { Measure-Grpc }
    'stream' { Measure-Stream }
    'service' { Measure-Service }
    'convert' { Measure-Convert }
    'import' { Measure-Import }
}
$results | Format-Table -AutoSize | Out-String -Width 200
