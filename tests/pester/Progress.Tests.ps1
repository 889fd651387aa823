. (Join-Path $PSScriptRoot common.ps1)

Describe 'Progress of calls' {
    BeforeAll {
        # Runs a script in a shell of its own, and gives its progress records of the calls.
        function Get-Progress([string] $Script, [object[]] $Argument) {
            $shell = [powershell]::Create()
            try {
                $begin = '$Module, $Endpoint, $Proto = $args; Import-Module $Module; ' +
                    '$rpc = Connect-RpcEndpoint $Endpoint -Schema $Proto -Service demo.Greeter; '
                $null = $shell.AddScript($begin + $Script).AddArgument($ModuleManifest)
                $Argument | ForEach-Object { $null = $shell.AddArgument($_) }
                $null = $shell.AddArgument((Join-Path $TestProtos greeter.proto)).Invoke()
                $shell.Streams.Error | Should -BeNullOrEmpty
                , @($shell.Streams.Progress | Where-Object Activity -Match 'SayHello|Watch')
            }
            finally {
                $shell.Runspace.Close()
                $shell.Dispose()
            }
        }

        $slow = {
            param($Request)
            if ($Request.name -eq 'slow') { [Threading.Tasks.Task]::Delay(2500).Wait() }
            @{ text = 'done' }
        }
        $watch = {
            param($Request)
            1..3 | ForEach-Object { @{ text = "$_" } }
            if ($Request.name -eq 'slow') { [Threading.Tasks.Task]::Delay(2500).Wait() }
        }
        $listener = Start-TestListener @{ SayHello = $slow; Watch = $watch } -Endpoint grpc://127.0.0.1:0
        $endpoint = "$($listener.Endpoint[0])"
    }

    AfterAll {
        Get-Job | Remove-Job -Force
        Clear-Test
    }

    It 'is shown by a fan-out after a second, and taken away' {
        $records = Get-Progress '$two = Connect-RpcEndpoint $Endpoint -Schema $Proto -Service demo.Greeter;
            Invoke-RpcMethod SayHello @{ name = "slow" } -Connection $rpc, $two' $endpoint

        $records[0].StatusDescription | Should -Be '0 of 2 calls ended, 0 failed'
        $records[-1].RecordType | Should -Be 'Completed'
    }

    It 'is shown by a long stream after a second, and taken away' {
        $records = Get-Progress '$rpc | Invoke-RpcMethod Watch @{ name = "slow" }' $endpoint

        $records[0].StatusDescription | Should -Be '1 sent, 3 received'
        $records[-1].RecordType | Should -Be 'Completed'
    }

    It 'is kept by a job' {
        $rpc = Connect-Test $listener
        $job = Invoke-RpcMethod SayHello @{ name = 'slow' } -Connection $rpc -AsJob
        $null = $job | Wait-Job -Timeout 30

        $job.State | Should -Be 'Completed'
        $job.Progress[0].StatusDescription | Should -Be '0 of 1 calls ended, 0 failed'
        $job.Progress[-1].RecordType | Should -Be 'Completed'
    }

    It 'is not shown by what is fast' {
        Get-Progress '$rpc | Invoke-RpcMethod SayHello; $rpc | Invoke-RpcMethod Watch;
            Invoke-RpcMethod SayHello -Connection $rpc, $rpc' $endpoint | Should -BeNullOrEmpty
    }
}
