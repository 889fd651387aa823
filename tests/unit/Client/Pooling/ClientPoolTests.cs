using Google.Protobuf;
using ProtoRpc.Client;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Native;

namespace ProtoRpc.Tests.Client.Pooling;

public sealed class ClientPoolTests : IDisposable
{
    private static readonly TimeSpan Idle = TimeSpan.FromMinutes(5);
    private static readonly RpcClientOptions Lazy = new() { Lazy = true };

    private readonly ManualTime _time = new();
    private readonly ClientPool _kept;

    public ClientPoolTests() => _kept = new ClientPool(Idle, maxIdle: 2, _time);

    public void Dispose() => _kept.Dispose();

    [Fact]
    public void TheNextRenterGetsTheSameClient()
    {
        RpcClient first;
        using (PooledClient kept = Rent("a"))
        {
            first = kept.Client;
            Assert.True(kept.IsNew);
        }

        using PooledClient again = Rent("a");
        Assert.Same(first, again.Client);
        Assert.False(again.IsNew);
    }

    [Fact]
    public void RentersAtTheSameTimeShareAClientThatIsKeptUntilTheLastOneIsDone()
    {
        PooledClient one = Rent("a");
        PooledClient two = Rent("a");
        Assert.Same(one.Client, two.Client);
        one.Dispose();
        one.Dispose();
        _time.Advance(Idle * 2);
        Assert.True(two.Client.IsOpen);
        two.Dispose();
        Assert.Equal(1, _kept.Count);
    }

    [Fact]
    public async Task AClientThatNobodyUsesIsClosedWhenItsTimeIsUp()
    {
        RpcClient first = RentOnce("a");
        _time.Advance(Idle / 2);
        RpcClient second = RentOnce("b");
        _time.Advance(Idle / 2);
        await Closed(first);
        Assert.True(second.IsOpen);
        _time.Advance(Idle / 2);
        await Closed(second);
        Assert.Equal(0, _kept.Count);
        Assert.NotSame(first, RentOnce("a"));
    }

    [Fact]
    public async Task UsingAClientBeginsItsTimeAnew()
    {
        RpcClient client = RentOnce("a");
        _time.Advance(Idle - TimeSpan.FromSeconds(1));
        RentOnce("a");
        _time.Advance(Idle - TimeSpan.FromSeconds(1));
        Assert.True(client.IsOpen);
        _time.Advance(TimeSpan.FromSeconds(1));
        await Closed(client);
    }

    [Fact]
    public async Task OfTooManyTheOldestIsClosed()
    {
        RpcClient oldest = RentOnce("a");
        _time.Advance(TimeSpan.FromSeconds(1));
        RentOnce("b");
        _time.Advance(TimeSpan.FromSeconds(1));
        RentOnce("c");
        await Closed(oldest);
        Assert.Equal(2, _kept.Count);
    }

    [Fact]
    public void AClientThatWasClosedIsReplaced()
    {
        RpcClient closed = RentOnce("a");
        closed.Dispose();
        using PooledClient kept = Rent("a");
        Assert.NotSame(closed, kept.Client);
        Assert.True(kept.IsNew);
    }

    [Fact]
    public async Task ClearLeavesAClientInUseToItsRenter()
    {
        RpcClient idle = RentOnce("a");
        PooledClient used = Rent("b");
        _kept.Clear();
        Assert.False(idle.IsOpen);
        Assert.True(used.Client.IsOpen);
        using (PooledClient other = Rent("b"))
        {
            Assert.NotSame(used.Client, other.Client);
        }

        used.Dispose();
        await Closed(used.Client);
        Assert.Equal(1, _kept.Count);
    }

    [Fact]
    public async Task ForgettingContextsEmptiesThoseOfIdleClientsAndLeavesAClientInUseToItsRenter()
    {
        DynamicMessage context = SideChannel.ToDynamic(
            new RpcCallContext { SessionId = ByteString.CopyFrom(new byte[16]) }, null, int.MaxValue);
        RpcClient idle = RentOnce("a");
        PooledClient used = Rent("b");
        idle.CallContext = context;

        _kept.ForgetContexts();
        used.Client.CallContext = context;

        Assert.Same(idle, RentOnce("a"));
        Assert.Equal(0, idle.CallContext.CalculateSize());
        using (PooledClient other = Rent("b"))
        {
            Assert.NotSame(used.Client, other.Client);
            Assert.Equal(0, other.Client.CallContext.CalculateSize());
        }

        used.Dispose();
        await Closed(used.Client);
    }

    [Fact]
    public void DisposeClosesAll()
    {
        RpcClient idle = RentOnce("a");
        PooledClient used = Rent("b");
        _kept.Dispose();
        Assert.False(idle.IsOpen);
        Assert.False(used.Client.IsOpen);
        used.Dispose();
    }

    [Fact]
    public void AClientThatCannotBeMadeIsNotKept()
    {
        RpcEndpoint endpoint = RpcEndpoint.Local("a");
        ClientKey key = ClientKey.Create(endpoint, null, Lazy);
        Assert.Throws<InvalidOperationException>(
            () => _kept.Rent(key, () => throw new InvalidOperationException()));
        Assert.Equal(0, _kept.Count);
    }

    [Fact]
    public async Task ManyThreadsShareOneClient()
    {
        RpcClient[] clients = await Task.WhenAll(
            Enumerable.Range(0, 50).Select(_ => Task.Run(() => RentOnce("a"))));
        Assert.Single(clients.Distinct());
    }

    private static async Task Closed(RpcClient client)
    {
        using CancellationTokenSource patience = new(TimeSpan.FromSeconds(20));
        while (client.IsOpen)
        {
            await Task.Delay(5, patience.Token);
        }
    }

    private PooledClient Rent(string name)
    {
        RpcEndpoint endpoint = RpcEndpoint.Local(name);
        return _kept.Rent(
            ClientKey.Create(endpoint, null, Lazy), () => RpcClient.Connect(endpoint, options: Lazy));
    }

    private RpcClient RentOnce(string name)
    {
        using PooledClient kept = Rent(name);
        return kept.Client;
    }
}
