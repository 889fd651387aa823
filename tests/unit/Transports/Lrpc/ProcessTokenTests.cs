using System.Runtime.Versioning;
using System.Security.Principal;
using ProtoRpc.Tests.Security.Sspi;
using ProtoRpc.Transports.Lrpc;

namespace ProtoRpc.Tests.Transports.Lrpc;

[SupportedOSPlatform("windows")]
public static class ProcessTokenTests
{
    private const int Untrusted = 0;
    private const int Low = 0x1000;
    private const int Medium = 0x2000;
    private const int High = 0x3000;

    [Theory]
    [InlineData(Medium, Medium, true)]
    [InlineData(Medium, High, true)]
    [InlineData(High, Medium, true)]
    [InlineData(High, Low, false)]
    [InlineData(Medium, Medium - 1, false)]
    [InlineData(Medium, Low, false)]
    [InlineData(Low, Low, true)]
    [InlineData(Low, Untrusted, false)]
    public static void A_caller_in_a_sandbox_is_not_trusted_unless_the_server_is_in_one(
        int own, int caller, bool isEnough) =>
        Assert.Equal(isEnough, ProcessToken.IsEnough(own, caller));

    [WindowsFact]
    public static void The_account_of_the_process_is_trusted_and_anonymous_is_not()
    {
        using WindowsIdentity self = WindowsIdentity.GetCurrent();
        using WindowsIdentity anonymous = WindowsIdentity.GetAnonymous();

        Assert.Equal(self.User, ProcessToken.User);
        Assert.True(ProcessToken.Trusts(self));
        Assert.False(ProcessToken.Trusts(anonymous));
    }
}
