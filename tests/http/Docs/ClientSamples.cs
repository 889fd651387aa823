using System.Security.Principal;
using Google.Protobuf;
using Microsoft.Extensions.Logging;
using Shop;

namespace ProtoRpc.Http.Tests.Docs;

/// <summary>The code of the pages in docs/csharp that calls, where <c>address</c> is written as an
/// endpoint.</summary>
internal static class ClientSamples
{
    public static async Task<string> CallAsync(string address, Order order, CancellationToken stop)
    {
        using StringWriter output = new();
        TextWriter Console = output;

        // <call>
        await using RpcClient client = await RpcClient.ConnectAsync(
            address, new() { RetryCount = 3, Interceptors = [new TokenInterceptor()] }, stop);

        PlaceReply reply = await client.InvokeAsync<PlaceReply>(
            "Place", new PlaceRequest { Order = order }, new() { Timeout = TimeSpan.FromSeconds(5) }, stop);

        await foreach (OrderEvent e in client.InvokeServerStreamAsync<OrderEvent>(
            "Watch", new WatchRequest { Id = reply.Id }, cancellationToken: stop))
        {
            Console.WriteLine(e.Number);
        }

        DynamicMessage any = await client.InvokeAsync(
            "Place", new { order = new { id = "o2" } }, cancellationToken: stop);
        Console.WriteLine(any["total"]);
        // </call>
        return output.ToString();
    }

    public static async Task<object?> RetryAsync(string address, Order order)
    {
        // <retry>
        await using RpcClient client = await RpcClient.ConnectAsync(
            address, new() { Retry = new() { Count = 4, StatusCodes = [RpcStatusCode.Unavailable] } });
        // </retry>
        return (await client.InvokeAsync("Place", new PlaceRequest { Order = order }))["total"];
    }

    public static async Task<object?> DynamicAsync(string address, RpcSchema schema)
    {
        // <dynamic>
        await using RpcClient client = await RpcClient.ConnectAsync(address, schema);
        DynamicMessage request = new(schema.GetMessage("shop.PlaceRequest"));
        request["order"] = new { id = "o3", items = new[] { "tea", "cups" } };

        DynamicMessage reply = await client.InvokeAsync("Place", request);
        // </dynamic>
        return reply["total"];
    }

    public static async Task<string> MeasureAsync(
        string address, RpcSchema schema, Order order, TimeSpan seconds)
    {
        using StringWriter output = new();
        TextWriter Console = output;

        // <measure>
        await using RpcClient client = await RpcClient.ConnectAsync(address, schema);
        RpcMethodInfo method = client.GetMethod("Place");
        RpcLoadRequests requests = RpcLoadRequests.Same(method, new PlaceRequest { Order = order });
        RpcLoadTest test = new(
            [new RpcLoadTarget(client, method, requests)],
            new RpcLoadOptions { Duration = seconds, Concurrency = 20 });
        RpcLoadResult result = (await test.RunAsync())[0];
        Console.WriteLine(result.ToText());
        // </measure>
        return output.ToString();
    }

    public static async Task<string> OpenAsync(string address)
    {
        using StringWriter output = new();
        TextWriter Console = output;
        await using RpcClient client = await RpcClient.ConnectAsync(address);

        // <open>
        await using RpcStreamingCall<WatchRequest, OrderEvent> call =
            await client.OpenAsync<WatchRequest, OrderEvent>("Track");
        await call.SendAsync(new WatchRequest { Id = "o1" });
        while (await call.ReadAsync())
        {
            Console.WriteLine(call.Current.Text);
            await call.CompleteAsync();
        }
        // </open>
        return output.ToString();
    }

    public static async Task<string> ListAsync(RpcClient client)
    {
        using StringWriter output = new();
        TextWriter Console = output;

        // <list>
        await foreach (DynamicMessage book in client.InvokeAllAsync("ListBooks", new { page_size = 100 }))
        {
            Console.WriteLine(book["title"]);
        }
        // </list>
        return output.ToString();
    }

    public static async Task<string> FailAsync(string address, PlaceRequest request)
    {
        using StringWriter output = new();
        TextWriter Console = output;
        await using RpcClient client = await RpcClient.ConnectAsync(address);

        // <fail>
        DateTimeOffset deadline = DateTimeOffset.UtcNow.AddSeconds(2);
        try
        {
            await client.InvokeAsync<PlaceReply>("Place", request, new() { Deadline = deadline });
        }
        catch (RpcException e) when (e.Code == RpcStatusCode.Aborted && !e.MayHaveExecuted)
        {
            Console.WriteLine("The call did not run.");
        }
        catch (RpcException e)
        {
            Console.WriteLine($"{e.MethodName} at {e.Endpoint} failed with {e.Code}: {e.Message}");
        }
        // </fail>
        return output.ToString();
    }

    public static RpcServer Log(ILoggerFactory loggers, RpcSchema schema)
    {
        // <log>
        RpcServerOptions options = new() { LoggerFactory = loggers };
        RpcServer server = RpcServer.Create(schema, "shop.Orders", options);
        // </log>
        return server;
    }

    public static async Task TestAsync(RpcSchema schema, RpcHandler handler, RpcStreamHandler watch)
    {
        // <test>
        RpcTestCall call = new(schema.GetMethod("shop.Orders/Place"))
        {
            Peer = new PeerIdentity(new GenericIdentity("ann"), "192.0.2.1:5000", 0, IsLocal: false),
            RequestHeaders = new() { { "x-tenant", "blue" } },
        };
        RpcServerCallContext context = call.CreateContext();

        IMessage reply = await handler(context, new PlaceRequest { Order = new Order { Id = "o1" } });

        Assert.Equal("o1", ((PlaceReply)reply).Id);
        Assert.Equal("o1", context.ReplyTrailers.GetText("x-last"));
        // </test>

        // <teststream>
        RpcTestCall streamed = new(schema.GetMethod("shop.Orders/Watch"));
        RpcTestStream stream = streamed.CreateStream(new WatchRequest { Id = "o1" });

        await watch(streamed.CreateContext(), stream);

        Assert.Equal(3, stream.Replies.Count);
        // </teststream>
    }

    public static async Task TestRawAsync(Guid interfaceId, RpcRawHandler handler)
    {
        // <testraw>
        RpcTestRawCall call = new(interfaceId)
        {
            Peer = new PeerIdentity(new GenericIdentity("ann"), "192.0.2.1:5000", 0, IsLocal: false),
        };

        ReadOnlyMemory<byte>? reply = await handler(call.CreateContext(), "hello"u8.ToArray());

        Assert.Equal("hello ann"u8, reply!.Value.Span);
        // </testraw>
    }
}

// <token>
internal sealed class TokenInterceptor : IRpcClientInterceptor
{
    public async ValueTask<IMessage> InvokeAsync(
        RpcClientCallContext context, IMessage request, RpcClientHandler next)
    {
        context.Headers.Set("authorization", await GetTokenAsync(context.CancellationToken));
        return await next(context, request);
    }

    public async ValueTask<RpcClientStream> OpenAsync(
        RpcClientCallContext context, RpcClientStreamHandler next)
    {
        context.Headers.Set("authorization", await GetTokenAsync(context.CancellationToken));
        return await next(context);
    }

    private static ValueTask<string> GetTokenAsync(CancellationToken cancellationToken) =>
        new("Bearer secret");
}
// </token>
