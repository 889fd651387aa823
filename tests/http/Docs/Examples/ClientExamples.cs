using Google.Protobuf;
using Shop;

namespace ProtoRpc.Http.Tests.Docs.Examples;

/// <summary>The examples of the XML docs of clients. <c>address</c> and <c>native</c> are shown as
/// endpoints.</summary>
internal static class ClientExamples
{
    public static async Task<int> ConnectAsync(string address)
    {
        // <RpcClient>
        await using RpcClient client = await RpcClient.ConnectAsync(address);
        PlaceReply reply = await client.InvokeAsync<PlaceReply>(
            "Place", new PlaceRequest { Order = new Order { Id = "o1", Items = { "tea" } } });
        // </RpcClient>
        return reply.Total;
    }

    public static async Task<string> OptionsAsync(string address)
    {
        // <RpcClientOptions>
        RpcClientOptions options = new()
        {
            RetryCount = 3,
            Headers = new() { { "x-tenant", "blue" } },
            Limits = new() { ConnectTimeout = TimeSpan.FromSeconds(5) },
        };
        await using RpcClient client = await RpcClient.ConnectAsync(address, options);
        // </RpcClientOptions>
        return (await client.InvokeAsync<PlaceReply>("Place", Request("o1"))).Id;
    }

    public static async Task<string> CallOptionsAsync(RpcClient client, PlaceRequest request)
    {
        // <RpcCallOptions>
        RpcCallOptions options = new()
        {
            Timeout = TimeSpan.FromSeconds(5),
            Headers = new() { { "x-tenant", "blue" } },
        };
        PlaceReply reply = await client.InvokeAsync<PlaceReply>("Place", request, options);
        // </RpcCallOptions>
        return reply.Id;
    }

    public static async Task<string> ReplyInfoAsync(RpcClient client, PlaceRequest request)
    {
        using StringWriter output = new();
        TextWriter Console = output;

        // <RpcReplyInfo>
        RpcReplyInfo info = new();
        await client.InvokeAsync<PlaceReply>("Place", request, new() { ReplyInfo = info });
        Console.WriteLine($"{info.Endpoint} sent {info.BytesReceived} bytes after {info.Retries} retries.");
        Console.WriteLine(info.Trailers.GetText("x-last"));
        // </RpcReplyInfo>
        return output.ToString();
    }

    public static async Task<string> RetryAsync(string address)
    {
        // <RpcRetryPolicy>
        RpcRetryPolicy retry = new()
        {
            Count = 4,
            InitialPause = TimeSpan.FromMilliseconds(100),
            StatusCodes = [RpcStatusCode.Unavailable, RpcStatusCode.Aborted],
            Idempotent = true,
        };
        await using RpcClient client = await RpcClient.ConnectAsync(
            address, new() { Retry = retry });
        // </RpcRetryPolicy>
        return (await client.InvokeAsync<PlaceReply>("Place", Request("fail"))).Id;
    }

    public static async Task<string> StreamAsync(RpcClient client)
    {
        using StringWriter output = new();
        TextWriter Console = output;

        // <RpcStreamingCall>
        await using RpcStreamingCall call = await client.OpenAsync("Track");
        await call.SendAsync(new { id = "o1" });
        await call.CompleteAsync();
        await foreach (DynamicMessage reply in call.ReadAllAsync())
        {
            Console.WriteLine(reply["text"]);
        }
        // </RpcStreamingCall>
        return output.ToString();
    }

    public static RpcClientOptions Secure(string token)
    {
        // <RpcClientSecurity>
        RpcClientOptions options = new()
        {
            Security = new() { Authentication = RpcClientAuthentication.Bearer, Token = token },
        };
        // </RpcClientSecurity>
        return options;
    }

    public static async Task<byte[]> RawAsync(string native, Guid interfaceId)
    {
        // <RpcRawClient>
        await using RpcRawClient client = await RpcRawClient.ConnectAsync(
            native, interfaceId);
        byte[] reply = await client.ExecuteAsync("hello"u8.ToArray());
        // </RpcRawClient>
        return reply;
    }

    public static async Task<string> ErrorAsync(RpcClient client)
    {
        using StringWriter output = new();
        TextWriter Console = output;

        // <RpcException>
        try
        {
            await client.InvokeAsync("Place", new { order = new { name = "o1" } });
        }
        catch (RpcException e) when (e.ErrorId == RpcErrorIds.UnknownField)
        {
            Console.WriteLine($"There is no field {e.FieldPath}.");
        }
        // </RpcException>
        return output.ToString();
    }

    public static async Task<string> DetailAsync(RpcClient client, PlaceRequest request)
    {
        using StringWriter output = new();
        TextWriter Console = output;

        // <RpcErrorDetails>
        try
        {
            await client.InvokeAsync<PlaceReply>("Place", request);
        }
        catch (RpcException e) when (e.GetDetail<OrderEvent>() is { } soldOut)
        {
            Console.WriteLine($"Sold out: {soldOut.Text}");
        }
        // </RpcErrorDetails>
        return output.ToString();
    }

    public static async Task<RpcMetadata> HeadersAsync(RpcClient client, PlaceRequest request)
    {
        // <RpcMetadata>
        RpcMetadata headers = new() { { "x-tenant", "blue" } };
        headers.Set("x-key-bin", new byte[] { 1, 2 });
        await client.InvokeAsync<PlaceReply>("Place", request, new() { Headers = headers });
        // </RpcMetadata>
        return headers;
    }

    public static async Task<string> ContextAsync()
    {
        TagInterceptor interceptor = new();
        RpcMethodInfo method = RpcSchema.FromDescriptors(OrdersReflection.Descriptor)
            .GetMethod("shop.Orders/Place");

        // <RpcClientCallContext>
        RpcClientCallContext context = new(method, RpcEndpoint.Local("test"));
        await interceptor.InvokeAsync(
            context, new PlaceRequest(), (_, _) => new ValueTask<IMessage>(new PlaceReply()));
        Assert.Equal("blue", context.Headers.GetText("x-tenant"));
        // </RpcClientCallContext>
        return context.Method.Name;
    }

    public static PlaceRequest Request(string id) =>
        new() { Order = new Order { Id = id, Items = { "tea" } } };
}

// <IRpcClientInterceptor>
internal sealed class TagInterceptor : IRpcClientInterceptor
{
    public ValueTask<IMessage> InvokeAsync(
        RpcClientCallContext context, IMessage request, RpcClientHandler next)
    {
        context.Headers.Set("x-tenant", "blue");
        return next(context, request);
    }

    public ValueTask<RpcClientStream> OpenAsync(
        RpcClientCallContext context, RpcClientStreamHandler next) => next(context);
}
// </IRpcClientInterceptor>
