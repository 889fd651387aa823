using System.Net.Sockets;
using System.Text;

namespace ProtoRpc.Http.Tests.Tool;

/// <summary>What <c>protorpc listen</c> and <c>proxy</c> tell systemd.</summary>
public sealed class ServiceManagerTests : IDisposable
{
    private static readonly string Schema = Path.Combine(AppContext.BaseDirectory, "protos", "streams.proto");

    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("protorpc-");

    public void Dispose() => _folder.Delete(recursive: true);

    [Theory]
    [InlineData("listen")]
    [InlineData("proxy")]
    public async Task They_are_ready_alive_and_stopping(string verb)
    {
        if (OperatingSystem.IsWindows())
        {
            return;
        }

        using WordsServer server = new("grpc://127.0.0.1:0");
        string path = Path.Combine(_folder.FullName, "notify");
        using Socket manager = new(AddressFamily.Unix, SocketType.Dgram, ProtocolType.Unspecified)
        {
            ReceiveTimeout = 20_000,
        };
        manager.Bind(new UnixDomainSocketEndPoint(path));
        string[] target = verb == "proxy" ? [$"{server.Endpoint}"] : [];
        ToolProcess process = await ToolProcess.StartAsync(
            new() { ["NOTIFY_SOCKET"] = path, ["WATCHDOG_USEC"] = "20000" },
            [verb, "tcp://127.0.0.1:0", .. target, "--schema", Schema, "--service", "streams.Words"]);

        string ready = Receive(manager);
        string alive = Receive(manager);
        await process.DisposeAsync();
        string last = alive;
        while (last == "WATCHDOG=1")
        {
            last = Receive(manager);
        }

        Assert.StartsWith("READY=1\nSTATUS=Serving ", ready, StringComparison.Ordinal);
        Assert.Contains(process.Endpoints[0], ready, StringComparison.Ordinal);
        Assert.Equal("WATCHDOG=1", alive);
        Assert.Equal("STOPPING=1", last);
        Assert.Equal("", process.Error);
    }

    [Fact]
    public async Task A_manager_that_is_not_there_is_a_warning_and_the_service_serves()
    {
        await using ToolProcess process = await ToolProcess.StartAsync(
            new() { ["NOTIFY_SOCKET"] = Path.Combine(_folder.FullName, "nobody") },
            "listen", "grpc://127.0.0.1:0", "--schema", Schema, "--service", "streams.Words");

        (int code, _, _) = await ToolProcess.RunAsync(
            null, "invoke", process.Endpoints[0], "streams.Words/Say", "--schema", Schema);

        Assert.Equal(0, code);
        Assert.Contains("NotifyAccess", process.Error, StringComparison.Ordinal);
    }

    [Fact]
    public async Task An_address_that_is_none_is_an_error_before_it_listens()
    {
        (int code, string output, string error) = await ToolProcess.RunAsync(
            new() { ["NOTIFY_SOCKET"] = "nonsense" },
            "listen", "tcp://127.0.0.1:0", "--schema", Schema, "--service", "streams.Words");

        Assert.Equal((1, ""), (code, output));
        Assert.Contains("NOTIFY_SOCKET is 'nonsense'", error, StringComparison.Ordinal);
    }

    private static string Receive(Socket manager)
    {
        byte[] buffer = new byte[4096];
        return Encoding.UTF8.GetString(buffer, 0, manager.Receive(buffer));
    }
}
