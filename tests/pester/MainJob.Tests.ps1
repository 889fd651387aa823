. (Join-Path $PSScriptRoot common.ps1)

Describe 'The main job' {
    AfterEach { Clear-Test }

    It 'works as the documentation writes it, on three transports' {
        Push-Location $RepositoryRoot
        try {
            $name = New-TestName
            $schema = Import-RpcSchema ./protos/sample.proto
            $listener = Start-RpcListener -Schema $schema -Service Sample.MyService `
                -Endpoint "ncalrpc:[$name]", "ncacn_np:[\pipe\$name]", 'ncacn_ip_tcp:127.0.0.1[0]' -Handler @{
                Send = { param($Request) Write-Information "$($RpcContext.User.Name) says: $($Request.message)"; @{} }
            }
            foreach ($endpoint in $listener.Endpoint) {
                $rpc = Connect-RpcEndpoint $endpoint -Schema $schema
                $rpc | Invoke-RpcMethod Send @{ message = "Hello via $($endpoint.Transport)!" }
                $rpc | Disconnect-RpcEndpoint
            }
        }
        finally {
            Pop-Location
        }

        $said = $listener | Receive-RpcListener 6>&1 | ForEach-Object { "$_" }
        $said | Should -Be @(
            "$OwnName says: Hello via Local!"
            "$OwnName says: Hello via NamedPipe!"
            ' says: Hello via Tcp!'
        )
    }

    It 'reads both ways of writing an endpoint' {
        $name = New-TestName
        $listener = Start-TestListener @{ SayHello = { @{ text = "$($RpcContext.Endpoint)" } } } `
            -Endpoint "local://$name", "pipe://./$name", 'tcp://127.0.0.1:0'
        $port = $listener.Endpoint[2].Port

        foreach ($endpoint in "ncalrpc:[$name]", "ncacn_np:[\pipe\$name]", "ncacn_ip_tcp:127.0.0.1[$port]") {
            $rpc = Connect-RpcEndpoint $endpoint -Schema $listener.Schema -Service demo.Greeter
            ($rpc | Invoke-RpcMethod SayHello).text | Should -Be $endpoint
        }
    }

    It 'serves another process' {
        $listener = Start-TestListener @{
            SayHello = { param($Request) @{ text = "hi $($Request.name) from $($RpcContext.ProcessId)" } }
        }

        $result = Invoke-Pwsh @"
Import-Module '$ModuleManifest'
`$null = Connect-RpcEndpoint '$($listener.Endpoint)' -Schema '$TestProtos/greeter.proto' -Service demo.Greeter
(Invoke-RpcMethod SayHello @{ name = 'Ann' }).text -eq "hi Ann from `$PID"
"@

        $result.Error | Should -BeNullOrEmpty
        $result.Output.Trim() | Should -Be 'True'
    }

    It 'serves many callers at once' {
        $listener = Start-TestListener @{ SayHello = { param($Request) @{ text = "hi $($Request.name)" } } } `
            -With @{ ListenerOption = @{ WorkerCount = 3 } }
        $endpoint = "$($listener.Endpoint)"

        $wrong = 1..6 | ForEach-Object -ThrottleLimit 6 -Parallel {
            Import-Module $using:ModuleManifest
            $rpc = Connect-RpcEndpoint $using:endpoint `
                -Schema (Join-Path $using:TestProtos greeter.proto) -Service demo.Greeter
            foreach ($i in 1..100) {
                $text = ($rpc | Invoke-RpcMethod SayHello @{ name = "$_.$i" }).text
                if ($text -ne "hi $_.$i") { $text }
            }
            $rpc | Disconnect-RpcEndpoint
        }

        $wrong | Should -BeNullOrEmpty
        $listener.Calls | Should -Be 600
        $listener.Errors | Should -Be 0
        $listener.Workers | Should -BeLessOrEqual 3
    }

    It 'shows who said what in the example' {
        $result = Invoke-Pwsh "& '$RepositoryRoot/examples/hello.ps1'"

        $result.Error | Should -BeNullOrEmpty
        $user = $OwnName
        $result.Output.Trim() -split '\r?\n' | Should -Be @(
            "$user says: Hello via LRPC!"
            "$user says: Hello via NP!"
            'anonymous says: Hello via TCP!'
        )
    }
}
