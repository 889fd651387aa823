using System.Runtime.Versioning;
using System.Security.Principal;
using ProtoRpc.Client.Native;
using ProtoRpc.Security;
using ProtoRpc.Tests.Transports;

namespace ProtoRpc.Tests.Security;

public static class ServerAccountTests
{
    // The server, the named account, the own account, and the id of those without one here.
    [Theory]
    [InlineData(1000u, null, 1000u, null, true)]
    [InlineData(0u, null, 1000u, null, true)]
    [InlineData(1001u, null, 1000u, null, false)]
    [InlineData(1001u, null, 0u, null, false)]
    [InlineData(1001u, 1001u, 1000u, null, true)]
    [InlineData(1002u, 1001u, 1000u, null, false)]
    [InlineData(0u, 1001u, 1000u, null, true)]
    [InlineData(1000u, 1001u, 1000u, null, true)]
    [InlineData(65534u, null, 1000u, 65534u, false)]
    [InlineData(65534u, null, 65534u, 65534u, false)]
    [InlineData(65534u, null, 65534u, null, true)]
    [InlineData(65534u, 65534u, 1000u, 65534u, true)]
    [InlineData(65534u, 1001u, 1000u, 65534u, false)]
    [InlineData(null, null, 1000u, null, false)]
    [InlineData(null, 1001u, 1000u, null, false)]
    public static void Root_the_own_and_the_named_account_may_have_secrets(
        uint? server, uint? named, uint own, uint? unmapped, bool expected)
    {
        Assert.Equal(expected, ServerAccount.MayHaveSecrets(server, named, own, unmapped));
    }

    [Fact]
    [UnsupportedOSPlatform("windows")]
    public static void An_account_without_an_id_here_is_told_with_what_to_do()
    {
        if (OperatingSystem.IsWindows())
        {
            return;
        }

        uint? unmapped = UnixAccounts.UnmappedUserId;
        Assert.SkipWhen(unmapped is null, "this is no container with ids of its own");

        RpcException error = Assert.Throws<RpcException>(() => ServerAccount.Require(
            RpcEndpoint.Parse("grpc+unix:///run/x"), unmapped, null));

        Assert.Contains("container", error.Message);
        Assert.Contains($"ServerUser to '{unmapped}'", error.Message);
    }

    [Theory]
    [InlineData("S-1-5-19", null, false)]
    [InlineData("S-1-5-19", "S-1-5-20", false)]
    [InlineData("S-1-5-19", "S-1-5-19", true)]
    [InlineData("S-1-5-18", null, true)]
    [InlineData("S-1-5-32-544", null, true)]
    [InlineData("S-1-1-0", null, false)]
    [InlineData(null, "S-1-5-19", false)]
    [SupportedOSPlatform("windows")]
    public static void Administrators_the_system_and_the_named_account_may_have_secrets_on_Windows(
        string? server, string? named, bool expected)
    {
        Assert.SkipUnless(
            OperatingSystem.IsWindows(), "only Windows has this; the windows suite runs it under Wine");
        if (!OperatingSystem.IsWindows())
        {
            return;
        }

        SecurityIdentifier? account = server is null ? null : new(server);
        RpcException? error = Record.Exception(
            () => ServerAccount.Require(RpcEndpoint.Local("x"), account, named)) as RpcException;

        Assert.Equal(expected ? null : "ServerAccountNotTrusted", error?.ErrorId);
    }

    [Fact]
    public static void An_account_is_found_by_its_name()
    {
        if (!OperatingSystem.IsWindows())
        {
            Assert.Equal(0u, UnixAccounts.FindUserId("root"));
            Assert.Equal(UnixAccounts.EffectiveUserId, UnixAccounts.FindUserId(Environment.UserName));
            Assert.Null(UnixAccounts.FindUserId("no such account"));
            Assert.Null(UnixAccounts.FindUserId(new string('x', 10_000)));
        }
    }

    [Theory]
    [InlineData("no such account")]
    [InlineData("\u001b[2J")]
    [InlineData("-1")]
    [InlineData("4294967296")]
    public static void An_account_that_there_is_not_fails_before_connecting(string name)
    {
        RpcException error = Assert.Throws<RpcException>(() => RpcClient.Connect(
            "grpc+unix:///tmp/no.such.socket", With(name)));

        Assert.Equal((RpcStatusCode.InvalidArgument, "InvalidSecurity"), (error.Code, error.ErrorId));
        Assert.DoesNotContain("\u001b", error.Message);
    }

    [Theory]
    [InlineData("tcp://127.0.0.1:1")]
    [InlineData("grpc://127.0.0.1:1")]
    [InlineData("https://127.0.0.1:1")]
    [InlineData("inproc://x")]
    [InlineData("pipe://other/x")]
    public static void An_endpoint_whose_server_the_system_does_not_report_is_refused(string endpoint)
    {
        RpcException error = Assert.Throws<RpcException>(() => RpcClient.Connect(endpoint, With("root")));

        Assert.Equal(
            (RpcStatusCode.InvalidArgument, "AuthenticationNotSupported"), (error.Code, error.ErrorId));
    }

    [Theory]
    [InlineData("local")]
    [InlineData("pipe")]
    public static async Task A_local_server_of_the_own_account_is_called_whoever_is_named(string kind)
    {
        await using TestServer server = TestServer.Echoing(kind);
        string named = OperatingSystem.IsWindows() ? "S-1-5-19" : "54321";

        using NativeConnectionPool client = NativeConnectionPool.Connect(
            server.Endpoint, server.InterfaceId, RpcLimits.Default, new() { ServerUser = named });

        Assert.Equal("x"u8.ToArray(), client.Call("x"u8));
    }

    private static RpcClientOptions With(string name) => new() { Security = new() { ServerUser = name } };
}
