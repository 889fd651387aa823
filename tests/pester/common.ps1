# Dot-sourced by every test file: the built module, and what the tests share.
$Global:RepositoryRoot = Split-Path (Split-Path $PSScriptRoot)
$Global:ModuleManifest = $env:PROTORPC_MODULE ? $env:PROTORPC_MODULE : (Join-Path $RepositoryRoot ProtoRpc.psd1)
$Global:TestProtos = Join-Path $PSScriptRoot protos

# The caller as the system names it: with its domain or machine on Windows.
$Global:OwnName = $IsWindows ? [Security.Principal.WindowsIdentity]::GetCurrent().Name : [Environment]::UserName

# The shells that tests start live for a second: no time to report themselves, or to profile code that hardly runs.
$env:POWERSHELL_TELEMETRY_OPTOUT = '1'
$env:POWERSHELL_UPDATECHECK = 'Off'
$env:DOTNET_TieredPGO = '0'

# No test depends on what an earlier run compiled, and none leaves something in the user's cache.
$env:PROTORPC_SCHEMA_CACHE ??= 'off'

if (-not (Get-Module ProtoRpc)) {
    Import-Module $ModuleManifest
}

# A name for a pipe or local endpoint that no other test has.
function Global:New-TestName {
    "t$([guid]::NewGuid().ToString('N').Substring(0, 12))"
}

# A listener of demo.Greeter on a new local endpoint, or on the given endpoints.
function Global:Start-TestListener {
    param(
        [Parameter(Mandatory)] $Handler,
        [string[]] $Endpoint = "ncalrpc:[$(New-TestName)]",
        [hashtable] $With = @{}
    )
    $arguments = @{
        Schema = Join-Path $TestProtos greeter.proto
        Service = 'demo.Greeter'
        Endpoint = $Endpoint
        Handler = $Handler
    }
    foreach ($key in $With.Keys) {
        $arguments[$key] = $With[$key]
    }
    Start-RpcListener @arguments
}

# A connection to a listener's first endpoint.
function Global:Connect-Test($Listener, [int] $Index = 0) {
    Connect-RpcEndpoint $Listener.Endpoint[$Index] -Schema $Listener.Schema -Service demo.Greeter
}

# What the shell offers at the end of a line.
function Global:Complete([string] $Line) {
    [System.Management.Automation.CommandCompletion]::CompleteInput($Line, $Line.Length, $null).CompletionMatches
}

# Why a completion is more than constants; nothing when it is not. Parentheses and handlers are what completers
# write around ids.
function Global:Find-LiveSyntax([string] $Text) {
    $inert = 'StringConstantExpressionAst', 'ConstantExpressionAst', 'HashtableAst', 'ArrayExpressionAst',
        'ArrayLiteralAst', 'StatementBlockAst', 'PipelineAst', 'CommandExpressionAst'
    $script = $Text -replace '^\((Get-Rpc(Connection|Listener)) (\d+)\)$', '$3' `
        -replace '= \{ param\(\$Request\) @\{\} \}', '= 1'
    $errors = $null
    $ast = [System.Management.Automation.Language.Parser]::ParseInput("Name $script", [ref] $null, [ref] $errors)
    if ($errors) { return "'$Text' does not parse: $errors" }
    $statements = $ast.EndBlock.Statements
    if ($statements.Count -ne 1) { return "'$Text' is $($statements.Count) statements" }
    $pipeline = $statements[0].PipelineElements
    if ($pipeline.Count -ne 1) { return "'$Text' is a pipeline" }
    if ($pipeline[0].CommandElements.Count -ne 2) { return "'$Text' is $($pipeline[0].CommandElements.Count - 1) arguments" }
    if ($pipeline[0].Redirections) { return "'$Text' redirects" }
    foreach ($node in $pipeline[0].CommandElements[1].FindAll({ $true }, $true)) {
        if ($node -is [System.Management.Automation.Language.VariableExpressionAst]) {
            if ($node.VariablePath.UserPath -notin 'null', 'true', 'false') { return "'$Text' has the variable $node" }
        } elseif ($node.GetType().Name -notin $inert) {
            return "'$Text' has $($node.GetType().Name) $node"
        }
    }
    if ($Text -match '[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]') { return "'$Text' has characters that a console obeys" }
}

# Polls until something holds; false when it does not in time.
function Global:Wait-Until([scriptblock] $Condition, [double] $Seconds = 20) {
    $watch = [Diagnostics.Stopwatch]::StartNew()
    while (-not (& $Condition)) {
        if ($watch.Elapsed.TotalSeconds -gt $Seconds) {
            return $false
        }
        [Threading.Thread]::Sleep(5)
    }
    $true
}

# Returns the output of a job at its end, and removes it. A job that ends while Receive-Job -AutoRemoveJob begins
# can be removed twice, which is an error.
function Global:Complete-Job([Parameter(ValueFromPipeline)] $Job) {
    process {
        $Job | Receive-Job -Wait
        $Job | Remove-Job
    }
}

# Runs a script in a new pwsh process; returns its output and how it ended.
function Global:Invoke-Pwsh([string] $Script, [int] $Seconds = 60) {
    $file = Join-Path ([IO.Path]::GetTempPath()) "$(New-TestName).ps1"
    Set-Content -LiteralPath $file -Value $Script
    $start = [Diagnostics.ProcessStartInfo]::new([Environment]::ProcessPath)
    '-NoProfile', '-NonInteractive', '-File', $file | ForEach-Object { $start.ArgumentList.Add($_) }
    $start.RedirectStandardInput = $start.RedirectStandardOutput = $start.RedirectStandardError = $true
    $start.Environment['NO_COLOR'] = '1'
    $process = [Diagnostics.Process]::Start($start)
    $output = $process.StandardOutput.ReadToEndAsync()
    $errors = $process.StandardError.ReadToEndAsync()
    $process.StandardInput.Close()
    $ended = $process.WaitForExit($Seconds * 1000)
    if (-not $ended) {
        $process.Kill($true)
    }
    Remove-Item -LiteralPath $file
    [pscustomobject]@{
        Ended = $ended
        ExitCode = $ended ? $process.ExitCode : -1
        Output = $output.Result
        Error = $errors.Result
    }
}

# Stops and closes what a test file left, even when one of its tests failed.
function Global:Clear-Test {
    Get-RpcConnection | Disconnect-RpcEndpoint
    Get-RpcListener | Stop-RpcListener -DrainTimeout 0
}
