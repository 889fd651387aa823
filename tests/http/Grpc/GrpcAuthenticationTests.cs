using System.Net;
using System.Security.Principal;

namespace ProtoRpc.Http.Tests.Grpc;

/// <summary>Who is let in at gRPC endpoints, which have checks but no handshakes.</summary>
public sealed class GrpcAuthenticationTests : IDisposable
{
    private static readonly RpcServerOptions NeedsNtlm = new()
    {
        Security = new()
        {
            Authentication = RpcAuthentication.Ntlm,
            NtlmAccounts = [NtlmAccount.From(new NetworkCredential("bob", "Pa55word", "CORP"))],
        },
    };

    private readonly string _folder = Directory.CreateTempSubdirectory().FullName;

    private string UnixSocket => $"grpc+unix:///{_folder.Replace('\\', '/').TrimStart('/')}/s";

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    [Fact]
    public void The_account_of_a_proxy_on_a_unix_socket_is_no_token()
    {
        using WordsServer server = new(UnixSocket, http: ByToken());

        RpcException without = Assert.Throws<RpcException>(() => Who(server));
        RpcException wrong = Assert.Throws<RpcException>(() => Who(server, "Bearer wrong"));

        Assert.Equal(RpcStatusCode.Unauthenticated, without.Code);
        Assert.Equal(RpcStatusCode.Unauthenticated, wrong.Code);
        Assert.Equal("robot", Who(server, "Bearer secret"));
    }

    [Fact]
    public void Certificate_checks_reject_calls_on_a_unix_socket_which_has_none()
    {
        HttpServerOptions http = new()
        {
            Security = new()
            {
                ClientCertificate = (_, _) => ValueTask.FromResult<IIdentity?>(
                    new GenericIdentity("anyone", "Certificate")),
            },
        };
        using WordsServer server = new(UnixSocket, http: http);

        Assert.Equal(RpcStatusCode.Unauthenticated, Assert.Throws<RpcException>(() => Who(server)).Code);
    }

    [Fact]
    public void A_unix_socket_tells_who_calls_without_a_token_where_that_is_allowed()
    {
        using WordsServer server = new(UnixSocket, http: ByToken(allowAnonymous: true));

        string expected = OperatingSystem.IsWindows() ? "" : Environment.UserName;
        Assert.Equal(expected, Who(server));
        Assert.Equal("robot", Who(server, "Bearer secret"));
    }

    [Fact]
    public void The_account_is_the_proof_on_a_unix_socket_whose_peers_the_system_tells()
    {
        if (OperatingSystem.IsWindows())
        {
            RpcException error = Assert.Throws<RpcException>(() => new WordsServer(UnixSocket, NeedsNtlm));
            Assert.Equal("NoProofOnGrpc", error.ErrorId);
            return;
        }

        using WordsServer server = new(UnixSocket, NeedsNtlm);

        Assert.Equal(Environment.UserName, Who(server));
    }

    [Fact]
    public void A_server_without_anonymous_callers_has_none_on_grpc_either()
    {
        using WordsServer server = new(options: NeedsNtlm, http: ByToken(allowAnonymous: true));

        RpcException without = Assert.Throws<RpcException>(() => Who(server));

        Assert.Equal(RpcStatusCode.Unauthenticated, without.Code);
        Assert.Equal("robot", Who(server, "Bearer secret"));
    }

    [Fact]
    public void Anonymous_callers_are_served_where_server_and_checks_allow_it()
    {
        using WordsServer server = new(http: ByToken(allowAnonymous: true));

        Assert.Equal("", Who(server));
    }

    private static HttpServerOptions ByToken(bool allowAnonymous = false) => new()
    {
        Security = new HttpServerSecurity
        {
            Bearer = (token, _) => ValueTask.FromResult<IIdentity?>(
                token == "secret" ? new GenericIdentity("robot", "Bearer") : null),
            AllowAnonymous = allowAnonymous,
        },
    };

    private static string Who(WordsServer server, string? authorization = null)
    {
        using RpcClient client = server.Connect(new RpcClientOptions { RetryCount = 0 });
        RpcCallOptions options = new()
        {
            Headers = authorization is null ? null : new() { { "authorization", authorization } },
        };
        DynamicMessage reply = client.Invoke(client.GetMethod("Say"), WordsServer.Text("who"), options);
        return WordsServer.TextOf(reply).Split('|')[0];
    }
}
