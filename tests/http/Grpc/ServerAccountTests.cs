using System.Net;
using System.Net.Sockets;
using System.Security.Principal;
using System.Text;
using ProtoRpc.Http.Tests.Tool;

namespace ProtoRpc.Http.Tests.Grpc;

/// <summary>Tokens and passwords are not for the account that made the socket first.</summary>
public sealed class ServerAccountTests : IDisposable
{
    private const string Secret = "s3cr3t-of-the-client";

    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory();
    private readonly WordsServer _server;
    private ForeignSocket? _foreign;

    public ServerAccountTests()
    {
        _server = new WordsServer(
            $"grpc+unix:///{_folder.FullName.Replace('\\', '/').TrimStart('/')}/own",
            http: new HttpServerOptions
            {
                Security = new HttpServerSecurity
                {
                    Bearer = (token, _) => ValueTask.FromResult<IIdentity?>(
                        token == Secret ? new GenericIdentity("robot", "Bearer") : null),
                    Basic = (credential, _) => ValueTask.FromResult<IIdentity?>(
                        credential.Password == Secret ? new GenericIdentity("robot", "Basic") : null),
                    AllowAnonymous = true,
                },
            });
    }

    public static TheoryData<string, RpcClientOptions, RpcMetadata?> Secrets => new()
    {
        { "token", With(new() { Authentication = RpcClientAuthentication.Bearer, Token = Secret }), null },
        {
            "password",
            With(new()
            {
                Authentication = RpcClientAuthentication.User,
                Credential = new NetworkCredential("ann", Secret),
            }),
            null
        },
        { "header of all calls", new() { Headers = { { "Authorization", $"Bearer {Secret}" } } }, null },
        { "header of a call", new(), new RpcMetadata { { "Authorization", $"Bearer {Secret}" } } },
        { "key of a call", new(), new RpcMetadata { { "X-Api-Key", Secret } } },
        { "cookie of a call", new(), new RpcMetadata { { "cookie", Secret } } },
    };

    public void Dispose()
    {
        _foreign?.Dispose();
        _server.Dispose();
        _folder.Delete(recursive: true);
    }

    [Theory]
    [MemberData(nameof(Secrets), DisableDiscoveryEnumeration = true)]
    public void Nothing_secret_goes_to_the_socket_of_another_account(
        string what, RpcClientOptions options, RpcMetadata? headers)
    {
        Assert.SkipWhen(OtherAccount.Missing is not null, OtherAccount.Missing ?? "");
        ForeignSocket foreign = Foreign();

        RpcException error = Assert.Throws<RpcException>(() => Who(foreign.Endpoint, options, headers));

        Assert.Equal(
            (RpcStatusCode.PermissionDenied, "ServerAccountNotTrusted", foreign.Endpoint),
            (error.Code, error.ErrorId, error.Endpoint));
        Assert.Contains($"{OtherAccount.UserId}", error.Message);
        Assert.Contains("RpcClientSecurity.ServerUser", error.Message);
        Assert.False(error.MayHaveExecuted, what);
        Assert.DoesNotContain(Secret, foreign.Seen);
    }

    [Theory]
    [MemberData(nameof(Secrets), DisableDiscoveryEnumeration = true)]
    public void The_named_account_gets_them(string what, RpcClientOptions options, RpcMetadata? headers)
    {
        Assert.SkipWhen(OtherAccount.Missing is not null, OtherAccount.Missing ?? "");
        ForeignSocket foreign = Foreign();
        options = options with { Security = options.Security with { ServerUser = $"{OtherAccount.UserId}" } };

        Assert.NotEmpty(Who(foreign.Endpoint, options, headers));
        Assert.NotEmpty(what);
    }

    [Fact]
    public void Calls_without_secrets_reach_every_account()
    {
        Assert.SkipWhen(OtherAccount.Missing is not null, OtherAccount.Missing ?? "");

        Assert.Equal("root", Who(Foreign().Endpoint, new(), new RpcMetadata { { "x-tenant", "a" } }));
    }

    [Theory]
    [InlineData("--bearer", Secret)]
    [InlineData("--user", $"ann:{Secret}")]
    [InlineData("-H", $"authorization: Bearer {Secret}")]
    public async Task The_tool_names_its_option(string option, string value)
    {
        Assert.SkipWhen(OtherAccount.Missing is not null, OtherAccount.Missing ?? "");
        ForeignSocket foreign = Foreign();
        string[] arguments = ["call", $"{foreign.Endpoint}", "Words/Say", "--set", "text=who", option, value];

        ClientRun refused = await ClientRun.RunAsync(arguments);
        string seen = foreign.Seen;
        ClientRun allowed = await ClientRun.RunAsync(
            [.. arguments, "--server-user", $"{OtherAccount.UserId}"]);

        Assert.Equal(64 + (int)RpcStatusCode.PermissionDenied, refused.Code);
        Assert.Contains($"set --server-user to '{OtherAccount.UserId}'", refused.Error);
        Assert.DoesNotContain(Secret, seen);
        Assert.Equal(("", 0), (allowed.Error, allowed.Code));
    }

    [Fact]
    public void A_secret_does_not_use_the_connection_of_a_call_without_one()
    {
        Assert.SkipWhen(OtherAccount.Missing is not null, OtherAccount.Missing ?? "");
        ForeignSocket foreign = Foreign();
        using RpcClient client = Connect(foreign.Endpoint, new());
        Say(client, null);

        RpcException error = Assert.Throws<RpcException>(
            () => Say(client, new RpcMetadata { { "authorization", $"Bearer {Secret}" } }));

        Assert.Equal("ServerAccountNotTrusted", error.ErrorId);
        Assert.Equal("root", Say(client, null));
        Assert.DoesNotContain(Secret, foreign.Seen);
    }

    [Fact]
    public void A_named_account_is_required_also_without_secrets()
    {
        Assert.SkipWhen(OtherAccount.Missing is not null, OtherAccount.Missing ?? "");
        ForeignSocket foreign = Foreign();
        RpcClientOptions options = With(new() { ServerUser = "54320" });

        RpcException error = Assert.Throws<RpcException>(() => Connect(foreign.Endpoint, options));

        Assert.Equal("ServerAccountNotTrusted", error.ErrorId);
        Assert.Contains("'54320'", error.Message);
        Assert.Equal("", foreign.Seen);
    }

    [Theory]
    [MemberData(nameof(Secrets), DisableDiscoveryEnumeration = true)]
    public void The_own_account_gets_them(string what, RpcClientOptions options, RpcMetadata? headers)
    {
        Assert.NotEmpty(what);
        Assert.NotEmpty(Who(_server.Endpoint, options, headers));
    }

    private static RpcClientOptions With(RpcClientSecurity security) => new() { Security = security };

    private static RpcClient Connect(RpcEndpoint endpoint, RpcClientOptions options) => RpcClient.Connect(
        endpoint, WordsServer.Schema, options with { RetryCount = 0, Service = "streams.Words" });

    private static string Who(RpcEndpoint endpoint, RpcClientOptions options, RpcMetadata? headers)
    {
        using RpcClient client = Connect(endpoint, options);
        return Say(client, headers);
    }

    private static string Say(RpcClient client, RpcMetadata? headers) => WordsServer.TextOf(client.Invoke(
        client.GetMethod("Say"), WordsServer.Text("who"), new RpcCallOptions { Headers = headers }))
        .Split('|')[0];

    private ForeignSocket Foreign()
    {
        if (!OperatingSystem.IsWindows())
        {
            File.SetUnixFileMode(_folder.FullName, (UnixFileMode)0x1FF);
        }

        return _foreign = new ForeignSocket(Path.Combine(_folder.FullName, "foreign"), _server.Endpoint);
    }

    /// <summary>A socket of another account, which passes everything on to a server and keeps what it
    /// saw.</summary>
    private sealed class ForeignSocket : IDisposable
    {
        private readonly Socket _listener = NewSocket();
        private readonly MemoryStream _seen = new();
        private readonly List<Socket> _open = [];

        public ForeignSocket(string path, RpcEndpoint server)
        {
            Endpoint = RpcEndpoint.Parse($"grpc+unix://{path}");
            OtherAccount.Run(() =>
            {
                _listener.Bind(new UnixDomainSocketEndPoint(path));
                _listener.Listen();
            });
            _ = AcceptAsync(server.Uri["grpc+unix://".Length..]);
        }

        public RpcEndpoint Endpoint { get; }

        public string Seen
        {
            get
            {
                lock (_seen)
                {
                    return Encoding.Latin1.GetString(_seen.ToArray());
                }
            }
        }

        public void Dispose()
        {
            _listener.Dispose();
            lock (_seen)
            {
                _open.ForEach(socket => socket.Dispose());
            }
        }

        private static Socket NewSocket() =>
            new(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);

        private async Task AcceptAsync(string server)
        {
            while (true)
            {
                Socket client = await _listener.AcceptAsync();
                Socket target = NewSocket();
                lock (_seen)
                {
                    _open.AddRange([client, target]);
                }

                await target.ConnectAsync(new UnixDomainSocketEndPoint(server));
                _ = CopyAsync(client, target, isSeen: true);
                _ = CopyAsync(target, client, isSeen: false);
            }
        }

        private async Task CopyAsync(Socket from, Socket to, bool isSeen)
        {
            byte[] buffer = new byte[4096];
            int count;
            while ((count = await from.ReceiveAsync(buffer)) > 0)
            {
                if (isSeen)
                {
                    lock (_seen)
                    {
                        _seen.Write(buffer.AsSpan(0, count));
                    }
                }

                await to.SendAsync(buffer.AsMemory(0, count));
            }

            to.Shutdown(SocketShutdown.Send);
        }
    }
}
