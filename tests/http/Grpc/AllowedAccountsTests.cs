using System.Net.Sockets;
using System.Runtime.Versioning;

namespace ProtoRpc.Http.Tests.Grpc;

/// <summary>gRPC on a Unix socket that is open to other accounts.</summary>
[UnsupportedOSPlatform("windows")]
public sealed class AllowedAccountsTests : IDisposable
{
    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory();

    public void Dispose() => _folder.Delete(recursive: true);

    [Theory]
    [InlineData(OtherAccount.DaemonId, true)]
    [InlineData(OtherAccount.BinId, false)]
    [InlineData(OtherAccount.UserId, false)]
    public void Only_allowed_accounts_call(uint user, bool isAllowed)
    {
        Assert.SkipWhen(OtherAccount.Missing is not null, OtherAccount.Missing ?? "");
        using WordsServer server = Serve(new() { AllowedUsers = [OtherAccount.Daemon] });
        using AccountRelay relay = new(Path.Combine(_folder.FullName, "relay"), server.Endpoint, user);

        using RpcClient client = relay.Connect(WordsServer.Schema);
        RpcException? call = Record.Exception(() => Say(client)) as RpcException;
        using RpcClient reflecting = relay.Connect(null);
        RpcException? schema = Record.Exception(() => reflecting.FetchSchema()) as RpcException;

        Assert.Equal(isAllowed ? null : RpcStatusCode.PermissionDenied, call?.Code);
        Assert.Equal(call?.Code, schema?.Code);
        Assert.Equal(isAllowed, call?.Message.Contains("AllowedUsers", StringComparison.Ordinal) != true);
        Assert.Equal(isAllowed ? OtherAccount.Daemon : null, isAllowed ? Say(client) : null);
    }

    [Fact]
    public void The_own_account_always_calls()
    {
        Assert.SkipWhen(OtherAccount.Missing is not null, OtherAccount.Missing ?? "");
        using WordsServer server = Serve(new() { AllowedGroups = [OtherAccount.Daemon] });
        using RpcClient client = server.Connect();

        Assert.Equal("root", Say(client));
    }

    [Fact]
    public void A_socket_without_allowed_accounts_is_for_its_owner()
    {
        Assert.SkipWhen(OperatingSystem.IsWindows(), "Windows has no modes of files");
        using WordsServer server = Serve(new());

        Assert.Equal(
            UnixFileMode.UserRead | UnixFileMode.UserWrite,
            File.GetUnixFileMode(Path.Combine(_folder.FullName, "own")));
    }

    [Fact]
    public void A_folder_that_other_accounts_can_change_is_an_error()
    {
        Assert.SkipWhen(OtherAccount.Missing is not null, OtherAccount.Missing ?? "");
        OtherAccount.Own(_folder.FullName);

        RpcException error = Assert.Throws<RpcException>(
            () => Serve(new() { AllowedUsers = [OtherAccount.Daemon] }));

        Assert.Equal("SocketDirectoryNotSafe", error.ErrorId);
    }

    [Fact]
    public void The_routes_of_an_application_are_not_opened_to_accounts()
    {
        using RpcServer server = RpcServer.Create(
            WordsServer.Schema, "streams.Words",
            new RpcServerOptions { Security = new() { AllowedUsers = ["root"] } }.WithHttp());

        RpcException error = Assert.Throws<RpcException>(() => server.Open(_ => Task.CompletedTask));

        Assert.Equal("InvalidSecurity", error.ErrorId);
        Assert.Contains("application", error.Message);
    }

    private static string Say(RpcClient client) => WordsServer.TextOf(
        client.Invoke(client.GetMethod("Say"), WordsServer.Text("who"))).Split('|')[0];

    private WordsServer Serve(RpcServerSecurity security) => new(
        $"grpc+unix:///{_folder.FullName.Replace('\\', '/').TrimStart('/')}/own",
        new RpcServerOptions { Security = security });

    /// <summary>A socket of root whose connections another account passes on: HttpClient connects on threads
    /// of its own, which a test cannot give to an account.</summary>
    private sealed class AccountRelay : IDisposable
    {
        private readonly Socket _listener = NewSocket();
        private readonly RpcEndpoint _endpoint;
        private readonly List<Socket> _open = [];

        public AccountRelay(string path, RpcEndpoint server, uint user)
        {
            _endpoint = RpcEndpoint.Parse($"grpc+unix://{path}");
            _listener.Bind(new UnixDomainSocketEndPoint(path));
            _listener.Listen();
            string target = server.Uri["grpc+unix://".Length..];
            File.SetUnixFileMode(
                Path.GetDirectoryName(target)!,
                UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute
                | UnixFileMode.GroupExecute | UnixFileMode.OtherExecute);
            _ = AcceptAsync(target, user);
        }

        public RpcClient Connect(RpcSchema? schema) => RpcClient.Connect(
            _endpoint, schema,
            new() { RetryCount = 0, Service = schema is null ? null : "streams.Words" });

        public void Dispose()
        {
            _listener.Dispose();
            lock (_open)
            {
                _open.ForEach(socket => socket.Dispose());
            }
        }

        private static Socket NewSocket() =>
            new(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);

        private async Task AcceptAsync(string target, uint user)
        {
            while (true)
            {
                Socket client = await _listener.AcceptAsync();
                Socket server = NewSocket();
                lock (_open)
                {
                    _open.AddRange([client, server]);
                }

                OtherAccount.Run(user, () => server.Connect(new UnixDomainSocketEndPoint(target)));
                _ = CopyAsync(client, server);
                _ = CopyAsync(server, client);
            }
        }

        private static async Task CopyAsync(Socket from, Socket to)
        {
            byte[] buffer = new byte[4096];
            int count;
            while ((count = await from.ReceiveAsync(buffer)) > 0)
            {
                await to.SendAsync(buffer.AsMemory(0, count));
            }

            to.Shutdown(SocketShutdown.Send);
        }
    }
}
