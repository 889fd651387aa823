using System.Net;
using System.Net.Sockets;
using ProtoRpc.Client.Balancing;
using ProtoRpc.Tests.Transports;

namespace ProtoRpc.Tests.Client.Balancing;

public static class AddressResolverTests
{
    private static readonly IPAddress First = IPAddress.Parse("10.0.0.1");
    private static readonly IPAddress Second = IPAddress.Parse("10.0.0.2");

    [Fact]
    public static void Each_address_of_a_host_is_a_server_that_knows_its_name()
    {
        AddressResolver resolver = new([RpcEndpoint.Parse("grpcs://api.test:443")], _ => [First, Second]);

        Assert.Equal(
            [("grpcs://10.0.0.1:443", "api.test"), ("grpcs://10.0.0.2:443", "api.test")],
            resolver.Resolve().Select(resolved => (resolved.Endpoint.ToString(), resolved.Host)));
    }

    [Fact]
    public static void Addresses_names_without_port_and_names_that_nobody_knows_stay_as_they_are()
    {
        string[] endpoints = ["grpc://10.0.0.9:1", "ncalrpc:[x]", "grpc://nowhere.test:1"];
        AddressResolver resolver = new(
            [.. endpoints.Select(RpcEndpoint.Parse)],
            _ => throw new SocketException((int)SocketError.HostNotFound));

        Assert.Equal(endpoints, resolver.Resolve().Select(resolved => resolved.Endpoint.ToString()));
    }

    [Fact]
    public static void A_name_without_addresses_stays_as_it_is()
    {
        AddressResolver resolver = new([RpcEndpoint.Parse("grpc://empty.test:1")], _ => []);

        Assert.Equal("grpc://empty.test:1", Assert.Single(resolver.Resolve()).Endpoint.ToString());
    }

    [Fact]
    public static void An_address_under_two_names_is_one_server()
    {
        AddressResolver resolver = new(
            [RpcEndpoint.Parse("tcp://a.test:1"), RpcEndpoint.Parse("tcp://b.test:1")], _ => [First]);

        Assert.Single(resolver.Resolve());
    }

    [Fact]
    public static void Names_are_looked_up_at_the_same_time_and_each_once()
    {
        using Barrier both = new(2);
        int lookups = 0;
        string[] endpoints = ["tcp://a.test:1", "tcp://b.test:1", "tcp://A.test:2"];
        AddressResolver resolver = new([.. endpoints.Select(RpcEndpoint.Parse)], host =>
        {
            Interlocked.Increment(ref lookups);
            return both.SignalAndWait(TimeSpan.FromSeconds(20)) ? [host == "b.test" ? Second : First] : [];
        });

        Assert.Equal(
            ["ncacn_ip_tcp:10.0.0.1[1]", "ncacn_ip_tcp:10.0.0.2[1]", "ncacn_ip_tcp:10.0.0.1[2]"],
            resolver.Resolve().Select(resolved => resolved.Endpoint.ToString()));
        Assert.Equal(2, lookups);
    }

    [Fact]
    public static async Task The_name_that_is_still_looked_up_is_known()
    {
        TaskCompletionSource answer = new();
        AddressResolver resolver = new(
            [RpcEndpoint.Parse("tcp://quick.test:1"), RpcEndpoint.Parse("tcp://slow.test:1")],
            host =>
            {
                if (host == "slow.test")
                {
                    answer.Task.Wait(TimeSpan.FromSeconds(20));
                }

                return [First];
            });

        Assert.Equal("quick.test", resolver.Pending);
        Task<IReadOnlyList<ResolvedEndpoint>> resolving = Task.Run(resolver.Resolve);
        await Eventually.TrueAsync(() => resolver.Pending == "slow.test", "only the slow name is left");
        answer.SetResult();

        Assert.Single(await resolving);
        Assert.Equal("quick.test", resolver.Pending);
    }

    [Fact]
    public static void It_is_time_to_ask_at_first_and_when_an_address_was_of_no_use()
    {
        AddressResolver resolver = new([RpcEndpoint.Parse("tcp://a.test:1")], _ => [First]);
        Assert.True(resolver.IsDue);

        resolver.Resolve();
        Assert.False(resolver.IsDue);

        resolver.Hurry();
        Assert.True(resolver.IsDue);
    }
}
