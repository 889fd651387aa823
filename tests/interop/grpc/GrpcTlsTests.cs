using System.Security.Cryptography.X509Certificates;
using System.Security.Principal;

namespace ProtoRpc.Interop;

/// <summary>TLS with an authority of our own,
/// certificates of both sides and a name that is not the host's.</summary>
[PeerCall("grpcio", "gRPC", PeerSide.Client, PeerCalls.Unary | PeerCalls.Tls | PeerCalls.ClientCertificates)]
[PeerCall("grpcio", "gRPC", PeerSide.Server, PeerCalls.Unary | PeerCalls.Tls | PeerCalls.ClientCertificates)]
[PeerCall(
    "@grpc/grpc-js", "gRPC", PeerSide.Client, PeerCalls.Unary | PeerCalls.Tls
        | PeerCalls.ClientCertificates)]
[PeerCall(
    "@grpc/grpc-js", "gRPC", PeerSide.Server, PeerCalls.Unary | PeerCalls.Tls
        | PeerCalls.ClientCertificates)]
public sealed class GrpcTlsTests : IDisposable
{
    private readonly TlsFiles _files = new();

    public void Dispose() => _files.Dispose();

    [Theory]
    [PeerData(Peer.PythonGrpc)]
    [PeerData(Peer.NodeGrpc)]
    public async Task Our_client_is_known_to_their_server_by_its_certificate(Peer peer)
    {
        using GrpcServer server = await StartAsync(peer);

        foreach (string name in new[] { "empty_unary", "large_unary", "ping_pong" })
        {
            await InteropCases.RunAsync(name, server, new RpcClientOptions { Tls = Tls(_files.Client) });
        }
    }

    [Theory]
    [PeerData(Peer.PythonGrpc)]
    [PeerData(Peer.NodeGrpc)]
    public async Task Their_server_refuses_our_client_without_one(Peer peer)
    {
        using GrpcServer server = await StartAsync(peer);

        RpcException error = await Assert.ThrowsAsync<RpcException>(
            () => InteropCases.RunAsync("empty_unary", server, new RpcClientOptions { Tls = Tls(null) }));

        Assert.Equal(RpcStatusCode.Unavailable, error.Code);
    }

    [Theory]
    [PeerData(Peer.PythonGrpc)]
    [PeerData(Peer.NodeGrpc)]
    public async Task Our_client_without_TLS_is_told_at_once_what_their_server_wants(Peer peer)
    {
        using GrpcServer server = await StartAsync(peer);
        long start = Environment.TickCount64;

        RpcException error = Assert.Throws<RpcException>(() =>
        {
            using RpcClient client = RpcClient.Connect(
                $"grpc://127.0.0.1:{server.Endpoint.Port}", GrpcServer.Schema,
                new RpcClientOptions { Service = "grpc.testing.TestService" });
            client.Invoke(client.GetMethod("EmptyCall"), InteropCases.Message("Empty"));
        });

        Assert.Equal("WrongProtocol", error.ErrorId);
        Assert.Contains("grpcs://127.0.0.1:", error.Message, StringComparison.Ordinal);
        Assert.InRange(Environment.TickCount64 - start, 0, 5_000);
    }

    [Theory]
    [PeerData(Peer.PythonGrpc)]
    [PeerData(Peer.NodeGrpc)]
    public async Task Their_client_is_known_to_our_server_by_its_certificate(Peer peer)
    {
        string? caller = null;
        using OwnInteropServer server = new("grpcs://127.0.0.1:0", new HttpServerOptions
        {
            Security = new()
            {
                ClientCertificate = (certificate, _) =>
                {
                    caller = certificate.GetNameInfo(X509NameType.SimpleName, forIssuer: false);
                    return ValueTask.FromResult<IIdentity?>(new GenericIdentity(caller));
                },
            },
        }, certificate: _files.Server);

        Dictionary<string, string> results = await GrpcClientProcess.RunAsync(
            peer, server.Endpoint,
            "--authority", _files.AuthorityFile, "--server-name", TlsFiles.ServerName,
            "--certificate", _files.ClientFile, "--key", _files.ClientKeyFile,
            "--case", "empty_unary", "--case", "large_unary", "--case", "ping_pong");

        Assert.Equal(3, results.Count);
        Assert.All(results, result => Assert.Equal("passed", result.Value));
        Assert.Equal("caller.test", caller);
    }

    private Task<GrpcServer> StartAsync(Peer peer) => GrpcServer.StartAsync(
        peer, "--certificate", _files.ServerFile, "--key", _files.ServerKeyFile,
        "--client-authority", _files.AuthorityFile);

    private RpcTlsOptions Tls(X509Certificate2? client) => new()
    {
        CaCertificates = [_files.Authority],
        ServerName = TlsFiles.ServerName,
        ClientCertificate = client,
    };
}
