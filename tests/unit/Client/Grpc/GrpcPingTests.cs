using System.Net;
using Google.Protobuf;
using ProtoRpc.Protocols.Headers;

namespace ProtoRpc.Tests.Client.Grpc;

/// <summary>Pings of gRPC servers that are none of ours,
/// and what of health and reflection they have.</summary>
public static class GrpcPingTests
{
    private const int NotFound = 5;
    private const int Unimplemented = 12;
    private const int Unavailable = 14;

    // Answers of a health service: HealthCheckResponse with a status.
    private static readonly byte[] Serving = [0, 0, 0, 0, 2, 8, 1];
    private static readonly byte[] NotServing = [0, 0, 0, 0, 2, 8, 2];
    private static readonly byte[] Unknown = [0, 0, 0, 0, 2, 8, 3];

    // ServerReflectionResponse that lists the service a.B.
    private static readonly byte[] Lists =
        [0, 0, 0, 0, 9, 0x32, 7, 0x0A, 5, 0x0A, 3, (byte)'a', (byte)'.', (byte)'B'];

    [Fact]
    public static async Task A_service_that_the_health_service_does_not_know_is_not_served()
    {
        await using Http2Peer peer = Peer([Fails(NotFound)]);

        Assert.Equal("ServiceNotServed", Fails(peer).ErrorId);
    }

    [Fact]
    public static async Task One_that_it_calls_unknown_is_not_served_either()
    {
        await using Http2Peer peer = Peer([Unknown]);

        Assert.Equal("ServiceNotServed", Fails(peer).ErrorId);
    }

    [Fact]
    public static async Task A_server_without_health_service_is_there_and_says_nothing_of_the_service()
    {
        await using Http2Peer peer = Peer([Fails(Unimplemented)]);

        RpcPingResult result = Ping(peer);

        Assert.Equal(("", "", 0), (result.Health, result.Product, result.Services.Count));
    }

    [Fact]
    public static async Task What_the_health_service_says_of_the_service_is_told()
    {
        await using Http2Peer good = Peer([Serving]);
        await using Http2Peer bad = Peer([NotServing]);

        Assert.Equal("Serving", Ping(good).Health);
        Assert.Equal("NotServing", Ping(bad).Health);
    }

    [Fact]
    public static async Task Reflection_tells_which_services_there_are()
    {
        await using Http2Peer listed = Peer([Fails(NotFound), Fails(Unimplemented), Lists, Serving]);
        await using Http2Peer other = Peer([Fails(Unimplemented), Fails(Unimplemented), Lists]);

        RpcPingResult result = Ping(listed);
        RpcException missing = Fails(other, "a.C");

        Assert.Equal(("Serving", "a.B"), (result.Health, Assert.Single(result.Services)));
        Assert.Equal("ServiceNotServed", missing.ErrorId);
        Assert.Contains("a.B", missing.Message, StringComparison.Ordinal);
    }

    // RpcPingResponse with the extension of the server's facts: product, and a service.
    [Fact]
    public static async Task What_a_server_says_of_itself_controls_no_terminal()
    {
        RpcPingResponse reply = new();
        ServerFacts facts = new() { Product = "Pro\u001b[2Jduct\n", Version = new string('9', 5000) };
        facts.Services.AddRange(["a.B", "a.\u001b[2JC", ""]);
        reply.SetExtension(ProtorpcTransportExtensions.ServerFacts, facts);
        byte[] body = reply.ToByteArray();
        byte[] length = BitConverter.GetBytes(IPAddress.HostToNetworkOrder(body.Length));
        await using Http2Peer peer = Peer([Serving, [0, .. length, .. body]]);

        RpcPingResult result = Ping(peer);

        Assert.Equal("Pro\uFFFD[2Jduct\uFFFD", result.Product);
        Assert.InRange(result.Version.Length, 1, 100);
        Assert.Equal(["a.B"], result.Services);
    }

    [Fact]
    public static async Task A_server_that_cannot_answer_now_is_not_well()
    {
        await using Http2Peer peer = Peer([Fails(Unavailable)]);

        Assert.Equal(RpcStatusCode.Unavailable, Fails(peer).Code);
    }

    private static RpcPingResult Ping(Http2Peer peer, string service = "a.B")
    {
        using RpcClient client = RpcClient.Connect(peer.Endpoint);
        return client.Ping(new() { Service = service, Timeout = TimeSpan.FromSeconds(20) });
    }

    private static RpcException Fails(Http2Peer peer, string service = "a.B") =>
        Assert.Throws<RpcException>(() => Ping(peer, service));

    // A status that is no success, as no message has this first byte.
    private static byte[] Fails(int status) => [byte.MaxValue, (byte)status];

    // The answers in the order in which is asked; what comes after them is not implemented.
    private static Http2Peer Peer(byte[][] answers)
    {
        int asked = 0;
        return new Http2Peer(async (connection, stream) =>
        {
            int index = Interlocked.Increment(ref asked) - 1;
            byte[] answer = index < answers.Length ? answers[index] : Fails(Unimplemented);
            if (answer[0] == byte.MaxValue)
            {
                await connection.SendHeadersAsync(
                    stream, end: true,
                    (":status", "200"), ("content-type", "application/grpc"),
                    ("grpc-status", $"{answer[1]}"));
                return;
            }

            await connection.SendGoodHeadersAsync(stream);
            await connection.SendDataAsync(stream, answer);
            await connection.SendHeadersAsync(stream, end: true, ("grpc-status", "0"));
        });
    }
}
