using System.IO.Pipes;
using System.Runtime.Versioning;
using System.Security.AccessControl;
using System.Security.Principal;
using ProtoRpc.Tests.Security.Sspi;

namespace ProtoRpc.Tests.Security;

/// <summary>The access lists of pipes that are open to other accounts.</summary>
public static class PipeAccessTests
{
    [WindowsFact]
    public static async Task An_allowed_account_uses_a_pipe_and_cannot_make_another_instance()
    {
        if (!OperatingSystem.IsWindows())
        {
            return;
        }

        SecurityIdentifier account = new(WellKnownSidType.LocalServiceSid, null);
        await using RpcServer server = EchoServer.Start(
            RpcTransport.NamedPipe, new() { Security = new() { AllowedUsers = [account.Value] } });
        await using NamedPipeClientStream pipe = new(
            ".", server.Endpoints[0].Name, PipeDirection.InOut, PipeOptions.Asynchronous);
        await pipe.ConnectAsync(TimeSpan.FromSeconds(20), CancellationToken.None);

        PipeAccessRule rule = Assert.Single(RulesOf(pipe, account));

        Assert.Equal(AccessControlType.Allow, rule.AccessControlType);
        Assert.Equal(PipeAccessRights.ReadWrite, rule.PipeAccessRights & PipeAccessRights.ReadWrite);
        Assert.Equal(default, rule.PipeAccessRights & PipeAccessRights.CreateNewInstance);
        Assert.Equal(default, rule.PipeAccessRights & PipeAccessRights.ChangePermissions);
    }

    [WindowsFact]
    public static void A_name_that_Windows_does_not_have_is_an_error_at_the_start()
    {
        RpcException error = Assert.Throws<RpcException>(() => EchoServer.Start(
            RpcTransport.Local, new() { Security = new() { AllowedGroups = [@"NOWHERE\nobody"] } }));

        Assert.Equal("InvalidSecurity", error.ErrorId);
    }

    [SupportedOSPlatform("windows")]
    private static IEnumerable<PipeAccessRule> RulesOf(PipeStream pipe, SecurityIdentifier account) => pipe
        .GetAccessControl().GetAccessRules(true, false, typeof(SecurityIdentifier)).Cast<PipeAccessRule>()
        .Where(rule => rule.IdentityReference == account);
}
