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

    It 'gives the listener once it has stopped' {
        $listener = Start-TestListener { }
        $job = Start-ThreadJob {
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
        $job = Start-ThreadJob {
            Import-Module $using:ModuleManifest
            $null = Connect-RpcEndpoint $using:endpoint -Schema (Join-Path $using:TestProtos greeter.proto) -Service demo.Greeter
            $null = 'a', 'b' | ForEach-Object { @{ name = $_ } } | Invoke-RpcMethod SayHello
            $using:listener | Stop-RpcListener
        }

        $listener | Wait-RpcListener -Timeout 30 6>&1 | ForEach-Object { "$_" } | Select-Object -First 2 |
            Should -Be 'got a', 'got b'
        $job | Wait-Job | Receive-Job
    }

    It 'ends at once when it is stopped' {
        $listener = Start-TestListener { }
        $shell = [powershell]::Create().AddScript({ param($Manifest, $Listener) Import-Module $Manifest; $Listener | Wait-RpcListener })
        $null = $shell.AddParameters(@($ModuleManifest, $listener)).BeginInvoke()
        Wait-Until { $shell.InvocationStateInfo.State -eq 'Running' } | Should -BeTrue
        $watch = [Diagnostics.Stopwatch]::StartNew()

        $shell.Stop()

        $watch.Elapsed.TotalSeconds | Should -BeLessThan 5
        $listener.State | Should -Be 'Listening'
        $shell.Dispose()
    }
}
