using System.Management.Automation;
using System.Management.Automation.Provider;
using ProtoRpc.PowerShell.Runspaces;

namespace ProtoRpc;

/// <summary>The provider of the drives that stop mocks with their scopes.</summary>
[CmdletProvider(Name, ProviderCapabilities.None)]
public sealed class RpcMockProvider : DriveCmdletProvider
{
    internal const string Name = "RpcMock";

    /// <inheritdoc/>
    protected override PSDriveInfo RemoveDrive(PSDriveInfo drive)
    {
        (drive as MockDrive)?.Leave(SessionState);
        return drive;
    }
}
