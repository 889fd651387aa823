namespace ProtoRpc.Http.Tests.Tool;

/// <summary><c>protorpc listen</c> with the service of streams.proto, and a client of it.</summary>
internal sealed class Served : IAsyncDisposable
{
    private static readonly string Schema = Path.Combine(AppContext.BaseDirectory, "protos", "streams.proto");
    private readonly RpcClient _client;

    private Served(ToolProcess process)
    {
        Process = process;
        _client = RpcClient.Connect(
            process.Endpoints[0], WordsServer.Schema, new() { Service = "streams.Words", RetryCount = 0 });
    }

    public ToolProcess Process { get; }

    public RpcClient Client => _client;

    public static Task<Served> StartAsync(string endpoint, params string[] arguments) =>
        StartVerbAsync("listen", endpoint, arguments);

    /// <summary>The same with more environment variables.</summary>
    public static Task<Served> StartWithAsync(
        Dictionary<string, string> environment, string endpoint, params string[] arguments) =>
        StartVerbAsync("listen", endpoint, arguments, environment);

    /// <summary>The same with <c>protorpc mock</c>.</summary>
    public static Task<Served> StartMockAsync(string endpoint, params string[] arguments) =>
        StartVerbAsync("mock", endpoint, arguments);

    private static async Task<Served> StartVerbAsync(
        string verb, string endpoint, string[] arguments,
        Dictionary<string, string>? environment = null) => new(
        await ToolProcess.StartAsync(
            new(environment ?? []) { ["PATH"] = Environment.GetEnvironmentVariable("PATH")! },
            [
                verb, endpoint, "--schema", Schema, "--service", "streams.Words", .. arguments,
            ]));

    public async Task<string> SayAsync(
        string text, RpcCallOptions? options = null, CancellationToken cancellation = default) =>
        WordsServer.TextOf(
            await _client.InvokeAsync("Say", WordsServer.Text(text), options, cancellation));

    /// <summary>The replies of a call of any kind.</summary>
    public async Task<List<string>> StreamAsync(string method, params string[] requests)
    {
        (List<string> replies, RpcException? error) = await TryStreamAsync(method, requests);
        return error is null ? replies : throw error;
    }

    /// <summary>The same with the failure after them.</summary>
    public async Task<(List<string> Replies, RpcException? Error)> TryStreamAsync(
        string method, params string[] requests)
    {
        List<string> replies = [];
        try
        {
            await using RpcStreamingCall call = await _client.OpenAsync(method);
            foreach (string request in requests)
            {
                await call.SendAsync(WordsServer.Text(request));
            }

            await call.CompleteAsync();
            while (await call.ReadAsync())
            {
                replies.Add(WordsServer.TextOf(call.Current));
            }

            return (replies, null);
        }
        catch (RpcException e)
        {
            return (replies, e);
        }
    }

    public async ValueTask DisposeAsync()
    {
        await _client.DisposeAsync();
        await Process.DisposeAsync();
    }
}
