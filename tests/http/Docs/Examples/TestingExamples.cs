using System.Security.Principal;
using Google.Protobuf;
using Shop;

namespace ProtoRpc.Http.Tests.Docs.Examples;

/// <summary>The examples of the XML docs of types for tests and measurements.</summary>
internal static class TestingExamples
{
    public static void Mock(RpcSchema schema)
    {
        // <RpcMock>
        using RpcMock mock = RpcMock.Create(schema)
            .Reply("Place", new { id = "o1", total = 2 })
            .StartListening();
        using RpcClient client = RpcClient.Connect(mock.Endpoint, schema);
        client.Invoke("Place", new { order = new { id = "o1" } });
        Assert.Single(mock.CallsOf("Place"));
        // </RpcMock>
    }

    public static async Task<IMessage> TestAsync(RpcSchema schema, RpcHandler handler)
    {
        // <RpcTestCall>
        RpcTestCall call = new(schema.GetMethod("shop.Orders/Place"))
        {
            RequestHeaders = new() { { "x-tenant", "blue" } },
        };
        IMessage reply = await handler(
            call.CreateContext(), new PlaceRequest { Order = new Order { Id = "o1" } });
        // </RpcTestCall>
        return reply;
    }

    public static async Task<int> StreamAsync(RpcSchema schema, RpcStreamHandler watch)
    {
        // <RpcTestStream>
        RpcTestCall call = new(schema.GetMethod("shop.Orders/Watch"));
        RpcTestStream stream = call.CreateStream(new WatchRequest { Id = "o1" });
        await watch(call.CreateContext(), stream);
        Assert.Equal(3, stream.Replies.Count);
        // </RpcTestStream>
        return stream.Replies.Count;
    }

    public static async Task<ReadOnlyMemory<byte>?> RawAsync(
        Guid interfaceId, RpcRawHandler handler, PeerIdentity ann)
    {
        // <RpcTestRawCall>
        RpcTestRawCall call = new(interfaceId) { Peer = ann };
        ReadOnlyMemory<byte>? reply = await handler(call.CreateContext(), "hello"u8.ToArray());
        // </RpcTestRawCall>
        return reply;
    }

    public static PeerIdentity Caller(RpcMethodInfo method)
    {
        // <PeerIdentity>
        PeerIdentity ann = new(new GenericIdentity("ann"), "192.0.2.1:5000", ProcessId: 0, IsLocal: false);
        RpcTestCall call = new(method) { Peer = ann };
        // </PeerIdentity>
        return call.Peer;
    }

    public static async Task<long> MeasureAsync(RpcClient client)
    {
        using StringWriter output = new();
        TextWriter Console = output;

        // <RpcLoadTest>
        RpcMethodInfo method = client.GetMethod("Place");
        RpcLoadRequests requests = RpcLoadRequests.Same(method, new { order = new { id = "o1" } });
        RpcLoadTest test = new(
            [new RpcLoadTarget(client, method, requests)], new RpcLoadOptions { Count = 100 });
        RpcLoadResult result = (await test.RunAsync())[0];
        Console.WriteLine(result.ToText());
        // </RpcLoadTest>
        return result.Calls;
    }

    public static RpcLoadRequests Requests(RpcMethodInfo method)
    {
        // <RpcLoadRequests>
        RpcLoadRequests requests = RpcLoadRequests.PerCall(
            method, number => [new PlaceRequest { Order = new Order { Id = $"o{number}" } }]);
        // </RpcLoadRequests>
        return requests;
    }

    public static async Task<string[]> TargetsAsync(
        RpcClient old, RpcClient planned, RpcMethodInfo method, RpcLoadRequests requests)
    {
        // <RpcLoadTarget>
        RpcLoadTest test = new(
            [
                new RpcLoadTarget("old", [old], method, requests),
                new RpcLoadTarget("new", [planned], method, requests),
            ],
            new RpcLoadOptions { Count = 100 });
        IReadOnlyList<RpcLoadResult> results = await test.RunAsync();
        // </RpcLoadTarget>
        return [.. results.Select(result => result.Name)];
    }

    public static RpcLoadOptions Options()
    {
        // <RpcLoadOptions>
        RpcLoadOptions options = new()
        {
            Duration = TimeSpan.FromSeconds(30),
            WarmUp = TimeSpan.FromSeconds(5),
            Concurrency = 20,
        };
        // </RpcLoadOptions>
        return options;
    }
}
