using System.Net;
using System.Net.Http.Headers;
using System.Text.Json;
using Google.Protobuf;

namespace ProtoRpc.TestServers;

/// <summary>The service of streams.proto on a gRPC endpoint of its own;
/// what a text says is what a handler does.</summary>
internal sealed class WordsServer : IDisposable
{
    public WordsServer(
        string endpoint = "grpc://127.0.0.1:0", RpcServerOptions? options = null,
        HttpServerOptions? http = null,
        params string[] further)
    {
        Server = RpcServer.Create(Schema, "streams.Words", (options ?? new RpcServerOptions()).WithHttp(http))
            .Handle("Say", SayAsync)
            .HandleStreaming("Split", SplitAsync)
            .HandleStreaming("Join", JoinAsync)
            .HandleStreaming("Chat", ChatAsync)
            .AddEndpoint(endpoint);
        foreach (string more in further)
        {
            Server.AddEndpoint(more);
        }

        Server.StartListening();
    }

    public static RpcSchema Schema { get; } = RpcSchema.Load(
        [Path.Combine(AppContext.BaseDirectory, "protos", "streams.proto")]);

    public static RpcMessageInfo TextType { get; } = Schema.GetMessage("streams.Text");

    public RpcServer Server { get; }

    public RpcEndpoint Endpoint => Server.Endpoints[0];

    /// <summary>Ends when a handler waits.</summary>
    public TaskCompletionSource Waiting { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);

    /// <summary>How the handler that waited ended.</summary>
    public TaskCompletionSource<string> Ended { get; } = new(
        TaskCreationOptions.RunContinuationsAsynchronously);

    public static DynamicMessage Text(string text) =>
        MessageFormats.Json.Read(TextType, $$"""{"text":{{JsonSerializer.Serialize(text)}}}""");

    public static DynamicMessage Payload(int size) =>
        MessageFormats.Json.Read(TextType, $$"""{"payload":"{{Convert.ToBase64String(new byte[size])}}"}""");

    public static string TextOf(IMessage message) =>
        (string)((DynamicMessage)message).Get(TextType.FindField("text")!)!;

    public RpcClient Connect(RpcClientOptions? options = null) =>
        RpcClient.Connect(Endpoint, Schema, (options ?? new()) with { Service = "streams.Words" });

    /// <summary>Sends bytes as a call by a plain HTTP/2 client,
    /// and gives the answer with its trailers read.</summary>
    public async Task<HttpResponseMessage> PostAsync(
        byte[] body, string path = "/streams.Words/Say", string type = "application/grpc",
        params (string Name, string Value)[] headers)
    {
        using HttpClient http = new(new SocketsHttpHandler { UseProxy = false });
        using HttpRequestMessage request = new(
            HttpMethod.Post, $"http://{Endpoint.Host}:{Endpoint.Port}{path}")
        {
            Version = HttpVersion.Version20,
            VersionPolicy = HttpVersionPolicy.RequestVersionExact,
            Content = new ByteArrayContent(body),
        };
        request.Content.Headers.ContentType = MediaTypeHeaderValue.Parse(type);
        foreach ((string name, string value) in headers)
        {
            request.Headers.TryAddWithoutValidation(name, value);
        }

        HttpResponseMessage response = await http.SendAsync(request);
        await response.Content.ReadAsByteArrayAsync();
        return response;
    }

    /// <summary>A header or trailer of an answer, or null.</summary>
    public static string? Find(HttpResponseMessage response, string name) =>
        response.TrailingHeaders.TryGetValues(name, out IEnumerable<string>? trailers) ? trailers.Single()
        : response.Headers.TryGetValues(name, out IEnumerable<string>? headers) ? headers.Single()
        : null;

    public static byte[] Frame(IMessage message, byte flag = 0)
    {
        byte[] body = message.ToByteArray();
        return [flag, 0, 0, (byte)(body.Length >> 8), (byte)body.Length, .. body];
    }

    public void Dispose() => Server.Dispose();

    private async ValueTask<IMessage> SayAsync(RpcServerCallContext context, IMessage request)
    {
        string text = TextOf(request);
        switch (text.Split(' ')[0])
        {
            case "wait":
                return await WaitAsync(context);
            case "headers":
                context.ReplyHeaders.Add("x-first", context.RequestHeaders.GetText("x-asked") ?? "none");
                context.ReplyTrailers.Add(
                    "x-last-bin", context.RequestHeaders.GetBytes("x-asked-bin") ?? []);
                return Text(context.ClientAddress);
            case "fail":
                context.ReplyTrailers.Add("x-last", "of a failure");
                throw new RpcException(RpcStatusCode.NotFound, "Kein Öl: 100 % leer\n")
                {
                    Details = [Text("a detail")],
                };
            case "overlong":
                throw new RpcException(RpcStatusCode.DataLoss, new string('\u6F22', 5000))
                {
                    Details = [Text("a detail")],
                };
            case "unavailable":
                throw new RpcException(RpcStatusCode.Unavailable, "not now");
            case "throw":
                throw new InvalidOperationException("broken");
            case "reserved":
                context.ReplyTrailers.Add("grpc-status", "7");
                return request;
            case "gzip":
                context.ReplyCompression = RpcCompression.Gzip;
                return Text(context.IsRequestCompressed ? "compressed" : "plain");
            case "who":
                return Text(
                    $"{context.User.Name}|{context.IsLocal}|{context.ProtectionLevel}|"
                    + $"{context.Deadline is not null}");
            case "count":
                context.Session["n"] = ((int?)context.Session["n"] ?? 0) + 1;
                return Text($"{context.Session["n"]}");
            default:
                return request;
        }
    }

    private async ValueTask SplitAsync(RpcServerCallContext context, RpcServerStream stream)
    {
        IMessage request = (await stream.ReadAsync())!;
        foreach (string word in TextOf(request).Split(' ', StringSplitOptions.RemoveEmptyEntries))
        {
            if (word == "header")
            {
                context.ReplyHeaders.Add("x-first", "there");
                continue;
            }

            if (word == "wait")
            {
                await WaitAsync(context);
            }
            else if (word is "fail" or "unavailable")
            {
                throw new RpcException(
                    word == "fail" ? RpcStatusCode.Aborted : RpcStatusCode.Unavailable, "in the middle");
            }

            await stream.WriteAsync(Text(word));
        }
    }

    private async ValueTask JoinAsync(RpcServerCallContext context, RpcServerStream stream)
    {
        List<string> words = [];
        await foreach (IMessage request in stream.ReadAllAsync())
        {
            words.Add(TextOf(request));
            Waiting.TrySetResult();
        }

        await stream.WriteAsync(Text(string.Join(' ', words)));
    }

    private async ValueTask ChatAsync(RpcServerCallContext context, RpcServerStream stream)
    {
        while (await stream.ReadAsync() is { } request && TextOf(request) != "bye")
        {
            await stream.WriteAsync(Text($"{TextOf(request)}!"));
        }
    }

    private async Task<IMessage> WaitAsync(RpcServerCallContext context)
    {
        Waiting.TrySetResult();
        try
        {
            await Task.Delay(TimeSpan.FromMinutes(1), context.CancellationToken);
            return Text("never");
        }
        catch (OperationCanceledException)
        {
            Ended.TrySetResult("cancelled");
            throw;
        }
    }
}
