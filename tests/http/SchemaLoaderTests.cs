using System.Net;
using System.Net.Sockets;
using System.Text;

namespace ProtoRpc.Http.Tests;

/// <summary>Schemas of every source through one door.</summary>
public static class SchemaLoaderTests
{
    private static readonly HttpServerOptions Guarded = new()
    {
        Security = new HttpServerSecurity
        {
            Bearer = (token, _) => new(token == "t0ken"
                ? new System.Security.Principal.GenericIdentity("holder", "Bearer")
                : null),
        },
    };

    [Fact]
    public static async Task A_grpc_server_is_asked_by_reflection()
    {
        using WordsServer server = new();

        RpcSchema schema = await RpcSchemaLoader.LoadAsync(server.Endpoint.ToString());

        Assert.NotNull(schema.GetMethod("streams.Words/Say"));
    }

    [Fact]
    public static void Files_and_servers_make_one_schema()
    {
        using WordsServer words = new();
        using SearchServer search = new();

        RpcSchema schema = RpcSchemaLoader.Load(
            [words.Endpoint.ToString(), $"{search.Endpoint.Uri}ProtoService.proto", Shipped("shop.proto")]);

        Assert.NotNull(schema.GetService("streams.Words"));
        Assert.NotNull(schema.GetService("ProtoService.SearchService"));
        Assert.Contains("ProtoService.proto", schema.RootFiles);
        Assert.Equal(3, schema.RootFiles.Count(file => !file.StartsWith("grpc/", StringComparison.Ordinal)));
    }

    [Fact]
    public static void Servers_get_the_credentials_of_the_options()
    {
        using WordsServer grpc = new(http: Guarded);
        using WordsServer http = new("http://127.0.0.1:0/", http: Guarded);
        RpcSchemaLoadOptions options = new()
        {
            Client = new RpcClientOptions
            {
                Service = "no.SuchService",
                Security = new RpcClientSecurity
                {
                    Authentication = RpcClientAuthentication.Bearer,
                    Token = "t0ken",
                },
            },
        };

        foreach (string location in (string[])[grpc.Endpoint.Uri, $"{http.Endpoint.Uri}streams.proto"])
        {
            Assert.NotNull(RpcSchemaLoader.Load(location, options).GetService("streams.Words"));
            RpcException error = Assert.Throws<RpcException>(() => RpcSchemaLoader.Load(location));
            Assert.Equal(RpcStatusCode.Unauthenticated, error.Code);
        }
    }

    [Theory]
    [InlineData("set.pb")]
    [InlineData("a%20b/set.protoset")]
    public static void A_descriptor_set_is_read_over_http(string path)
    {
        byte[] set = SearchServer.Schema.ToDescriptorSet();
        using FileServer server = new(200, set);

        RpcSchema schema = RpcSchemaLoader.Load(server.Address + path);

        Assert.NotNull(schema.GetService("ProtoService.SearchService"));
        Assert.Equal(SearchServer.Schema.RootFiles, schema.RootFiles);
    }

    [Fact]
    public static void A_descriptor_set_of_a_hostile_server_is_refused()
    {
        using FileServer nonsense = new(200, [0x0A, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F, 1]);
        using FileServer missing = new(404, []);
        using FileServer long_ = new(200, new byte[100_000]);
        RpcSchemaLoadOptions small = new()
        {
            Client = new RpcClientOptions { Limits = RpcLimits.Default with { MaxMessageBytes = 10_000 } },
        };

        Assert.Equal(
            "SchemaError", Assert.Throws<RpcException>(
                () => RpcSchemaLoader.Load(nonsense.Address + "a.pb")).ErrorId);
        Assert.Equal(
            RpcStatusCode.NotFound, Assert.Throws<RpcException>(
                () => RpcSchemaLoader.Load(missing.Address + "a.pb")).Code);
        Assert.Equal(
            RpcStatusCode.ResourceExhausted, Assert.Throws<RpcException>(
                () => RpcSchemaLoader.Load(long_.Address + "a.pb", small)).Code);
    }

    [Fact]
    public static void Imports_that_are_not_there_count_toward_the_limit_of_files()
    {
        string[] imports = [.. Enumerable.Range(0, 1000).Select(i => $"import \"other/{i}.proto\";\n")];
        using FileServer server = new(200, Encoding.ASCII.GetBytes(string.Concat(imports)), only: "/a.proto");

        RpcException error = Assert.Throws<RpcException>(
            () => RpcSchemaLoader.Load(server.Address + "a.proto"));

        Assert.Equal(RpcStatusCode.ResourceExhausted, error.Code);
        Assert.Contains("imports more than 256 files", error.Message, StringComparison.Ordinal);
        Assert.InRange(server.Requests, 256, 260);
    }

    [Fact]
    public static void A_server_that_does_not_tell_its_schema_is_an_error()
    {
        using SearchServer server = new();
        string native = server.Server.Endpoints[1].ToString();

        RpcException error = Assert.Throws<RpcException>(() => RpcSchemaLoader.Load(native));

        Assert.Equal(RpcStatusCode.Unimplemented, error.Code);
        Assert.Equal(
            "InvalidEndpoint", Assert.Throws<RpcException>(
                () => RpcSchemaLoader.Load("gopher://127.0.0.1/x.proto")).ErrorId);
    }

    [Fact]
    public static void A_folder_is_all_its_protos()
    {
        DirectoryInfo folder = Directory.CreateTempSubdirectory("protorpc-");
        try
        {
            Directory.CreateDirectory(Path.Combine(folder.FullName, "sub"));
            File.WriteAllText(
                Path.Combine(folder.FullName, "a.proto"),
                """syntax = "proto3"; import "sub/b.proto"; message A { B b = 1; }""");
            File.WriteAllText(
                Path.Combine(folder.FullName, "sub", "b.proto"), """syntax = "proto3"; message B {}""");

            RpcSchema schema = RpcSchemaLoader.Load(
                folder.Name, new RpcSchemaLoadOptions { BaseFolder = folder.Parent!.FullName });

            Assert.Equal(["A", "B"], schema.Messages.Select(m => m.FullName).Order());
        }
        finally
        {
            folder.Delete(recursive: true);
        }
    }

    [Fact]
    public static async Task A_token_that_is_cancelled_gives_up_and_asks_nobody()
    {
        CancellationToken cancelled = new(canceled: true);

        await Assert.ThrowsAsync<OperationCanceledException>(
            () => RpcSchemaLoader.LoadAsync("grpc://127.0.0.1:1", cancellationToken: cancelled));
    }

    [Theory]
    [InlineData("grpc://h", true)]
    [InlineData("https://h/x.proto", true)]
    [InlineData("ncacn_ip_tcp:h[1]", true)]
    [InlineData("ncalrpc:[x]", true)]
    [InlineData("x.proto", false)]
    [InlineData("C:\\protos\\x.proto", false)]
    [InlineData("TestDrive:/x.proto", false)]
    [InlineData("with:colon/*.proto", false)]
    public static void Addresses_are_told_from_files(string location, bool isAddress) =>
        Assert.Equal(isAddress, RpcSchemaLoader.IsAddress(location));

    private static string Shipped(string name) => Path.Combine(AppContext.BaseDirectory, "protos", name);

    /// <summary>Answers every request the same, or with 404 if it is not for the only file.</summary>
    private sealed class FileServer : IDisposable
    {
        private readonly TcpListener _listener = new(IPAddress.Loopback, 0);

        private int _requests;

        public FileServer(int status, byte[] body, string? only = null)
        {
            _listener.Start();
            new Thread(() => Serve(status, body, only)) { IsBackground = true }.Start();
        }

        public string Address => $"http://{_listener.LocalEndpoint}/";

        public int Requests => Volatile.Read(ref _requests);

        public void Dispose() => _listener.Dispose();

        private void Serve(int status, byte[] body, string? only)
        {
            try
            {
                while (true)
                {
                    using TcpClient client = _listener.AcceptTcpClient();
                    using StreamReader reader = new(client.GetStream(), Encoding.ASCII, leaveOpen: true);
                    bool isThere = only is null
                        || reader.ReadLine()!.StartsWith($"GET {only} ", StringComparison.Ordinal);
                    while (reader.ReadLine() is { Length: > 0 })
                    {
                    }

                    Interlocked.Increment(ref _requests);
                    byte[] answer = isThere ? body : [];
                    client.GetStream().Write(Encoding.ASCII.GetBytes(
                        $"HTTP/1.1 {(isThere ? status : 404)} x\r\nConnection: "
                        + $"close\r\nContent-Length: {answer.Length}\r\n\r\n"));
                    client.GetStream().Write(answer);
                }
            }
            catch (Exception e) when (e is SocketException or IOException or InvalidOperationException)
            {
                // The test is over: the listener is disposed, or was stopped before it waited again.
            }
        }
    }
}
