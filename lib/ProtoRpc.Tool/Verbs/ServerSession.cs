using System.Diagnostics;

namespace ProtoRpc.Tool.Verbs;

/// <summary>One server while a command runs: its schema, and the connection to it.</summary>
internal sealed class ServerSession(
    RpcEndpoint endpoint, RpcClientOptions options, DateTimeOffset? deadline) : IAsyncDisposable
{
    private RpcClient? _client;

    public RpcEndpoint Endpoint => endpoint;

    /// <summary>The headers of all that is sent.</summary>
    public RpcMetadata Headers => options.Headers;

    /// <summary>When the command gives up; null for never.</summary>
    public DateTimeOffset? Deadline => deadline;

    /// <summary>The schema that names are looked up in.</summary>
    public RpcSchema Schema { get; set; } = null!;

    /// <summary>How long it took to ask the server for its schema.</summary>
    public TimeSpan SchemaTime { get; private set; }

    /// <summary>How long it took to connect for the call.</summary>
    public TimeSpan ConnectTime { get; private set; }

    /// <summary>Asks the server for its schema.</summary>
    /// <param name="given">What it adds to; null for nothing.</param>
    /// <param name="headers">Headers of these questions alone, for which there is a connection of their
    /// own.</param>
    /// <param name="cancellation">Gives up.</param>
    public async Task AskAsync(RpcSchema? given, RpcMetadata headers, CancellationToken cancellation)
    {
        long start = Stopwatch.GetTimestamp();
        RpcClientOptions asking = headers.Count == 0
            ? options
            : options with { Headers = Joined(options.Headers, headers) };
        RpcClient client = await ConnectAsync(endpoint, given, asking, cancellation);
        try
        {
            Schema = await FetchAsync(client, new() { Deadline = deadline }, cancellation);
        }
        catch
        {
            await client.DisposeAsync();
            throw;
        }

        if (headers.Count == 0)
        {
            _client = client;
        }
        else
        {
            await client.DisposeAsync();
        }

        SchemaTime = Stopwatch.GetElapsedTime(start);
    }

    /// <summary>The client of calls of a service, which belongs to the session.</summary>
    public async Task<RpcClient> ConnectAsync(string service, CancellationToken cancellation)
    {
        long start = Stopwatch.GetTimestamp();
        _client ??= await ConnectAsync(endpoint, Schema, options with { Service = service }, cancellation);
        ConnectTime = Stopwatch.GetElapsedTime(start);
        return _client;
    }

    public ValueTask DisposeAsync() => _client?.DisposeAsync() ?? ValueTask.CompletedTask;

    /// <summary>Connects to a server.</summary>
    /// <exception cref="CallFailedException">That failed.</exception>
    public static Task<RpcClient> ConnectAsync(
        RpcEndpoint endpoint, RpcSchema? schema, RpcClientOptions options, CancellationToken cancellation) =>
        CallFailedException.GuardAsync(
            () => RpcClient.ConnectAsync(endpoint, schema, options, cancellation), cancellation);

    /// <summary>Asks a server for its schema.</summary>
    /// <exception cref="CallFailedException">That failed.</exception>
    public static Task<RpcSchema> FetchAsync(
        RpcClient client, RpcCallOptions? options, CancellationToken cancellation) =>
        CallFailedException.GuardAsync(() => client.FetchSchemaAsync(options, cancellation), cancellation);

    private static RpcMetadata Joined(RpcMetadata first, RpcMetadata second)
    {
        RpcMetadata all = new();
        foreach ((string name, object value) in first.Concat(second))
        {
            if (value is byte[] bytes)
            {
                all.Add(name, bytes);
            }
            else
            {
                all.Add(name, (string)value);
            }
        }

        return all;
    }
}
