. (Join-Path $PSScriptRoot common.ps1)

Describe 'Messages in parts' {
    AfterEach { Clear-Test }

    It 'go when a request reaches MultiPartThreshold of Limits' {
        $listener = Start-TestListener { @{ number = $Request.name.Length } }
        $rpc = Connect-RpcEndpoint $listener.Endpoint[0] -Schema $listener.Schema `
            -Service demo.Greeter -ConnectionOption @{ Limits = @{ MultiPartThreshold = 2048 } }

        (Invoke-RpcMethod SayHello @{ name = 'x' * 100000 } -Connection $rpc).number | Should -Be 100000
        $listener.Calls | Should -BeGreaterThan 90
    }

    It 'go not at all with a MultiPartThreshold of 0' {
        $listener = Start-TestListener { @{ number = $Request.name.Length } }
        $rpc = Connect-RpcEndpoint $listener.Endpoint[0] -Schema $listener.Schema `
            -Service demo.Greeter -ConnectionOption @{ Limits = @{ MultiPartThreshold = 0 } }

        (Invoke-RpcMethod SayHello @{ name = 'x' * 100000 } -Connection $rpc).number | Should -Be 100000
        $listener.Calls | Should -Be 1
    }

    It 'refuse a threshold that is too small' {
        $problem = { Connect-RpcEndpoint 'ncalrpc:[none]' -ConnectionOption @{ Limits = @{ MultiPartThreshold = 100 } } -ErrorAction Stop } |
            Should -Throw -ErrorId 'InvalidLimit,*' -PassThru
        "$problem" | Should -BeLike 'MultiPartThreshold of Limits is 100; it must be at least 2,048, or 0 to send no parts.*'
    }

    It 'have a threshold that is a limit, not a setting of connections' {
        { Connect-RpcEndpoint 'ncalrpc:[none]' -ConnectionOption @{ MultiPartThreshold = 4096 } } |
            Should -Throw -ErrorId 'ParameterArgumentTransformationError,*' `
                -ExpectedMessage '*It is a limit: write Limits = @{ MultiPartThreshold = ... }.*'
    }

    It 'show their progress once they take longer than a second' {
        $listener = Start-TestListener { } -With @{ Filter = { Start-Sleep -Milliseconds 250; $Next.Invoke() } }
        $shell = [powershell]::Create()
        $null = $shell.AddScript({
            param($Manifest, $Endpoint, $Schema)
            Import-Module $Manifest
            $rpc = Connect-RpcEndpoint $Endpoint -Schema $Schema -Service demo.Greeter -ConnectionOption @{ Limits = @{ MultiPartThreshold = 2048 } }
            Invoke-RpcMethod SayHello @{ name = 'x' * 8000 } -Connection $rpc
            Disconnect-RpcEndpoint $rpc
        })
        $null = $shell.AddParameters(
            @($ModuleManifest, "$($listener.Endpoint)", (Join-Path $TestProtos greeter.proto))).Invoke()

        $shell.Streams.Error | Should -BeNullOrEmpty
        $records = $shell.Streams.Progress | Where-Object Activity -EQ 'Sending to demo.Greeter/SayHello'
        $records[0].PercentComplete | Should -BeIn (1..100)
        $records[0].StatusDescription | Should -BeLike '* of 8,0* bytes'
        $records[-1].RecordType | Should -Be 'Completed'
        $shell.Dispose()
    }
}
