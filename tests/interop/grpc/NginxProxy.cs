using System.Net;
using System.Net.Sockets;

namespace ProtoRpc.Interop;

/// <summary>nginx in front of our server: gRPC on a Unix socket and under TLS, HTTP on another Unix socket.
/// Its configuration is that of docs/proxies.md, with times that a test can wait for.</summary>
internal sealed class NginxProxy : IInteropServer
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(20);

    private readonly OwnInteropServer _server = new(
        "grpc://127.0.0.1:0",
        new HttpServerOptions { AllowedHosts = ["grpc_listeners"] },
        "http://127.0.0.1:0/");
    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("protorpc-nginx-");
    private readonly TlsFiles _tls = new();
    private readonly PeerProcess _process;

    private NginxProxy()
    {
        // nginx cannot take any port that is free, and say which.
        TlsPort = ClosedPort.FindFree();
        string configuration = Path.Combine(_folder.FullName, "nginx.conf");
        File.WriteAllText(configuration, File.ReadAllText(
            Path.Combine(AppContext.BaseDirectory, "nginx", "nginx.conf"))
            .Replace("FOLDER", _folder.FullName, StringComparison.Ordinal)
            .Replace("GRPC_PORT", $"{_server.Endpoint.Port}", StringComparison.Ordinal)
            .Replace("HTTP_PORT", $"{_server.FurtherEndpoint.Port}", StringComparison.Ordinal)
            .Replace("TLS_PORT", $"{TlsPort}", StringComparison.Ordinal)
            .Replace("CERTIFICATE", _tls.ServerFile, StringComparison.Ordinal)
            .Replace("KEY", _tls.ServerKeyFile, StringComparison.Ordinal));
        _process = PeerProcess.Start(
            Peers.FindProgram("nginx")!, "-p", _folder.FullName, "-c", configuration, "-e", "stderr");
    }

    /// <summary>Where it takes gRPC.</summary>
    public RpcEndpoint Endpoint =>
        RpcEndpoint.Parse($"grpc+unix://{Path.Combine(_folder.FullName, "grpc.sock")}");

    /// <summary>Where it takes HTTP.</summary>
    public string HttpSocket => Path.Combine(_folder.FullName, "http.sock");

    /// <summary>Where it takes gRPC under TLS.</summary>
    public int TlsPort { get; }

    public TlsFiles Tls => _tls;

    public static async Task<NginxProxy> StartAsync()
    {
        NginxProxy proxy = new();
        try
        {
            long end = Environment.TickCount64 + (long)Patience.TotalMilliseconds;
            while (!await proxy.IsListeningAsync())
            {
                Assert.True(Environment.TickCount64 < end, "nginx does not listen.");
                await Task.Delay(20);
            }

            return proxy;
        }
        catch
        {
            proxy.Dispose();
            throw;
        }
    }

    /// <summary>A client for a test, which shares the proxy with those before it.</summary>
    public RpcClient Connect(RpcClientOptions? options = null)
    {
        _server.ForgetEvents();
        return RpcClient.Connect(
            Endpoint, GrpcServer.Schema, (options ?? new()) with { Service = "grpc.testing.TestService" });
    }

    public Task WaitForAsync(string what) => _server.WaitForAsync(what);

    /// <summary>Stops what is behind the proxy.</summary>
    public void StopServer() => _server.Dispose();

    public void Dispose()
    {
        _process.Dispose();
        _server.Dispose();
        _tls.Dispose();
        _folder.Delete(recursive: true);
    }

    private async Task<bool> IsListeningAsync()
    {
        using Socket socket = new(SocketType.Stream, ProtocolType.Tcp);
        try
        {
            await socket.ConnectAsync(IPAddress.Loopback, TlsPort);
            return File.Exists(HttpSocket);
        }
        catch (SocketException)
        {
            return false;
        }
    }
}
