using System.Net.Sockets;
using System.Runtime.Versioning;
using ProtoRpc.Client.Native;
using ProtoRpc.Transports;

namespace ProtoRpc.Tests.Transports;

/// <summary>The files behind local endpoints and pipes where these are Unix domain sockets.</summary>
public static class LocalSocketTests
{
    private static readonly bool Applies = !OperatingSystem.IsWindows();

    [Fact]
    public static async Task The_socket_is_in_a_directory_of_the_owner_and_goes_with_the_listener()
    {
        if (OperatingSystem.IsWindows())
        {
            return;
        }

        TestServer server = TestServer.Echoing("local");
        string path = SocketPath(server.Endpoint);

        Assert.True(File.Exists(path));
        Assert.Null(LocalSocketDirectory.FindFault(Path.GetDirectoryName(path)!));
        await server.DisposeAsync();

        Assert.False(File.Exists(path));
    }

    [Fact]
    public static async Task Names_are_the_same_in_any_case_and_pipes_are_not_local_endpoints()
    {
        string name = "Case-" + Guid.NewGuid().ToString("N");
        await using TestServer server = new(TestServer.Echo, endpoint: RpcEndpoint.Local(name));

        using NativeConnectionPool client = NativeConnectionPool.Connect(
            RpcEndpoint.Local(name.ToUpperInvariant()), server.InterfaceId, RpcLimits.Default);

        Assert.Equal("x"u8.ToArray(), client.Call("x"u8));
        Assert.Throws<RpcException>(() => NativeConnectionPool.Connect(
            RpcEndpoint.NamedPipe(name), server.InterfaceId, RpcLimits.Default));
    }

    [Fact]
    public static async Task The_socket_of_a_dead_process_is_replaced()
    {
        if (!Applies)
        {
            return;
        }

        RpcEndpoint endpoint = NativeEndpoints.Fresh("local");
        using Socket dead = new(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        dead.Bind(new UnixDomainSocketEndPoint(SocketPath(endpoint)));

        await using TestServer server = new(TestServer.Echo, endpoint: endpoint);
        using NativeConnectionPool client = server.Connect();

        Assert.Equal("x"u8.ToArray(), client.Call("x"u8));
    }

    [Fact]
    public static void The_socket_of_a_living_process_is_left_alone()
    {
        if (!Applies)
        {
            return;
        }

        RpcEndpoint endpoint = NativeEndpoints.Fresh("pipe");
        using Socket alive = new(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        alive.Bind(new UnixDomainSocketEndPoint(SocketPath(endpoint)));
        alive.Listen();

        RpcException error =
            Assert.Throws<RpcException>(() => new TestServer(TestServer.Echo, endpoint: endpoint));

        Assert.Equal((RpcStatusCode.AlreadyExists, endpoint), (error.Code, error.Endpoint));
        Assert.True(File.Exists(SocketPath(endpoint)));
    }

    [Fact]
    public static void A_directory_that_is_not_ours_alone_is_found_out()
    {
        if (OperatingSystem.IsWindows())
        {
            return;
        }

        DirectoryInfo temp = Directory.CreateTempSubdirectory("protorpc-test-");
        try
        {
            string link = Path.Combine(temp.FullName, "link");
            string open = Path.Combine(temp.FullName, "open");
            string file = Path.Combine(temp.FullName, "file");
            File.CreateSymbolicLink(link, temp.FullName);
            Directory.CreateDirectory(
                open, UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute
                | UnixFileMode.GroupExecute);
            File.WriteAllText(file, "");

            Assert.Null(LocalSocketDirectory.FindFault(temp.FullName));
            Assert.Contains("link", LocalSocketDirectory.FindFault(link), StringComparison.Ordinal);
            Assert.Contains("0700", LocalSocketDirectory.FindFault(open), StringComparison.Ordinal);
            Assert.Contains(
                "not a directory", LocalSocketDirectory.FindFault(file), StringComparison.Ordinal);
            if (Environment.UserName != "root")
            {
                Assert.Contains(
                    "another user", LocalSocketDirectory.FindFault("/"), StringComparison.Ordinal);
            }
        }
        finally
        {
            temp.Delete(recursive: true);
        }
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    [UnsupportedOSPlatform("windows")]
    public static void A_folder_that_another_account_made_first_is_left_for_the_next(bool isLink)
    {
        if (OperatingSystem.IsWindows())
        {
            return;
        }

        Assert.SkipWhen(OtherAccount.Missing is not null, OtherAccount.Missing ?? "");
        RpcEndpoint endpoint = RpcEndpoint.Local("x");
        DirectoryInfo temp = Directory.CreateTempSubdirectory("protorpc-test-");
        try
        {
            string foreign = Path.Combine(temp.FullName, "foreign");
            string home = Path.Combine(temp.FullName, "home");
            if (isLink)
            {
                File.CreateSymbolicLink(foreign, temp.FullName);
            }
            else
            {
                Directory.CreateDirectory(foreign);
            }

            OtherAccount.Own(foreign);

            string made = LocalSocketDirectory.Prepare(endpoint, "local", [foreign, home]);

            Assert.Equal(Path.Combine(home, "local"), made);
            Assert.Null(LocalSocketDirectory.FindFault(made));
            Assert.Equal([made], LocalSocketDirectory.Find(endpoint, "local", [foreign, home]));
            Assert.False(Directory.Exists(Path.Combine(foreign, "local")));
            RpcException error = Assert.Throws<RpcException>(
                () => LocalSocketDirectory.Prepare(endpoint, "local", [foreign]));
            Assert.Equal("SocketDirectoryNotSafe", error.ErrorId);
        }
        finally
        {
            temp.Delete(recursive: true);
        }
    }

    [Fact]
    [UnsupportedOSPlatform("windows")]
    public static void A_path_that_the_system_does_not_take_is_an_error_that_says_what_to_do()
    {
        if (OperatingSystem.IsWindows())
        {
            return;
        }

        string directory = "/" + new string('d', 60);

        RpcException error = Assert.Throws<RpcException>(
            () => UnixSocketTransport.PathOf(RpcEndpoint.Local(new string('n', 64)), directory));

        Assert.Equal("EndpointNameTooLong", error.ErrorId);
        Assert.Contains("shorter", error.Message, StringComparison.Ordinal);
    }

    private static string SocketPath(RpcEndpoint endpoint) => OperatingSystem.IsWindows()
        ? throw new PlatformNotSupportedException()
        : Path.Combine(
            LocalSocketDirectory.Prepare(
                endpoint, endpoint.Transport == RpcTransport.Local ? "local" : "pipe"),
            endpoint.Name.ToLowerInvariant());
}
