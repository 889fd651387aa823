. (Join-Path $PSScriptRoot common.ps1)

Describe 'Services' -Skip:$IsWindows {
    BeforeAll {
        # The socket of a service manager.
        function New-Manager([string] $Path) {
            $socket = [System.Net.Sockets.Socket]::new('Unix', 'Dgram', 'Unspecified')
            $socket.ReceiveTimeout = 30000
            $socket.Bind([System.Net.Sockets.UnixDomainSocketEndPoint]::new($Path))
            $socket
        }

        function Read-State($Manager) {
            $buffer = [byte[]]::new(1000)
            [Text.Encoding]::UTF8.GetString($buffer, 0, $Manager.Receive($buffer))
        }

        function Start-Service([string] $File, [string[]] $Arguments, [hashtable] $Environment) {
            $start = [Diagnostics.ProcessStartInfo]::new([Environment]::ProcessPath)
            '-NoProfile', '-NonInteractive', '-File', $File + $Arguments | ForEach-Object { $start.ArgumentList.Add($_) }
            $start.RedirectStandardOutput = $true
            foreach ($name in $Environment.Keys) { $start.Environment[$name] = $Environment[$name] }
            [Diagnostics.Process]::Start($start)
        }

        $serve = Join-Path $RepositoryRoot examples serve.ps1
        $folder = Join-Path ([IO.Path]::GetTempPath()) (New-TestName)
        $null = New-Item -ItemType Directory $folder
    }

    AfterAll {
        Clear-Test
        Remove-Item $folder -Recurse -ErrorAction Ignore
    }

    It 'notify the manager of <Kind>: ready, the watchdog, and the stop' -ForEach @(
        @{ Kind = 'a path'; Abstract = $false }
        @{ Kind = 'an abstract socket'; Abstract = $true }
    ) {
        if ($Abstract -and -not $IsLinux) {
            Set-ItResult -Skipped -Because 'only Linux has abstract sockets'
            return
        }
        $path = Join-Path $folder (New-TestName)
        $manager = New-Manager ($Abstract ? "`0$path" : $path)
        $process = Start-Service $serve '-Endpoint', 'grpc://127.0.0.1:0' @{
            NOTIFY_SOCKET = $Abstract ? "@$path" : $path
            WATCHDOG_USEC = '400000'
            WATCHDOG_PID = ''
        }
        try {
            Read-State $manager | Should -BeLike "READY=1`nSTATUS=Serving listener * on grpc://127.0.0.1:*"
            1..3 | ForEach-Object { Read-State $manager | Should -Be 'WATCHDOG=1' }
            $endpoint = $process.StandardOutput.ReadLine() -replace '^Listening on '
            (Connect-RpcEndpoint $endpoint | Invoke-RpcMethod Search @{ query = 'x' }).result.title | Should -Be 'x'

            sh -c "kill -TERM $($process.Id)"

            while (($state = Read-State $manager) -eq 'WATCHDOG=1') { }
            $state | Should -Be 'STOPPING=1'
            $process.WaitForExit(20000) | Should -BeTrue
            $process.ExitCode | Should -Be 0
            $manager.Available | Should -Be 0
        } finally {
            if (-not $process.HasExited) { $process.Kill($true) }
            $process.Dispose()
            $manager.Dispose()
        }
    }

    It 'let a running call end after SIGTERM, and exit with 0' {
        $path = Join-Path $folder (New-TestName)
        $manager = New-Manager $path
        $begun = Join-Path $folder (New-TestName)
        $script = Join-Path $folder "$(New-TestName).ps1"
        Set-Content $script @"
            Import-Module '$ModuleManifest'
            `$listener = Start-RpcListener tcp://127.0.0.1:0 -Schema '$TestProtos/greeter.proto' -Service demo.Greeter -Handler @{
                SayHello = { Set-Content '$begun' x; Start-Sleep -Seconds 1; @{ text = 'to the end' } }
            }
            "`$(`$listener.Endpoint)"
            try { `$listener | Wait-RpcListener -NotifyService } finally { `$listener | Stop-RpcListener -DrainTimeout 20 }
"@
        $process = Start-Service $script @() @{ NOTIFY_SOCKET = $path; WATCHDOG_USEC = '' }
        try {
            Read-State $manager | Should -BeLike 'READY=1*'
            $rpc = Connect-RpcEndpoint $process.StandardOutput.ReadLine() `
                -Schema (Join-Path $TestProtos greeter.proto) -Service demo.Greeter
            $job = Invoke-RpcMethod SayHello -Connection $rpc -AsJob
            Wait-Until { Test-Path $begun } | Should -BeTrue

            sh -c "kill -TERM $($process.Id)"

            Read-State $manager | Should -Be 'STOPPING=1'
            ($job | Receive-Job -Wait).text | Should -Be 'to the end'
            $process.WaitForExit(20000) | Should -BeTrue
            $process.ExitCode | Should -Be 0
        } finally {
            if (-not $process.HasExited) { $process.Kill($true) }
            $process.Dispose()
            $manager.Dispose()
        }
    }

    It 'serve and warn when the manager <Kind>' -ForEach @(
        @{ Kind = 'is not there'; Socket = '/nowhere/notify'; Expected = 'could not be notified' }
        @{ Kind = 'is no address'; Socket = 'nowhere'; Expected = "NOTIFY_SOCKET is 'nowhere'" }
    ) {
        $result = Invoke-Pwsh @"
            `$env:NOTIFY_SOCKET = '$Socket'
            Import-Module '$ModuleManifest'
            `$listener = Start-RpcListener 'inproc://$(New-TestName)' -Schema '$TestProtos/greeter.proto' -Service demo.Greeter { }
            `$listener | Wait-RpcListener -NotifyService -Timeout 0.1
            `$listener.State
"@
        "$($result.Output)$($result.Error)" -replace '\s+', ' ' | Should -Match $Expected
        $result.Output | Should -Match 'Listening'
    }

    It 'report their health' {
        $health = Join-Path $RepositoryRoot examples services health.ps1
        $listener = Start-RpcListener grpc://127.0.0.1:0 -Schema (Join-Path $TestProtos greeter.proto) -Service demo.Greeter { }
        $endpoint = "$($listener.Endpoint)"

        $process = Start-Service $health $endpoint @{}
        $process.WaitForExit(30000) | Should -BeTrue
        $process.ExitCode | Should -Be 0
        $listener | Stop-RpcListener
        $process = Start-Service $health $endpoint, '-Deadline', '1' @{}
        $process.WaitForExit(30000) | Should -BeTrue
        $process.ExitCode | Should -Be 1
    }

    It 'have a unit that systemd accepts' -Skip:(-not (Get-Command systemd-analyze -ErrorAction Ignore)) {
        $unit = Join-Path $folder protorpc-search.service
        # The unit's pwsh is that of a package.
        (Get-Content (Join-Path $RepositoryRoot examples services protorpc-search.service) -Raw).Replace(
            '/usr/bin/pwsh', '/bin/sh') | Set-Content $unit
        $said = systemd-analyze verify --man=no $unit 2>&1 | Where-Object { "$_" -match 'protorpc-search' }
        $said | Should -BeNullOrEmpty
    }

    It 'have a script for Windows without errors of syntax' {
        $errors = $null
        $null = [System.Management.Automation.Language.Parser]::ParseFile(
            (Join-Path $RepositoryRoot examples services windows-task.ps1), [ref] $null, [ref] $errors)
        $errors | Should -BeNullOrEmpty
    }
}
