namespace ProtoRpc.Http.Tests.Grpc;

/// <summary>Files that are only imported for their options, over the network.</summary>
public sealed class OptionImportTests : IDisposable
{
    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("protorpc-");
    private readonly RpcServer _server;

    public OptionImportTests()
    {
        File.WriteAllText(
            Path.Combine(_folder.FullName, "note.proto"),
            """
            syntax = "proto2";
            package note;
            import "google/protobuf/descriptor.proto";
            extend google.protobuf.MethodOptions { optional string note = 50001; }
            """);
        string path = Path.Combine(_folder.FullName, "svc.proto");
        File.WriteAllText(
            path,
            """
            edition = "2024";
            package svc;
            import option "note.proto";
            message M { string a = 1; }
            service S { rpc Do(M) returns (M) { option (note.note) = "kept"; } }
            """);
        _server = RpcServer.Create(RpcSchema.Load([path]), null, new RpcServerOptions().WithHttp())
            .AddEndpoint("grpc://127.0.0.1:0")
            .AddEndpoint("http://127.0.0.1:0/")
            .StartListening();
    }

    [Fact]
    public void They_survive_reflection_and_export() =>
        AssertExported(RpcSchemaLoader.Load(_server.Endpoints[0].ToString()));

    [Fact]
    public void They_survive_a_file_that_is_downloaded() =>
        AssertExported(RpcSchemaLoader.Load($"{_server.Endpoints[1].Uri}svc.proto"));

    public void Dispose()
    {
        _server.Dispose();
        _folder.Delete(recursive: true);
    }

    private void AssertExported(RpcSchema schema)
    {
        string target = Path.Combine(_folder.FullName, "exported");
        schema.WriteProtoFiles(target);
        RpcSchema again = RpcSchema.Load([Path.Combine(target, "svc.proto")]);

        string text = again.ToProtoText("svc.proto");
        Assert.Contains("import option \"note.proto\";", text, StringComparison.Ordinal);
        Assert.Contains("(note.note) = \"kept\"", text, StringComparison.Ordinal);
    }
}
