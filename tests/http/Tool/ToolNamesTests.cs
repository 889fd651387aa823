using System.Net;
using Google.Protobuf;

namespace ProtoRpc.Http.Tests.Tool;

/// <summary>Registered names as endpoints of the tool.</summary>
public sealed class ToolNamesTests : IDisposable
{
    private static readonly string Schema = Path.Combine(AppContext.BaseDirectory, "protos", "streams.proto");

    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("protorpc-");

    private RpcEndpointRegistry Registry => new(Path.Combine(_folder.FullName, "endpoints.json"));

    private Dictionary<string, string> Variables =>
        new() { [RpcEndpointRegistry.PathVariable] = Registry.Path };

    public void Dispose() => _folder.Delete(recursive: true);

    [Fact]
    public async Task Stand_wherever_an_endpoint_does_with_their_schema_service_and_secrets()
    {
        using WordsServer server = new(
            "grpc://127.0.0.1:0",
            http: new HttpServerOptions
            {
                Security = new()
                {
                    Bearer = (token, _) => new(
                        token == "s3cret" ? new System.Security.Principal.GenericIdentity("x") : null),
                },
            });
        Registry.Register(new RpcNamedEndpoint("words", server.Endpoint)
        {
            Schema = [Schema],
            Service = "streams.Words",
            Token = "env:WORDS_TOKEN",
        });
        Registry.Register(new RpcNamedEndpoint("front", RpcEndpoint.Parse("tcp://127.0.0.1:0")));
        Dictionary<string, string> variables = Variables;
        variables["WORDS_TOKEN"] = "s3cret";

        (int code, string output, string error) = await ToolProcess.RunAsync(
            variables, "invoke", "words", "Say", "--set", "text=hello");
        (int pinged, _, _) = await ToolProcess.RunAsync(variables, "ping", "WORDS");
        await using ToolProcess proxy = await ToolProcess.StartAsync(
            variables, "proxy", "front", "wor*", "--service", "streams.Words");
        using RpcClient caller = RpcClient.Connect(
            proxy.Endpoints[0], WordsServer.Schema, new() { Service = "streams.Words" });

        Assert.Equal((0, ""), (code, error));
        Assert.Contains("hello", output, StringComparison.Ordinal);
        Assert.Equal(0, pinged);
        Assert.Equal("hi", WordsServer.TextOf(await caller.InvokeAsync("Say", WordsServer.Text("hi"))));
    }

    [Theory]
    [InlineData("bob")]
    [InlineData("", "--auth", "self")]
    public async Task Keep_their_user_with_a_mechanism_of_the_command_line(
        string user, params string[] options)
    {
        await using RpcServer server = Guarded();
        Registry.Register(new RpcNamedEndpoint("words", server.Endpoints[0])
        {
            Schema = [Schema],
            Service = "streams.Words",
            UserName = @"CORP\bob",
            Credential = "env:WORDS_PASSWORD",
        });
        Dictionary<string, string> variables = Variables;
        variables["WORDS_PASSWORD"] = "Pa55:word";
        if (options.Length == 0)
        {
            options = ["--auth", "ntlm"];
        }

        (int code, string output, string error) = await ToolProcess.RunAsync(
            variables, ["call", "words", "Say", .. options]);

        Assert.True(user.Length > 0 == (code == 0), error);
        Assert.Contains(user, output, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("wrds", 2, "It is not a registered name either.")]
    [InlineData("x*", 2, "No endpoint is registered as 'x*'")]
    [InlineData("w*", 2, "matches several registered endpoints: words, words2")]
    [InlineData("locked", 1, "protorpc does not read secrets of SecretManagement")]
    [InlineData("unset", 1, "the environment variable 'NO_SUCH_TOKEN' is not set")]
    public async Task That_lead_nowhere_are_told(string name, int code, string text)
    {
        RpcEndpoint endpoint = RpcEndpoint.Parse("grpc://127.0.0.1:1");
        Registry.Register(new RpcNamedEndpoint("words", endpoint));
        Registry.Register(new RpcNamedEndpoint("words2", endpoint));
        Registry.Register(new RpcNamedEndpoint("locked", endpoint) { Token = "secret:words" });
        Registry.Register(new RpcNamedEndpoint("unset", endpoint) { Token = "env:NO_SUCH_TOKEN" });

        foreach (string[] verb in new string[][]
        {
            ["invoke", name, "streams.Words/Say", "--schema", Schema],
            ["ping", name],
            ["proxy", "tcp://127.0.0.1:0", name, "--schema", Schema],
        })
        {
            (int exit, _, string error) = await ToolProcess.RunAsync(Variables, verb);
            Assert.Contains(text, error, StringComparison.Ordinal);
            Assert.Equal(code, exit);
        }
    }

    // Replies who called.
    private static RpcServer Guarded() => RpcServer.Create(
        WordsServer.Schema, "streams.Words",
        new RpcServerOptions
        {
            Security = new RpcServerSecurity
            {
                Authentication = RpcAuthentication.Ntlm,
                NtlmAccounts = [NtlmAccount.From(new NetworkCredential("bob", "Pa55:word", "CORP"))],
            },
        })
        .Handle("Say", (context, _) => ValueTask.FromResult<IMessage>(
            WordsServer.Text($"{context.User.Name}")))
        .AddEndpoint("tcp://127.0.0.1:0")
        .StartListening();

    [Fact]
    public async Task Of_a_file_that_is_damaged_are_refused_with_its_path()
    {
        await File.WriteAllTextAsync(Registry.Path, "{ not json");

        (int code, _, string error) = await ToolProcess.RunAsync(Variables, "ping", "words");

        Assert.Equal(1, code);
        Assert.Contains(Registry.Path, error, StringComparison.Ordinal);
    }
}
