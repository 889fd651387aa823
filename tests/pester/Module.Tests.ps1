. (Join-Path $PSScriptRoot common.ps1)

Describe 'The module' {
    AfterAll { Clear-Test }

    It 'exports the cmdlets of its manifest and nothing else' {
        $wanted = (Import-PowerShellDataFile $ModuleManifest).CmdletsToExport | Sort-Object
        (Get-Command -Module ProtoRpc).Name | Sort-Object | Should -Be $wanted
    }

    It 'keeps its cmdlets when it is imported twice with -Force' {
        $result = Invoke-Pwsh @"
Import-Module '$ModuleManifest'
Import-Module '$ModuleManifest' -Force
Import-Module '$ModuleManifest' -Force
(Get-Command -Module ProtoRpc).Count
(Get-RpcMethod -Schema '$TestProtos/greeter.proto' SayHello).FullName
"@

        $result.Error | Should -BeNullOrEmpty
        $lines = $result.Output.Trim() -split '\r?\n'
        $lines[0] | Should -Be (Get-Command -Module ProtoRpc).Count
        $lines[1] | Should -Be 'demo.Greeter/SayHello'
    }

    It 'is not disturbed by another Google.Protobuf that a script loaded before' {
        $result = Invoke-Pwsh @"
`$folder = Join-Path ([IO.Path]::GetTempPath()) ([guid]::NewGuid())
`$null = New-Item -ItemType Directory `$folder
Add-Type -OutputAssembly "`$folder/Google.Protobuf.dll" -OutputType Library -TypeDefinition @'
[assembly: System.Reflection.AssemblyVersion("2.0.0.0")]
namespace Google.Protobuf { public class MessageParser { public string Who() => "another"; } }
'@
Add-Type -Path "`$folder/Google.Protobuf.dll"
[Google.Protobuf.MessageParser]::new().Who()
Import-Module '$ModuleManifest'
`$schema = Import-RpcSchema '$TestProtos/greeter.proto'
`$bytes = ConvertTo-RpcMessage demo.HelloReply @{ text = 'hi' } -Schema `$schema
(ConvertFrom-RpcMessage demo.HelloReply `$bytes -Schema `$schema).text
[Google.Protobuf.MessageParser]::new().Who()
"@

        $result.Error | Should -BeNullOrEmpty
        $result.Output.Trim() -split '\r?\n' | Should -Be 'another', 'hi', 'another'
    }

    It 'keeps its own Google.Protobuf out of the default load context' {
        $result = Invoke-Pwsh @"
Import-Module '$ModuleManifest'
`$null = Import-RpcSchema '$TestProtos/greeter.proto'
[System.Runtime.Loader.AssemblyLoadContext]::Default.Assemblies.ForEach{ `$_.GetName().Name } -match 'Protobuf|ProtoRpc'
"@

        $result.Output.Trim() -split '\r?\n' | Sort-Object | Should -Be 'ProtoRpc.Loader', 'ProtoRpc.Shared'
    }

    It 'lets scripts name the shared types' {
        ([ProtoRpc.RpcEndpoint]'tcp://localhost:8080').ToString() | Should -Be 'ncacn_ip_tcp:localhost[8080]'
        [ProtoRpc.RpcStatusCode]::NotFound | Should -Be 5
    }

    It 'says what to do when it was not built' {
        $folder = Join-Path $TestDrive unbuilt
        New-Item -ItemType Directory (Join-Path $folder cmdlets) | Out-Null
        Get-ChildItem (Split-Path $ModuleManifest) -File -Filter ProtoRpc.* | Copy-Item -Destination $folder
        Copy-Item (Join-Path (Split-Path $ModuleManifest) cmdlets/views) (Join-Path $folder cmdlets/views) -Recurse

        { Import-Module (Join-Path $folder ProtoRpc.psd1) -ErrorAction Stop } | Should -Throw "*Run 'dotnet build cmdlets/ProtoRpc.PowerShell'*"
    }

    It 'stops listeners and closes connections when it is removed' {
        $result = Invoke-Pwsh @"
Import-Module '$ModuleManifest'
`$endpoint = 'ncalrpc:[$(New-TestName)]'
`$listener = Start-RpcListener `$endpoint { @{} } -Schema '$TestProtos/greeter.proto' -Service demo.Greeter
`$rpc = Connect-RpcEndpoint `$endpoint -Schema `$listener.Schema -Service demo.Greeter
Remove-Module ProtoRpc
`$listener.State
`$rpc.State
"@

        $result.Output.Trim() -split '\r?\n' | Should -Be 'Stopped', 'Closed'
    }

    It 'lets the shell exit while a listener runs an endless handler' {
        $result = Invoke-Pwsh @"
Import-Module '$ModuleManifest'
`$endpoint = 'ncalrpc:[$(New-TestName)]'
`$with = @{ Schema = '$TestProtos/greeter.proto'; Service = 'demo.Greeter' }
`$listener = Start-RpcListener `$endpoint { while (`$true) { } } @with
`$job = 0 | ForEach-Object -AsJob -Parallel {
    Import-Module '$ModuleManifest'
    Connect-RpcEndpoint `$using:endpoint -Schema '$TestProtos/greeter.proto' -Service demo.Greeter
    Invoke-RpcMethod SayHello -Deadline 60
}
while (`$listener.InFlight -eq 0) { Start-Sleep -Milliseconds 10 }
'exiting'
exit 0
"@ -Seconds 30

        $result.Ended | Should -BeTrue
        $result.ExitCode | Should -Be 0
        $result.Output | Should -Match 'exiting'
    }

    It 'frees its endpoints when the shell exits' {
        $name = New-TestName
        $result = Invoke-Pwsh @"
Import-Module '$ModuleManifest'
`$null = Start-RpcListener 'ncalrpc:[$name]' { @{} } -Schema '$TestProtos/greeter.proto' -Service demo.Greeter
exit 0
"@

        $result.ExitCode | Should -Be 0
        $listener = Start-TestListener { @{ text = 'mine now' } } -Endpoint "ncalrpc:[$name]"
        (Connect-Test $listener | Invoke-RpcMethod SayHello).text | Should -Be 'mine now'
    }
}
