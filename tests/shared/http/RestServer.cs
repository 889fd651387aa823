using System.Net;
using Google.Protobuf;

namespace ProtoRpc.TestServers;

/// <summary>The service of rest.proto, whose replies have the method and the request, on an HTTP endpoint of
/// its own with a plain HTTP client.</summary>
internal sealed class RestServer : IDisposable
{
    public RestServer(
        HttpServerOptions? http = null, RpcServerOptions? options = null,
        string endpoint = "http://127.0.0.1:0/")
    {
        Server = Handle(RpcServer.Create(
                RestProtos.Library, "rest.Library", (options ?? new RpcServerOptions()).WithHttp(http)))
            .AddEndpoint(endpoint)
            .StartListening();
        Http = new HttpClient(new SocketsHttpHandler { UseProxy = false })
        {
            BaseAddress = new Uri(Server.Endpoints[0].Uri),
        };
    }

    public RpcServer Server { get; }

    public HttpClient Http { get; }

    /// <summary>Adds the handlers of all methods.</summary>
    public static RpcServer Handle(RpcServer server)
    {
        foreach (RpcMethodInfo method in RestProtos.Library.GetService("rest.Library").Methods)
        {
            _ = method.Name switch
            {
                "Watch" or "DownloadParts" => server.HandleStreaming(method.Name, StreamAsync),
                _ => server.Handle(
                    method.Name, (context, request) => ValueTask.FromResult(Reply(context.Method, request))),
            };
        }

        return server;
    }

    /// <summary>Sends a request; gives the status, the media type and the text.</summary>
    public Task<(HttpStatusCode Status, string MediaType, string Text)> GetAsync(
        string target, params (string Name, string Value)[] headers) =>
        SendAsync("GET", target, null, headers);

    /// <inheritdoc cref="GetAsync"/>
    public async Task<(HttpStatusCode Status, string MediaType, string Text)> SendAsync(
        string method, string target, string? json = null, params (string Name, string Value)[] headers)
    {
        using HttpRequestMessage request = new(new HttpMethod(method), target);
        if (json is not null)
        {
            request.Content = new StringContent(json, mediaType: new("application/json"));
        }

        return await Http.AnswerAsync(request, headers);
    }

    public void Dispose()
    {
        Http.Dispose();
        Server.Dispose();
    }

    private static IMessage Reply(RpcMethodInfo method, IMessage message)
    {
        DynamicMessage request = (DynamicMessage)message;
        if (method.Name == "Fail")
        {
            throw new RpcException(
                (RpcStatusCode)(int)request.Get(request.Type.FindField("number")!)!, "as you like");
        }

        string name = (string)request.Get(request.Type.FindField("name")!)!;
        if (method.Name == "Download")
        {
            return Raw(method.ReplyType, "text/x-name", name);
        }

        DynamicMessage reply = new(method.ReplyType);
        reply.Set(reply.Type.FindField("method")!, method.Name);
        reply.Set(reply.Type.FindField(method.Name == "Upload" ? "file" : "request")!, request);
        if (method.Name is "GetTags")
        {
            reply.Set(reply.Type.FindField("tags")!, request.Get(request.Type.FindField("tags")!)!);
        }

        return reply;
    }

    private static async ValueTask StreamAsync(RpcServerCallContext context, RpcServerStream stream)
    {
        DynamicMessage request = (DynamicMessage)(await stream.ReadAsync())!;
        int count = (int)request.Get(request.Type.FindField("number")!)!;
        for (int i = 1; i <= count; i++)
        {
            await stream.WriteAsync(context.Method.Name == "Watch"
                ? MessageFormats.Json.Read(context.Method.ReplyType, $$"""{"tags":["{{i}}"]}""")
                : Raw(context.Method.ReplyType, i == 1 ? "text/x-parts" : "", $"{i};"));
        }

        if (request.Has(request.Type.FindField("maybe")!))
        {
            throw new RpcException(RpcStatusCode.Aborted, "enough");
        }
    }

    private static DynamicMessage Raw(RpcMessageInfo type, string contentType, string text)
    {
        DynamicMessage raw = new(type);
        raw.Set(type.FindField("content_type")!, contentType);
        raw.Set(type.FindField("data")!, System.Text.Encoding.UTF8.GetBytes(text));
        return raw;
    }
}
