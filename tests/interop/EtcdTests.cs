using System.Runtime.CompilerServices;
using System.Text;

namespace ProtoRpc.Interop;

/// <summary>etcd, called by its own .proto file and nothing else: the file imports others of etcd, which are
/// found above it, google/api, which is ours, and gogoproto, which nobody has.</summary>
[PeerCall(
    "etcd", "gRPC", PeerSide.Server, PeerCalls.Unary | PeerCalls.Duplex | PeerCalls.Errors
        | PeerCalls.UnixSockets)]
public sealed class EtcdTests : IDisposable
{
    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("protorpc-etcd");
    private LocalProgram? _etcd;

    [PeerFact(Peer.Etcd)]
    public async Task Keys_leases_and_watches_work_with_its_own_proto_file()
    {
        RpcSchema schema = LoadSchema();
        await using RpcClient client = Connect(schema);

        DynamicMessage lease = await client.InvokeAsync("etcdserverpb.Lease/LeaseGrant", new { TTL = 60 });
        await client.InvokeAsync(
            "etcdserverpb.KV/Put", new { key = Bytes("a"), value = Bytes("1"), lease = lease["ID"] });
        DynamicMessage range = await client.InvokeAsync("etcdserverpb.KV/Range", new { key = Bytes("a") });
        List<string> seen = [];
        await foreach (DynamicMessage reply in client.InvokeDuplexStreamAsync(
            "etcdserverpb.Watch/Watch", Watch("a"), new() { Timeout = TimeSpan.FromSeconds(60) }))
        {
            if ((bool)reply["created"]!)
            {
                await client.InvokeAsync(
                    "etcdserverpb.KV/Put", new { key = Bytes("a"), value = Bytes("2") });
            }

            seen.AddRange(ListOf(reply, "events").Select(change => ValueOf((DynamicMessage)change["kv"]!)));
            if (seen.Count > 0)
            {
                break;
            }
        }

        Assert.Contains(schema.Warnings, text => text.Contains("gogoproto", StringComparison.Ordinal));
        Assert.Equal("1", ValueOf(Assert.Single(ListOf(range, "kvs"))));
        Assert.Equal(["2"], seen);
    }

    [PeerFact(Peer.Etcd)]
    public void A_failure_is_told_with_its_status()
    {
        using RpcClient client = Connect(LoadSchema());

        RpcException error = Assert.Throws<RpcException>(
            () => client.Invoke("etcdserverpb.Lease/LeaseRevoke", new { ID = 12345 }));

        Assert.Equal(RpcStatusCode.NotFound, error.Code);
        Assert.Contains("requested lease not found", error.Message, StringComparison.Ordinal);
    }

    public void Dispose()
    {
        _etcd?.Dispose();
        _folder.Delete(recursive: true);
    }

    private static RpcSchema LoadSchema() =>
        RpcSchemaLoader.Load([Path.Combine(Peers.EtcdProtos!, "rpc.proto")]);

    // On sockets in a folder, which need no ports: etcd takes the address behind unix:// as a file's name.
    private RpcClient Connect(RpcSchema schema)
    {
        string[] addresses =
        [
            "--listen-client-urls", "unix://localhost:1", "--advertise-client-urls", "unix://localhost:1",
            "--listen-peer-urls", "unix://localhost:2", "--initial-advertise-peer-urls",
            "unix://localhost:2", "--initial-cluster", "default=unix://localhost:2",
        ];
        _etcd = new LocalProgram(
            "sh", [], ["-c", "cd \"$0\" && exec etcd --data-dir data \"$@\" >log 2>&1", _folder.FullName,
                .. addresses]);
        string socket = Path.Combine(_folder.FullName, "localhost:1");
        long deadline = Environment.TickCount64 + 30_000;
        while (!File.Exists(socket))
        {
            if (Environment.TickCount64 > deadline || _etcd.WaitForExit(TimeSpan.Zero) is not null)
            {
                Assert.Fail($"etcd did not start: {File.ReadAllText(Path.Combine(_folder.FullName, "log"))}");
            }

            Thread.Sleep(20);
        }

        return RpcClient.Connect($"grpc+unix://{socket}", schema);
    }

    private static async IAsyncEnumerable<object> Watch(
        string key, [EnumeratorCancellation] CancellationToken cancellation = default)
    {
        yield return new { create_request = new { key = Bytes(key) } };
        await Task.Delay(Timeout.Infinite, cancellation);
    }

    private static IEnumerable<DynamicMessage> ListOf(DynamicMessage message, string field) =>
        ((System.Collections.IEnumerable?)message[field] ?? Array.Empty<object>()).Cast<DynamicMessage>();

    private static string ValueOf(DynamicMessage kv) => Encoding.UTF8.GetString((byte[])kv["value"]!);

    private static byte[] Bytes(string text) => Encoding.UTF8.GetBytes(text);
}
