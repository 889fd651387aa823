using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using System.Security.Cryptography.X509Certificates;

namespace ProtoRpc.Http.Tests.Faults;

/// <summary>A server whose clients take all file handles of its process.</summary>
public static class FileHandleTests
{
    private const int Handles = 256;

    // As the server keeps free, and a few that come and go.
    private const int Spare = 40;
    private static readonly TimeSpan Watched = TimeSpan.FromSeconds(1);

    [LinuxTheory]
    [InlineData("tcp://127.0.0.1:0")]
    [InlineData("local://{name}")]
    [InlineData("http://127.0.0.1:0/")]
    [InlineData("https://127.0.0.1:0/")]
    [InlineData("grpc://127.0.0.1:0")]
    [InlineData("grpcs://127.0.0.1:0")]
    [InlineData("grpc+unix://{folder}/socket")]
    public static async Task Without_any_it_waits_idly_and_serves_when_there_are_some(string pattern)
    {
        DirectoryInfo folder = Directory.CreateTempSubdirectory("protorpc-");
        string endpoint = pattern
            .Replace("{folder}", folder.FullName, StringComparison.Ordinal)
            .Replace("{name}", $"t{Guid.NewGuid():N}"[..12], StringComparison.Ordinal);
        try
        {
            using X509Certificate2 certificate = FaultSetup.NewCertificate();
            using ToolServer server = await ToolServer.StartAsync(
                endpoint,
                ["--reply", "{}", .. endpoint.Contains("s://", StringComparison.Ordinal)
                    ? Certified(folder, certificate)
                    : []],
                $"ulimit -n {Handles}; exec \"$@\"");
            RpcClientOptions options = new() { Tls = new RpcTlsOptions { CaCertificates = [certificate] } };
            using RpcClient client = server.Connect(options);
            await client.InvokeAsync("Say", new { text = "before" });

            await WithoutHandlesAsync(server, async () =>
            {
                TimeSpan before = server.ProcessorTime;
                await Task.Delay(Watched);
                TimeSpan spent = server.ProcessorTime - before;
                Assert.True(
                    spent < Watched / 2, $"It took {spent.TotalMilliseconds} ms to wait for a second.");

                using RpcClient refused = server.Connect(options);
                RpcException error = await Assert.ThrowsAsync<RpcException>(
                    () => refused.InvokeAsync("Say", new { text = "refused" })
                        .WaitAsync(ToolServer.Patience));
                Assert.Equal(RpcStatusCode.Unavailable, error.Code);

                // Connections that are open already are served.
                await client.InvokeAsync("Say", new { text = "meanwhile" });
            });

            await SoonAsync(async () =>
            {
                using RpcClient late = server.Connect(options);
                await late.InvokeAsync("Say", new { text = "after" });
            });

            server.Signal("TERM");
            await server.EndsAsync();
            string warning = Assert.Single(
                (await server.Errors).Split('\n', StringSplitOptions.RemoveEmptyEntries));
            Assert.Contains("too few free file handles", warning, StringComparison.Ordinal);
            Assert.Contains($"'{server.Endpoint}'", warning, StringComparison.Ordinal);
        }
        finally
        {
            folder.Delete(recursive: true);
        }
    }

    private static async Task WithoutHandlesAsync(ToolServer server, Func<Task> action)
    {
        EndPoint place = FaultTrial.PlaceOf(server.Endpoint);
        List<Socket> taken = [];
        try
        {
            while (taken.Count < 2 * Handles)
            {
                Socket socket = FaultRelay.NewSocket(place);
                taken.Add(socket);
                try
                {
                    await socket.ConnectAsync(place);
                }
                catch (SocketException e) when (e.SocketErrorCode == SocketError.ConnectionReset)
                {
                    // It came when there was none left, and was closed at once.
                }
            }

            await ToolServer.UntilAsync(() => server.Handles >= Handles - Spare, "the last handle");
            await action();
        }
        finally
        {
            taken.ForEach(socket => socket.Dispose());
        }
    }

    private static string[] Certified(DirectoryInfo folder, X509Certificate2 certificate)
    {
        string file = Path.Combine(folder.FullName, "server.pem");
        string key = Path.Combine(folder.FullName, "server.key");
        File.WriteAllText(file, certificate.ExportCertificatePem());
        File.WriteAllText(key, certificate.GetECDsaPrivateKey()!.ExportPkcs8PrivateKeyPem());
        return ["--cert", file, "--key", key];
    }

    private static async Task SoonAsync(Func<Task> call)
    {
        long start = Stopwatch.GetTimestamp();
        while (true)
        {
            try
            {
                await call();
                return;
            }
            catch (RpcException) when (Stopwatch.GetElapsedTime(start) < ToolServer.Patience)
            {
                await Task.Delay(50);
            }
        }
    }
}
