. (Join-Path $PSScriptRoot common.ps1)

Describe 'Start-RpcListener -AccessLog' {
    BeforeEach {
        $folder = Join-Path ([IO.Path]::GetTempPath()) (New-TestName)
        $null = New-Item -ItemType Directory $folder
        $path = Join-Path $folder access.jsonl
        $handler = @{
            SayHello = {
                param($Request)
                if ($Request.name -eq 'nobody') { throw 'nobody is there' }
                @{ text = "hi $($Request.name)" }
            }
        }
    }

    AfterEach {
        Remove-Item -Recurse -Force -LiteralPath $folder
    }

    It 'writes a JSON line for each call, of a file that only its owner reads' {
        $listener = Start-TestListener -Handler $handler -With @{ AccessLog = $path }
        $rpc = Connect-Test $listener
        $null = $rpc | Invoke-RpcMethod SayHello @{ name = 'Ann' }
        $rpc | Invoke-RpcMethod SayHello @{ name = 'nobody' } -ErrorAction Ignore
        $rpc | Disconnect-RpcEndpoint
        $listener | Stop-RpcListener

        $calls = Get-Content $path | ConvertFrom-Json | Where-Object method -eq demo.Greeter/SayHello
        $calls.status | Should -Be 'OK', 'Unknown'
        $calls.user | Should -Be ($OwnName, $OwnName)
        $calls[0].peer | Should -Be "pid:$PID"
        $calls[0].transport | Should -Be 'Local'
        $calls[0].milliseconds | Should -BeGreaterThan 0
        $calls[0].bytesIn | Should -BeGreaterThan 0
        $calls[0].bytesOut | Should -BeGreaterThan 0
        if (-not $IsWindows) {
            [IO.File]::GetUnixFileMode($path) | Should -Be ([IO.UnixFileMode] 'UserRead, UserWrite')
        }
    }

    It 'takes a path relative to the location of the shell' {
        Push-Location $folder
        try {
            $listener = Start-TestListener -Handler $handler -With @{ AccessLog = './here.jsonl' }
            $listener | Stop-RpcListener
        }
        finally {
            Pop-Location
        }
        Join-Path $folder here.jsonl | Should -Exist
    }

    It 'goes on in a new file when the old one is moved away' {
        $listener = Start-TestListener -Handler $handler -With @{ AccessLog = $path }
        $rpc = Connect-Test $listener
        $null = $rpc | Invoke-RpcMethod SayHello @{ name = 'Ann' }
        Wait-Until { (Get-Content $path) -match 'SayHello' } | Should -BeTrue
        Move-Item $path "$path.1"
        $null = $rpc | Invoke-RpcMethod SayHello @{ name = 'Bob' }
        $rpc | Disconnect-RpcEndpoint
        $listener | Stop-RpcListener

        @((Get-Content "$path.1") -match 'SayHello').Count | Should -Be 1
        @((Get-Content $path) -match 'SayHello').Count | Should -Be 1
    }

    It 'gives each call to a script block, off the thread of the call' {
        $seen = [Collections.Concurrent.ConcurrentQueue[object]]::new()
        $listener = Start-TestListener -Handler $handler -With @{
            AccessLog = { param($Call) ($using:seen).Enqueue($Call) }
        }
        $rpc = Connect-Test $listener
        $null = $rpc | Invoke-RpcMethod SayHello @{ name = 'Ann' }
        $rpc | Disconnect-RpcEndpoint
        $listener | Stop-RpcListener

        $call = $seen | Where-Object Method -eq demo.Greeter/SayHello
        $call | Should -BeOfType ProtoRpc.RpcAccessLogEntry
        $call.Status | Should -Be OK
    }

    It 'makes warnings of the errors of the script block, and answers the calls' {
        $listener = Start-TestListener -Handler $handler -With @{
            AccessLog = { param($Call) Write-Error "no room for $($Call.Method)"; throw 'disk is full' }
        }
        $rpc = Connect-Test $listener
        ($rpc | Invoke-RpcMethod SayHello @{ name = 'Ann' }).text | Should -Be 'hi Ann'
        $rpc | Disconnect-RpcEndpoint
        $listener | Stop-RpcListener

        $warnings = @(Receive-RpcListener $listener 3>&1).Message
        $warnings | Where-Object { $_ -like '*no room for demo.Greeter/SayHello*' } | Should -Not -BeNullOrEmpty
        $warnings | Where-Object { $_ -like '*disk is full*' } | Should -Not -BeNullOrEmpty
    }

    It 'has the callers who are refused, and never their passwords' {
        $listener = Start-TestListener -Handler $handler -Endpoint 'http://127.0.0.1:0/' -With @{
            AccessLog = $path
            AllowUnencrypted = $true
            BasicCheck = { param($Credential) $Credential.GetNetworkCredential().Password -eq 'r1ght' }
        }
        $uri = "http://127.0.0.1:$($listener.Endpoint[0].Port)/demo.Greeter/SayHello"
        foreach ($password in 'wr0ng', 'r1ght') {
            $basic = [Convert]::ToBase64String([Text.Encoding]::UTF8.GetBytes("ann:$password"))
            $null = Invoke-WebRequest $uri -Method Post -Body '{"name":"x"}' -ContentType application/json `
                -Headers @{ Authorization = "Basic $basic" } -SkipHttpErrorCheck
        }
        $listener | Stop-RpcListener

        $calls = Get-Content $path | ConvertFrom-Json
        $calls.status | Should -Be 'Unauthenticated', 'OK'
        $calls.user | Should -Be '', 'ann'
        Get-Content -Raw $path | Should -Not -Match 'wr0ng|r1ght|Basic'
    }

    It 'is an error for a path that cannot be written' {
        { Start-TestListener -Handler $handler -With @{ AccessLog = $folder } } |
            Should -Throw -ErrorId 'CannotWriteFile,*'
    }

    It 'is an error for something else' {
        { Start-TestListener -Handler $handler -With @{ AccessLog = 42 } } |
            Should -Throw -ErrorId 'InvalidAccessLog,*'
    }
}
