# The version and the addresses here are those of all packages: Directory.Build.props reads them.
@{
    RootModule = 'ProtoRpc.psm1'
    ModuleVersion = '0.2.0'
    GUID = '5c0f2c0e-6f0a-4b53-9e0e-7f3d3b9a41c6'
    Author = 'ProtoRpc contributors'
    CompanyName = 'ProtoRpc contributors'
    Copyright = '(c) ProtoRpc contributors. MIT license. THIRD-PARTY-NOTICES.txt has the licenses of the software in it.'
    Description = 'Protocol Buffers RPC without code generation: load a schema, start listeners whose methods are script blocks, call services with hashtables.'
    PowerShellVersion = '7.6'
    CompatiblePSEditions = @('Core')
    FormatsToProcess = @(
        'cmdlets/views/Call.Format.ps1xml'
        'cmdlets/views/Connection.Format.ps1xml'
        'cmdlets/views/Endpoint.Format.ps1xml'
        'cmdlets/views/Exception.Format.ps1xml'
        'cmdlets/views/Listener.Format.ps1xml'
        'cmdlets/views/Load.Format.ps1xml'
        'cmdlets/views/Message.Format.ps1xml'
        'cmdlets/views/Mock.Format.ps1xml'
        'cmdlets/views/Option.Format.ps1xml'
        'cmdlets/views/Schema.Format.ps1xml'
        'cmdlets/views/Session.Format.ps1xml'
        'cmdlets/views/Stream.Format.ps1xml'
    )
    CmdletsToExport = @(
        'Assert-RpcMockCall'
        'Close-RpcStream'
        'Compare-RpcSchema'
        'Complete-RpcStream'
        'Connect-RpcEndpoint'
        'ConvertFrom-RpcMessage'
        'ConvertTo-RpcMessage'
        'ConvertTo-RpcRecord'
        'Disable-RpcCompletion'
        'Disconnect-RpcEndpoint'
        'Enable-RpcCompletion'
        'Export-RpcSchema'
        'Export-RpcService'
        'Get-RpcConnection'
        'Get-RpcEndpoint'
        'Get-RpcListener'
        'Get-RpcMessageType'
        'Get-RpcMethod'
        'Get-RpcMockCall'
        'Get-RpcService'
        'Get-RpcSession'
        'Import-RpcSchema'
        'Import-RpcService'
        'Invoke-RpcMethod'
        'Measure-RpcEndpoint'
        'New-RpcConnectionOption'
        'New-RpcListenerOption'
        'New-RpcMessage'
        'New-RpcMock'
        'Open-RpcStream'
        'Receive-RpcListener'
        'Receive-RpcStream'
        'Register-RpcEndpoint'
        'Remove-RpcSession'
        'Send-RpcStream'
        'Set-RpcListener'
        'Set-RpcMock'
        'Start-RpcListener'
        'Stop-RpcListener'
        'Test-RpcEndpoint'
        'Unregister-RpcEndpoint'
        'Wait-RpcEndpoint'
        'Wait-RpcListener'
    )
    FunctionsToExport = @()
    VariablesToExport = @()
    AliasesToExport = @()
    PrivateData = @{
        PSData = @{
            Tags = @('protobuf', 'rpc', 'dcerpc', 'grpc', 'ipc', 'PSEdition_Core', 'Windows', 'Linux', 'MacOS')
            # Owner and name in these four addresses are placeholders: replace them before you publish.
            # All packages get the addresses from here, and no other file contains them.
            ProjectUri = 'https://github.com/protorpc/protorpc'
            LicenseUri = 'https://github.com/protorpc/protorpc/blob/main/LICENSE'
            IconUri = 'https://raw.githubusercontent.com/protorpc/protorpc/main/docs/icon.png'
            ReleaseNotes = 'https://github.com/protorpc/protorpc/blob/main/CHANGELOG.md'
        }
    }
}
