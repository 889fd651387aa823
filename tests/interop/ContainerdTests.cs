using System.Security.Cryptography;
using System.Text;

namespace ProtoRpc.Interop;

/// <summary>containerd, called by its own .proto files and nothing else. They import others of containerd by
/// the path of its repository, and gogoproto, which nobody has.</summary>
[PeerCall(
    "containerd", "gRPC", PeerSide.Server, PeerCalls.Unary | PeerCalls.ServerStream | PeerCalls.Duplex
        | PeerCalls.Errors | PeerCalls.UnixSockets)]
public sealed class ContainerdTests : IDisposable
{
    private const string Namespace = "protorpc";

    private static readonly TimeSpan Limit = TimeSpan.FromSeconds(60);

    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("protorpc-containerd");
    private LocalProgram? _containerd;

    private string Socket => Path.Combine(_folder.FullName, "containerd.sock");

    [PeerFact(Peer.Containerd)]
    public async Task Content_is_written_and_read_by_streams()
    {
        Start();
        RpcSchema schema = Load("services/content/v1/content.proto");
        await using RpcClient client = await RpcClient.ConnectAsync($"grpc+unix://{Socket}", schema);
        byte[] content = Encoding.UTF8.GetBytes("the content of a layer");
        string digest = $"sha256:{Convert.ToHexStringLower(SHA256.HashData(content))}";

        List<string> actions = [];
        await foreach (DynamicMessage reply in client.InvokeDuplexStreamAsync(
            "containerd.services.content.v1.Content/Write", Write(content, digest), InNamespace()))
        {
            actions.Add($"{reply["action"]} {reply["offset"]}");
        }

        MemoryStream read = new();
        await foreach (DynamicMessage reply in client.InvokeServerStreamAsync(
            "containerd.services.content.v1.Content/Read", new { digest, offset = 4 }, InNamespace()))
        {
            read.Write((byte[])reply["data"]!);
        }

        RpcException again = await Assert.ThrowsAsync<RpcException>(async () =>
        {
            await foreach (DynamicMessage _ in client.InvokeDuplexStreamAsync(
                "containerd.services.content.v1.Content/Write", Write(content, digest), InNamespace()))
            {
            }
        });
        // containerd answers the last one again at the end.
        Assert.Equal([$"1 {content.Length}", $"2 {content.Length}"], actions.Distinct());
        Assert.Equal("content of a layer", Encoding.UTF8.GetString(read.ToArray()));
        Assert.Equal(RpcStatusCode.AlreadyExists, again.Code);
        Assert.Contains(schema.Warnings, text => text.Contains("gogoproto", StringComparison.Ordinal));
    }

    [PeerFact(Peer.Containerd)]
    public async Task Events_of_another_schema_come_with_their_fields()
    {
        Start();
        RpcSchema schema = RpcSchemaLoader.Load(
            [PathOf("services/events/v1/events.proto"), PathOf("events/namespace.proto")]);
        await using RpcClient events = await RpcClient.ConnectAsync($"grpc+unix://{Socket}", schema);
        await using RpcClient namespaces = await RpcClient.ConnectAsync(
            $"grpc+unix://{Socket}", Load("services/namespaces/v1/namespace.proto"));

        // Nothing tells when the subscription begins, so namespaces are created until one is told.
        Task<DynamicMessage> first = FirstEventAsync(events);
        for (int created = 1; !first.IsCompleted; created++)
        {
            await namespaces.InvokeAsync(
                "containerd.services.namespaces.v1.Namespaces/Create",
                new { @namespace = new { name = $"n{created}" } },
                InNamespace());
        }

        DynamicMessage told = await first;
        Assert.Equal("/namespaces/create", told["topic"]);
        DynamicMessage any = Assert.IsType<DynamicMessage>(told["event"]);
        Assert.Equal("containerd.events.NamespaceCreate", any["type_url"]);
        DynamicMessage sent = DynamicMessage.Parse(
            schema.GetMessage("containerd.events.NamespaceCreate"), (byte[])any["value"]!);
        Assert.StartsWith("n", (string?)sent["name"], StringComparison.Ordinal);
    }

    [PeerFact(Peer.Containerd)]
    public void A_failure_is_told_with_its_status()
    {
        Start();
        using RpcClient client =
            RpcClient.Connect($"grpc+unix://{Socket}", Load("services/namespaces/v1/namespace.proto"));

        RpcException error = Assert.Throws<RpcException>(() => client.Invoke(
            "containerd.services.namespaces.v1.Namespaces/Delete", new { name = "missing" }));

        Assert.Equal(RpcStatusCode.NotFound, error.Code);
        Assert.Contains("missing", error.Message, StringComparison.Ordinal);
    }

    public void Dispose()
    {
        _containerd?.Dispose();
        _folder.Delete(recursive: true);
    }

    private void Start()
    {
        string settings = Path.Combine(_folder.FullName, "config.toml");
        File.WriteAllText(settings, $"""
            version = 2
            root = "{_folder.FullName}/root"
            state = "{_folder.FullName}/state"
            disabled_plugins = ["io.containerd.grpc.v1.cri", "io.containerd.internal.v1.opt"]
            [grpc]
            address = "{Socket}"
            [ttrpc]
            address = "{_folder.FullName}/ttrpc.sock"
            """);
        _containerd = new LocalProgram(
            "sh", [],
            [
                "-c", "exec \"$0\" --config \"$1\" >\"$2\" 2>&1",
                Path.Combine(Peers.ContainerdFolder!, "usr", "bin", "containerd"), settings, LogFile,
            ]);
        long deadline = Environment.TickCount64 + 30_000;
        while (!File.Exists(Socket))
        {
            if (Environment.TickCount64 > deadline || _containerd.WaitForExit(TimeSpan.Zero) is not null)
            {
                Assert.Fail($"containerd did not start: {File.ReadAllText(LogFile)}");
            }

            Thread.Sleep(20);
        }
    }

    private string LogFile => Path.Combine(_folder.FullName, "log");

    private static async Task<DynamicMessage> FirstEventAsync(RpcClient client)
    {
        await foreach (DynamicMessage reply in client.InvokeServerStreamAsync(
            "containerd.services.events.v1.Events/Subscribe", new { }, new() { Timeout = Limit }))
        {
            return reply;
        }

        throw new InvalidOperationException("The stream of events ended.");
    }

    private static RpcSchema Load(string file) => RpcSchemaLoader.Load([PathOf(file)]);

    private static string PathOf(string file) => Path.Combine(
        Peers.ContainerdFolder!, "usr/share/gocode/src/github.com/containerd/containerd/api", file);

    private static RpcCallOptions InNamespace() => new()
    {
        Timeout = Limit,
        Headers = new RpcMetadata { { "containerd-namespace", Namespace } },
    };

    private static async IAsyncEnumerable<object> Write(byte[] content, string digest)
    {
        yield return new
        {
            action = "WRITE",
            @ref = "r",
            total = content.Length,
            expected = digest,
            data = content,
        };
        await Task.Yield();

        // Without it, the first collection of garbage removes the content, 100 ms after the start.
        Dictionary<string, string> labels = new() { ["containerd.io/gc.root"] = "test" };
        yield return new
        {
            action = "COMMIT",
            @ref = "r",
            offset = content.Length,
            expected = digest,
            labels,
        };
    }
}
