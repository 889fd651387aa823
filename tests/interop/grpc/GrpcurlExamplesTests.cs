using System.Text.RegularExpressions;
using ProtoRpc.Http.Tests.Tool;

namespace ProtoRpc.Interop;

/// <summary>The examples of grpcurl's README as docs/migration/grpcurl.md writes them, run against
/// servers.</summary>
public sealed partial class GrpcurlExamplesTests : IDisposable
{
    private const string Ours = "`protorpc ";

    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("protorpc-");

    public void Dispose() => _folder.Delete(recursive: true);

    [Fact]
    public async Task Run_against_our_server()
    {
        using OwnInteropServer server = new();
        await RunAsync(server.Endpoint);
    }

    [PeerCall("@grpc/grpc-js", "gRPC", PeerSide.Server, PeerCalls.Unary | PeerCalls.Reflection)]
    [PeerTheory(Peer.NodeGrpc)]
    [InlineData("v1")]
    [InlineData("v1alpha")]
    public async Task Run_against_Nodes_server(string reflection)
    {
        using GrpcServer server = await GrpcServer.StartAsync(Peer.NodeGrpc, "--reflection", reflection);
        await RunAsync(server.Endpoint);
    }

    [Fact]
    public async Task Run_over_TLS()
    {
        using TlsFiles files = new();
        using OwnInteropServer server = new("grpcs://127.0.0.1:0", certificate: files.Server);
        await RunAsync(server.Endpoint, "--cacert", files.AuthorityFile, "--authority", TlsFiles.ServerName);
    }

    private async Task RunAsync(RpcEndpoint endpoint, params string[] ofTls)
    {
        string address = $"{endpoint.Host}:{endpoint.Port}";
        Dictionary<string, string> names = Names(address);
        ClientRun exported = await ClientRun.RunAsync(
            ["export", "--schema", names["my-stuff.proto"], "-o", names["my-protos.bin"], "--force"]);
        Assert.Equal(("", 0), (exported.Error, exported.Code));
        string[][] examples = [.. Examples()];
        Assert.Equal(14, examples.Length);
        foreach (string[] example in examples)
        {
            string[] arguments = [.. example.Select(word => names.GetValueOrDefault(word, word))];
            bool isRemote = example.Any(word => names.GetValueOrDefault(word) == address);
            string[] connecting = !isRemote ? []
                : endpoint.IsTls ? ofTls
                : example.Contains("--plaintext") ? []
                : ["--plaintext"];
            arguments =
            [
                .. arguments.Where(word => word != "--plaintext" || !endpoint.IsTls), .. connecting,
            ];

            ClientRun run = await ClientRun.RunAsync(arguments, "{\n  \"response_size\": 3\n}\n");

            Assert.True(
                run is { Code: 0, Error: "" },
                $"{string.Join(' ', arguments)}: {run.Code}, {run.Error}");
            Assert.Matches(example[0] switch
            {
                "call" when arguments.Any(word => word.Contains("response_size") || word == "@") => "AAAA",
                "call" => "{",
                "list" => "grpc.testing.TestService",
                "describe" => @"rpc UnaryCall \(SimpleRequest\) returns \(SimpleResponse\);",
                _ => "out",
            }, run.Output);
        }

        Assert.True(File.Exists(names["out.protoset"]));
        Assert.NotEmpty(Directory.GetFiles(names["out_protos"], "*.proto", SearchOption.AllDirectories));
    }

    private Dictionary<string, string> Names(string address)
    {
        string folder = Path.Combine(AppContext.BaseDirectory, "grpc", "protos");
        string Temporary(string name) => Path.Combine(_folder.FullName, name);
        return new Dictionary<string, string>(StringComparer.Ordinal)
        {
            ["grpc.server.com:443"] = address,
            ["grpc.server.com:80"] = address,
            ["localhost:8787"] = address,
            ["my.custom.server.Service/Method"] = "grpc.testing.TestService/UnaryCall",
            ["my.custom.server.Service"] = "grpc.testing.TestService",
            ["my.custom.server.Service.MethodOne"] = "grpc.testing.TestService.UnaryCall",
            ["{\"id\": 1234, \"tags\": [\"foo\",\"bar\"]}"] = "{\"response_size\": 3}",
            ["my-protos.bin"] = Temporary("my-protos.bin"),
            ["../protos"] = folder,
            ["my-stuff.proto"] = Path.Combine(folder, "interop.proto"),
            ["out_protos"] = Temporary("out_protos"),
            ["out.protoset"] = Temporary("out.protoset"),
        };
    }

    // The words of each command of ours in the table.
    private static IEnumerable<string[]> Examples() =>
        File.ReadLines(Path.Combine(AppContext.BaseDirectory, "grpcurl.md"))
            .Where(line => line.StartsWith("| `grpcurl ", StringComparison.Ordinal)
                && line.Contains(Ours, StringComparison.Ordinal))
            .Select(line => line[(line.IndexOf(Ours, StringComparison.Ordinal) + Ours.Length)..])
            .Select(command => Word().Matches(command.TrimEnd('|', ' ', '`'))
                .Select(word => word.Value.Trim('\'')).ToArray());

    [GeneratedRegex("'[^']*'|[^ ]+")]
    private static partial Regex Word();
}
