using System.Runtime.Versioning;
using System.Security.AccessControl;
using System.Security.Principal;
using ProtoRpc.Tests.Schema;

namespace ProtoRpc.Tests.Endpoints;

/// <summary>Who may write to the file of named endpoints on Windows.</summary>
public sealed class EndpointFileWindowsTests : IDisposable
{
    private readonly TempFolder _folder = new();

    private string FilePath => Path.Combine(_folder.Path, "endpoints.json");

    private RpcEndpointRegistry Registry => new(FilePath);

    public void Dispose() => _folder.Dispose();

    [Theory]
    [InlineData("Modify", true)]
    [InlineData("FullControl", true)]
    [InlineData("Read", false)]
    public void AFileThatOthersCanWriteIsRefusedOnWindows(string rights, bool isRefused)
    {
        if (!OperatingSystem.IsWindows())
        {
            return;
        }

        Registry.Register(new("shop", RpcEndpoint.Local("a")));
        AllowOthers(rights);

        if (isRefused)
        {
            RpcException error = Assert.Throws<RpcException>(() => Registry.Read());
            Assert.Equal(RpcErrorIds.EndpointFileNotSafe, error.ErrorId);
            Assert.Equal(RpcStatusCode.PermissionDenied, error.Code);
            Assert.Contains("icacls", error.Message, StringComparison.Ordinal);
        }
        else
        {
            Assert.Single(Registry.Read());
        }
    }

    [SupportedOSPlatform("windows")]
    private void AllowOthers(string rights)
    {
        FileSecurity security = new();
        security.SetAccessRuleProtection(isProtected: true, preserveInheritance: false);
        using WindowsIdentity owner = WindowsIdentity.GetCurrent();
        security.AddAccessRule(new FileSystemAccessRule(
            owner.User!, FileSystemRights.FullControl, AccessControlType.Allow));
        security.AddAccessRule(new FileSystemAccessRule(
            new SecurityIdentifier(WellKnownSidType.WorldSid, null),
            Enum.Parse<FileSystemRights>(rights),
            AccessControlType.Allow));
        new FileInfo(FilePath).SetAccessControl(security);
    }
}
