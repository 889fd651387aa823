namespace ProtoRpc.LongRun.Load;

/// <summary>What comes, is used and goes: connections, listeners, mocks and gateways.</summary>
internal static class Comings
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(20);
    private static readonly string[] Words = ["streams.Words"];

    /// <summary>A connection for some calls; at times it is closed while one runs.</summary>
    public static async Task ConnectAsync(Place place, Random random)
    {
        using RpcClient client = place.Connect();
        await WordCalls.AnyAsync(place, client, random);
        if (random.Next(4) == 0)
        {
            Task<DynamicMessage> left = client.InvokeAsync("Say", new { text = "wait" }, Short());
            await client.DisposeAsync();
            await EndsAsync(left, place.Name);
        }
    }

    /// <summary>A listener on two transports that moves one of them, and is stopped; at times while a call
    /// runs.</summary>
    public static async Task ListenAsync(Random random)
    {
        string scheme = Any(random);
        using WordsServer server = new(Servers.NewEndpoint(scheme), null, null, Servers.NewEndpoint("tcp"));
        Place place = new(scheme, server.Endpoint, new());
        using RpcClient client = place.Connect();
        await WordCalls.AnyAsync(place, client, random);
        if (random.Next(2) == 0)
        {
            RpcEndpoint[] moved = [server.Endpoint, RpcEndpoint.Parse(Servers.NewEndpoint(Any(random)))];
            await server.Server.ChangeAsync(new() { Endpoints = moved, DrainTimeout = TimeSpan.Zero });
        }

        if (random.Next(4) == 0)
        {
            Task<DynamicMessage> left = client.InvokeAsync("Say", new { text = "wait" }, Short());
            await server.Waiting.Task;
            await server.Server.StopAsync(TimeSpan.Zero);
            await EndsAsync(left, place.Name);
        }
    }

    /// <summary>A mock that is asked once.</summary>
    public static async Task MockAsync(Random random)
    {
        using RpcMock mock = RpcMock.Create(WordsServer.Schema, Words)
            .Reply("Say", new { text = "from the mock" })
            .AddEndpoint(Servers.NewEndpoint(random.Next(2) == 0 ? "inproc" : "local"))
            .StartListening();
        using RpcClient client = new Place("mock", mock.Endpoint, new()).Connect();
        DynamicMessage reply = await client.InvokeAsync("Say", new { text = "x" });
        if (WordsServer.TextOf(reply) != "from the mock" || mock.CallsOf("Say").Count != 1)
        {
            throw new InvalidOperationException("the mock gave another answer");
        }
    }

    /// <summary>A gateway between two transports.</summary>
    public static async Task ForwardAsync(Place back, Random random)
    {
        string scheme = Any(random);
        using RpcClient behind = back.Connect();
        using RpcServer gateway = RpcServer.Create(
                WordsServer.Schema, Words[0], new RpcServerOptions().WithHttp())
            .Forward(behind, Words)
            .AddEndpoint(Servers.NewEndpoint(scheme))
            .StartListening();
        using RpcClient client = new Place(scheme, gateway.Endpoints[0], new()).Connect();
        await WordCalls.SayAsync(client, random);
    }

    private static string Any(Random random) => Servers.Schemes[random.Next(Servers.Schemes.Count)];

    private static RpcCallOptions Short() => new() { Timeout = TimeSpan.FromSeconds(2) };

    // A call whose connection or server goes has an error and does not hang.
    private static async Task EndsAsync(Task<DynamicMessage> call, string place)
    {
        try
        {
            await call.WaitAsync(Patience);
        }
        catch (TimeoutException)
        {
            throw new InvalidOperationException($"a call over {place} has no end");
        }
        catch (Exception e) when (e is RpcException or OperationCanceledException or ObjectDisposedException)
        {
            return;
        }

        throw new InvalidOperationException($"a call over {place} was answered by nobody");
    }
}
