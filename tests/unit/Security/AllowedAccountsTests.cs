using System.Net.Sockets;
using System.Runtime.Versioning;
using ProtoRpc.Security;
using ProtoRpc.Transports;

namespace ProtoRpc.Tests.Security;

/// <summary>Local endpoints that are open to other accounts, called by other accounts.</summary>
[UnsupportedOSPlatform("windows")]
public static class AllowedAccountsTests
{
    [Theory]
    [InlineData(RpcTransport.Local)]
    [InlineData(RpcTransport.NamedPipe)]
    public static void An_allowed_user_calls_and_others_do_not(RpcTransport transport)
    {
        SkipUnlessRoot();
        using RpcServer server = EchoServer.Start(transport, Allowing([OtherAccount.Daemon], []));

        Assert.Equal(OtherAccount.Daemon, UserAs(OtherAccount.DaemonId, server));
        Assert.Equal("root", UserAs(0, server));
        RpcException error = RefusalAs(OtherAccount.BinId, server);
        Assert.Equal(
            (RpcStatusCode.PermissionDenied, server.Endpoints[0]), (error.Code, error.Endpoint));
        Assert.Contains("RpcServerSecurity.AllowedUsers", error.Message);
        Assert.Equal(RpcStatusCode.PermissionDenied, RefusalAs(OtherAccount.UserId, server).Code);
        Assert.Equal(2, server.Counters.Calls);
    }

    [Fact]
    public static void Members_of_an_allowed_group_call_and_others_do_not()
    {
        SkipUnlessRoot();
        using RpcServer server = EchoServer.Start(
            RpcTransport.Local, Allowing([$"{OtherAccount.UserId}"], [OtherAccount.Daemon]));

        Assert.Equal(OtherAccount.Daemon, UserAs(OtherAccount.DaemonId, server));
        Assert.Equal($"{OtherAccount.UserId}", UserAs(OtherAccount.UserId, server));
        Assert.Equal(RpcStatusCode.PermissionDenied, RefusalAs(OtherAccount.BinId, server).Code);
    }

    [Fact]
    public static void A_single_group_is_also_checked_by_the_mode_of_the_socket()
    {
        SkipUnlessRoot();
        using RpcServer server = EchoServer.Start(RpcTransport.Local, Allowing([], [OtherAccount.Daemon]));

        Assert.Equal(OtherAccount.Daemon, UserAs(OtherAccount.DaemonId, server));
        RpcException error = RefusalAs(OtherAccount.BinId, server);
        Assert.Equal(RpcStatusCode.PermissionDenied, error.Code);
        Assert.IsType<SocketException>(error.InnerException);
        Assert.Equal(
            UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.GroupRead | UnixFileMode.GroupWrite,
            File.GetUnixFileMode(SharedSocketOf(server.Endpoints[0])));
    }

    [Fact]
    public static void Without_allowed_accounts_an_endpoint_is_for_the_own_account_alone()
    {
        SkipUnlessRoot();
        using RpcServer server = EchoServer.Start(RpcTransport.Local);

        RpcException error = RefusalAs(OtherAccount.DaemonId, server);

        Assert.Equal(RpcStatusCode.Unavailable, error.Code);
        Assert.Contains("RpcClientSecurity.ServerUser", error.Message);
    }

    [Fact]
    public static void A_client_names_the_account_of_a_server_other_than_root()
    {
        SkipUnlessRoot();
        using RpcServer server = EchoServer.Create(Allowing(["root"], []))
            .AddEndpoint(EchoServer.NewEndpoint(RpcTransport.Local));
        string folder = $"/tmp/protorpc-shared-{OtherAccount.UserId}";
        OtherAccount.Run(() => server.StartListening());
        try
        {
            RpcClientOptions options = new() { Security = new() { ServerUser = $"{OtherAccount.UserId}" } };

            Assert.Equal("root", UserAs(0, server, options));
            Assert.Equal(RpcStatusCode.Unavailable, RefusalAs(0, server).Code);
            Assert.Equal(
                OtherAccount.UserId, UnixFileStatus.Read(SocketIn(folder, server.Endpoints[0]))?.Owner);
        }
        finally
        {
            server.Dispose();
            Directory.Delete(folder, recursive: true);
        }
    }

    [Fact]
    public static void Another_account_gets_no_text_of_an_exception()
    {
        SkipUnlessRoot();
        using RpcServer server = EchoServer.Start(
            RpcTransport.Local, Allowing([OtherAccount.Daemon], []));

        RpcException own = Failure(0, server);
        RpcException other = Failure(OtherAccount.DaemonId, server);

        Assert.Contains("secret", own.Remote!.Message);
        Assert.DoesNotContain("secret", $"{other}{other.Remote?.Message}{other.Remote?.StackTrace}");
    }

    [Theory]
    [InlineData("no such user", null, "AllowedUsers")]
    [InlineData("", null, "AllowedUsers")]
    [InlineData(null, "no such group", "AllowedGroups")]
    [InlineData("root", "\u001b[2J", "AllowedGroups")]
    public static void An_account_that_there_is_not_is_an_error_at_the_start(
        string? user, string? group, string member)
    {
        SkipUnlessUnix();
        RpcException error = Assert.Throws<RpcException>(() => EchoServer.Start(
            RpcTransport.Local, Allowing(user is null ? [] : [user], group is null ? [] : [group])));

        Assert.Equal((RpcStatusCode.InvalidArgument, "InvalidSecurity"), (error.Code, error.ErrorId));
        Assert.Contains($"RpcServerSecurity.{member}", error.Message);
        Assert.DoesNotContain("\u001b", error.Message);
    }

    [Fact]
    public static void Accounts_without_a_local_endpoint_are_an_error_at_the_start()
    {
        RpcException error = Assert.Throws<RpcException>(
            () => EchoServer.Start(RpcTransport.Tcp, Allowing(["root"], [])));

        Assert.Equal((RpcStatusCode.InvalidArgument, "InvalidSecurity"), (error.Code, error.ErrorId));
        Assert.Contains("local://", error.Message);
    }

    [Fact]
    public static void Listeners_of_an_endpoint_allow_the_same_accounts()
    {
        SkipUnlessUnix();
        using RpcServer server = EchoServer.Start(RpcTransport.Local, Allowing(["root"], []));
        RpcServer Other(RpcServerOptions options) => RpcServer.Create(
                EchoServer.Schema, "Other", options)
            .AddEndpoint(server.Endpoints[0]).StartListening();

        RpcException error = Assert.Throws<RpcException>(() => Other(Allowing([], ["root"])));
        using RpcServer same = Other(Allowing(["0", "root"], []));

        Assert.Equal("OtherAllowedAccounts", error.ErrorId);
        Assert.True(same.IsListening);
    }

    [Fact]
    public static void A_name_that_a_listener_has_for_its_own_account_is_in_use()
    {
        SkipUnlessUnix();
        RpcEndpoint endpoint = EchoServer.NewEndpoint(RpcTransport.Local);
        using Socket listener = new(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        listener.Bind(new UnixDomainSocketEndPoint(
            UnixSocketTransport.PathOf(endpoint, LocalSocketDirectory.Prepare(endpoint, "local"))));
        listener.Listen();

        RpcException error = Assert.Throws<RpcException>(
            () => EchoServer.Create(Allowing(["root"], [])).AddEndpoint(endpoint).StartListening());

        Assert.Equal("EndpointInUse", error.ErrorId);
    }

    [Fact]
    public static void The_groups_of_a_user_are_those_of_the_database()
    {
        SkipUnlessRoot();

        Assert.Equal(OtherAccount.DaemonId, UnixGroups.FindId(OtherAccount.Daemon));
        Assert.Null(UnixGroups.FindId("no such group"));
        Assert.Contains(OtherAccount.DaemonId, UnixGroups.IdsOf(OtherAccount.DaemonId));
        Assert.Empty(UnixGroups.IdsOf(OtherAccount.UserId));
    }

    private static RpcServerOptions Allowing(string[] users, string[] groups) =>
        new() { Security = new() { AllowedUsers = users, AllowedGroups = groups } };

    private static string UserAs(uint user, RpcServer server, RpcClientOptions? options = null)
    {
        string name = "";
        As(user, () =>
        {
            using RpcClient client = EchoServer.Connect(server, options);
            name = client.Invoke<EchoReply>("Say", new EchoRequest { Text = "x" }).User;
        });
        return name;
    }

    private static RpcException RefusalAs(uint user, RpcServer server) =>
        CatchAs(user, () => EchoServer.Connect(server, new() { RetryCount = 0 }).Dispose());

    private static RpcException Failure(uint user, RpcServer server) => CatchAs(user, () =>
    {
        using RpcClient client = EchoServer.Connect(server);
        client.Invoke<EchoReply>("Fail", new EchoRequest { Text = "a secret of the server" });
    });

    private static RpcException CatchAs(uint user, Action action)
    {
        Exception? caught = null;
        As(user, () => caught = Record.Exception(action));
        return Assert.IsType<RpcException>(caught);
    }

    private static void As(uint user, Action action)
    {
        if (user == 0)
        {
            action();
        }
        else
        {
            OtherAccount.Run(user, action);
        }
    }

    private static string SharedSocketOf(RpcEndpoint endpoint) => SharedSocketDirectory.Find(0, "local")
        .Select(directory => UnixSocketTransport.PathOf(endpoint, directory)).Single(File.Exists);

    private static string SocketIn(string folder, RpcEndpoint endpoint) =>
        UnixSocketTransport.PathOf(endpoint, Path.Combine(folder, "local"));

    private static void SkipUnlessRoot() =>
        Assert.SkipWhen(OtherAccount.Missing is not null, OtherAccount.Missing ?? "");

    private static void SkipUnlessUnix() =>
        Assert.SkipWhen(OperatingSystem.IsWindows(), "Windows has pipes with access lists instead");
}
