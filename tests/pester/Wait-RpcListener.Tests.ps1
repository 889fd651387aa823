. (Join-Path $PSScriptRoot common.ps1)

Describe 'Wait-RpcListener' {
    AfterEach {
        Clear-Test
        Get-Job | Remove-Job -Force
    }

    It 'returns when the time is over' {
        $listener = Start-TestListener { }
        $watch = [Diagnostics.Stopwatch]::StartNew()

        $listener | Wait-RpcListener -Timeout 0.2 | Should -BeNullOrEmpty

        $watch.Elapsed.TotalSeconds | Should -BeGreaterThan 0.15
        $listener.State | Should -Be 'Listening'
    }

    It 'waits with a timeout that timers do not take: <_>' -ForEach '30.00:00:00', '10000000.00:00:00' {
        $listener = Start-TestListener { }
        $job = 0 | ForEach-Object -AsJob -Parallel {
            Import-Module $using:ModuleManifest
            Start-Sleep -Milliseconds 200
            $using:listener | Stop-RpcListener
        }

        ($listener | Wait-RpcListener -Timeout $_ -ErrorAction Stop).State | Should -Be 'Stopped'
        $job | Wait-Job | Receive-Job
    }

    It 'gives the listener once it has stopped' {
        $listener = Start-TestListener { }
        $job = 0 | ForEach-Object -AsJob -Parallel {
            Import-Module $using:ModuleManifest
            Start-Sleep -Milliseconds 200
            $using:listener | Stop-RpcListener
        }

        ($listener | Wait-RpcListener -Timeout 30).State | Should -Be 'Stopped'
        $job | Wait-Job | Receive-Job
    }

    It 'writes what handlers write while it waits' {
        $listener = Start-TestListener { param($Request) Write-Information "got $($Request.name)" }
        $endpoint = "$($listener.Endpoint)"
        $job = 0 | ForEach-Object -AsJob -Parallel {
            Import-Module $using:ModuleManifest
            $null = Connect-RpcEndpoint $using:endpoint `
                -Schema (Join-Path $using:TestProtos greeter.proto) -Service demo.Greeter
            $null = 'a', 'b' | ForEach-Object { @{ name = $_ } } | Invoke-RpcMethod SayHello
            $using:listener | Stop-RpcListener
        }

        $listener | Wait-RpcListener -Timeout 30 6>&1 | ForEach-Object { "$_" } | Select-Object -First 2 |
            Should -Be 'got a', 'got b'
        $job | Wait-Job | Receive-Job
    }

    It 'ends at once when it is stopped' {
        $listener = Start-TestListener { }
        $shell = [powershell]::Create().AddScript({
            param($Manifest, $Listener)
            Import-Module $Manifest
            $Listener | Wait-RpcListener
        })
        $null = $shell.AddParameters(@($ModuleManifest, $listener)).BeginInvoke()
        Wait-Until { $shell.InvocationStateInfo.State -eq 'Running' } | Should -BeTrue
        $watch = [Diagnostics.Stopwatch]::StartNew()

        $shell.Stop()

        $watch.Elapsed.TotalSeconds | Should -BeLessThan 5
        $listener.State | Should -Be 'Listening'
        $shell.Dispose()
    }

    It 'shows what handlers write and throw, whatever the preferences say' {
        $result = Invoke-Pwsh @"
            `$ErrorActionPreference = `$WarningPreference = `$InformationPreference = 'Stop'
            Import-Module '$ModuleManifest'
            `$with = @{ Schema = '$TestProtos/greeter.proto'; Service = 'demo.Greeter' }
            `$listener = Start-RpcListener 'ncalrpc:[$(New-TestName)]' @with -Handler {
                param(`$Request)
                Write-Error "error `$(`$Request.name)" -ErrorAction Continue
                Write-Warning "warning `$(`$Request.name)" -WarningAction Continue
                Write-Information "information `$(`$Request.name)" -InformationAction Continue
            }
            `$rpc = Connect-RpcEndpoint `$listener.Endpoint[0] -Schema `$listener.Schema -Service demo.Greeter
            `$null = 'a', 'b' | ForEach-Object { @{ name = `$_ } } | Invoke-RpcMethod SayHello
            `$listener | Wait-RpcListener -Timeout 0.2 -ErrorVariable seen
            "errors `$(`$seen.Count)"
            `$null = Invoke-RpcMethod SayHello @{ name = 'c' }
            `$listener | Wait-RpcListener -Timeout 0.2 -ErrorAction Stop
            `$null = Invoke-RpcMethod SayHello @{ name = 'd' }
            `$listener | Receive-RpcListener
            'still there'
"@

        $result.ExitCode | Should -Be 0 -Because $result.Error
        $result.Output | Should -Match 'errors 2'
        $result.Output | Should -Match 'still there'
        foreach ($name in 'a', 'b', 'c', 'd') {
            "$($result.Output)$($result.Error)" | Should -Match "error $name"
            $result.Output | Should -Match "warning $name"
            $result.Output | Should -Match "information $name"
        }
    }

    It 'lets calls end when the process is to end while <Name>' -Skip:$IsWindows -ForEach @(
        @{ Name = 'no script waits'; Wait = 'while ($true) { Start-Sleep -Milliseconds 100 }'; ExitCode = 143 }
        @{ Name = 'a script waits that shall not go on'
            Wait = '$listener | Wait-RpcListener -ExitOnTermination'; ExitCode = 143 }
        @{ Name = 'a script waits that does nothing more'; Wait = '$listener | Wait-RpcListener'; ExitCode = 0 }
    ) {
        $begun = Join-Path $TestDrive "$(New-TestName).begun"
        $script = Join-Path $TestDrive "$(New-TestName).ps1"
        Set-Content $script @"
            Import-Module '$ModuleManifest'
            `$with = @{ Schema = '$(Join-Path $TestProtos greeter.proto)'; Service = 'demo.Greeter' }
            `$listener = Start-RpcListener -Endpoint tcp://127.0.0.1:0 @with -Handler @{
                SayHello = { Set-Content '$begun' x; Start-Sleep -Seconds 1; @{ text = 'to the end' } }
            }
            "`$(`$listener.Endpoint)"
            $Wait
"@
        $start = [Diagnostics.ProcessStartInfo]::new([Environment]::ProcessPath)
        '-NoProfile', '-NonInteractive', '-File', $script | ForEach-Object { $start.ArgumentList.Add($_) }
        $start.RedirectStandardOutput = $true
        $process = [Diagnostics.Process]::Start($start)
        try {
            $rpc = Connect-RpcEndpoint $process.StandardOutput.ReadLine() `
                -Schema (Join-Path $TestProtos greeter.proto) -Service demo.Greeter
            $job = Invoke-RpcMethod SayHello -Connection $rpc -AsJob
            Wait-Until { Test-Path $begun } | Should -BeTrue

            sh -c "kill -TERM $($process.Id)"

            ($job | Receive-Job -Wait).text | Should -Be 'to the end'
            $process.WaitForExit(20000) | Should -BeTrue
            $process.ExitCode | Should -Be $ExitCode
        }
        finally {
            if (-not $process.HasExited) { $process.Kill($true) }
            $process.Dispose()
        }
    }

    It 'lets a script stop its listeners when the process is to end' -Skip:$IsWindows {
        $script = Join-Path $TestDrive serve.ps1
        Set-Content $script @"
            Import-Module '$ModuleManifest'
            `$with = @{ Schema = '$(Join-Path $TestProtos greeter.proto)'; Service = 'demo.Greeter' }
            `$listener = Start-RpcListener -Endpoint grpc://127.0.0.1:0 @with -Handler @{
                SayHello = { Write-Information 'begun'; Start-Sleep -Seconds 1; @{ text = 'to the end' } }
            }
            "`$(`$listener.Endpoint)"
            `$listener | Wait-RpcListener -InformationAction Continue
            `$listener | Stop-RpcListener -DrainTimeout 20
            'stopped'
"@
        $start = [Diagnostics.ProcessStartInfo]::new([Environment]::ProcessPath)
        '-NoProfile', '-NonInteractive', '-File', $script | ForEach-Object { $start.ArgumentList.Add($_) }
        $start.RedirectStandardOutput = $true
        $process = [Diagnostics.Process]::Start($start)
        try {
            $rpc = Connect-RpcEndpoint $process.StandardOutput.ReadLine() `
                -Schema (Join-Path $TestProtos greeter.proto) -Service demo.Greeter
            $job = Invoke-RpcMethod SayHello -Connection $rpc -AsJob
            $process.StandardOutput.ReadLine() | Should -Be 'begun'

            sh -c "kill -TERM $($process.Id)"

            ($job | Receive-Job -Wait).text | Should -Be 'to the end'
            $process.StandardOutput.ReadToEnd().Trim() | Should -Be 'stopped'
            $process.WaitForExit(20000) | Should -BeTrue
            $process.ExitCode | Should -Be 0
        }
        finally {
            if (-not $process.HasExited) { $process.Kill($true) }
            $process.Dispose()
        }
    }

    It 'holds the script that examples show for containers' -Skip:$IsWindows {
        $start = [Diagnostics.ProcessStartInfo]::new([Environment]::ProcessPath)
        $script = Join-Path $RepositoryRoot examples serve.ps1
        '-NoProfile', '-NonInteractive', '-File', $script, '-Endpoint', 'grpc://127.0.0.1:0' |
            ForEach-Object { $start.ArgumentList.Add($_) }
        $start.RedirectStandardOutput = $true
        $process = [Diagnostics.Process]::Start($start)
        try {
            $rpc = Connect-RpcEndpoint ($process.StandardOutput.ReadLine() -replace '^Listening on ')
            ($rpc | Invoke-RpcMethod Search @{ query = 'words' }).result.title | Should -Be 'words'

            sh -c "kill -TERM $($process.Id)"

            $process.StandardOutput.ReadToEnd().Trim() | Should -Be 'searching for words'
            $process.WaitForExit(20000) | Should -BeTrue
            $process.ExitCode | Should -Be 0
        }
        finally {
            if (-not $process.HasExited) { $process.Kill($true) }
            $process.Dispose()
        }
    }
}
