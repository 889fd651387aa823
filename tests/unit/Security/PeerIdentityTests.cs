using System.Runtime.Versioning;
using System.Security.Principal;
using ProtoRpc.Client.Native;
using ProtoRpc.Security;
using ProtoRpc.Tests.Security.Sspi;
using ProtoRpc.Tests.Transports;

namespace ProtoRpc.Tests.Security;

public static class PeerIdentityTests
{
    [Theory]
    [InlineData("local")]
    [InlineData("pipe")]
    public static async Task The_kernel_names_user_and_process_of_a_local_caller(string kind)
    {
        PeerIdentity peer = await PeerOfCallerAsync(kind);

        Assert.True(peer.IsLocal);
        Assert.True(peer.User.IsAuthenticated);
        Assert.Equal("Kernel", peer.User.AuthenticationType);
        Assert.Equal(LocalUser.Name, peer.User.Name);
        Assert.Equal(Environment.ProcessId, peer.ProcessId);
        Assert.Equal("", peer.Address);
    }

    [WindowsFact]
    public static async Task A_handler_acts_as_the_caller_of_a_pipe()
    {
        if (!OperatingSystem.IsWindows())
        {
            return;
        }

        PeerIdentity peer = await PeerOfCallerAsync("pipe");

        WindowsIdentity caller = Assert.IsType<WindowsIdentity>(peer.User);
        string? acting = WindowsIdentity.RunImpersonated(caller.AccessToken, NameOfThread);
        Assert.Equal(caller.Name, acting);
        Assert.True(AccountGroups.Contains(caller, @"NT AUTHORITY\Authenticated Users"));
    }

    [Fact]
    public static async Task Nobody_vouches_for_a_tcp_caller()
    {
        PeerIdentity peer = await PeerOfCallerAsync("tcp");

        Assert.False(peer.IsLocal);
        Assert.False(peer.User.IsAuthenticated);
        Assert.Equal("", peer.User.Name);
        Assert.Equal(0, peer.ProcessId);
        Assert.StartsWith("127.0.0.1:", peer.Address, StringComparison.Ordinal);
    }

    [Fact]
    public static void A_user_without_a_name_is_its_number()
    {
        if (OperatingSystem.IsWindows())
        {
            return;
        }

        Assert.Equal(Environment.UserName, UnixAccounts.NameOf(UnixAccounts.EffectiveUserId));
        Assert.Equal("3999999999", UnixAccounts.NameOf(3999999999));
    }

    [Fact]
    public static void The_owner_of_a_file_is_told()
    {
        if (OperatingSystem.IsWindows())
        {
            return;
        }

        string file = Path.GetTempFileName();
        Assert.Equal(UnixAccounts.EffectiveUserId, UnixFileStatus.Read(file)?.Owner);
        File.Delete(file);
        Assert.Null(UnixFileStatus.Read(file)?.Owner);
        Assert.Equal(0u, UnixFileStatus.Read("/")?.Owner);
    }

    [SupportedOSPlatform("windows")]
    private static string? NameOfThread()
    {
        using WindowsIdentity? current = WindowsIdentity.GetCurrent(ifImpersonating: true);
        return current?.Name;
    }

    private static async Task<PeerIdentity> PeerOfCallerAsync(string kind)
    {
        PeerIdentity? peer = null;
        await using TestServer server = new(
            call =>
            {
                peer = call.Peer;
                Assert.Same(peer, call.Peer);
                return ValueTask.CompletedTask;
            },
            endpoint: NativeEndpoints.Fresh(kind));
        using NativeConnectionPool client = server.Connect();
        client.Call("who am I"u8);
        return peer!;
    }
}
