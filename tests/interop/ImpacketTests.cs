using System.Buffers;
using System.Globalization;
using ProtoRpc.Client.Native;
using ProtoRpc.Server.Native;

namespace ProtoRpc.Interop;

/// <summary>impacket as client of our listener and as server of our client.</summary>
[PeerCall("impacket", "DCE/RPC", PeerSide.Client, PeerCalls.Unary | PeerCalls.Errors)]
[PeerCall("impacket", "DCE/RPC", PeerSide.Server, PeerCalls.Unary)]
public static class ImpacketTests
{
    private static readonly Guid Service = new("b1f2c2b4-5d3e-4c7a-9f10-2a6b8c0d4e5f");
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(30);

    // The delimited request header and the body of MyService.Send.
    private const string SendRequest =
        "1c0801120453656e641a10a0a1a2a3a4a5a6a7a8a9aaabacadaeaf2a000a0548656c6c6f";

    [PeerFact(Peer.Impacket)]
    public static async Task Our_listener_answers_its_client()
    {
        await using Echo echo = new();
        using PeerProcess client = Client(echo.Listener.Endpoint.Port, Service);

        Assert.Equal("bound", await client.ReadLineAsync());
        Assert.Equal($"reply 0 {SendRequest}", await AskAsync(client, $"call 0 {SendRequest}"));
        Assert.Equal("reply 0 ", await AskAsync(client, "call 0 "));
        Assert.Equal("reply 0 01", await AskAsync(client, "call 0 01"));
    }

    [PeerFact(Peer.Impacket)]
    public static async Task Its_small_fragments_and_our_many_fragments_are_put_together()
    {
        await using Echo echo = new();
        using PeerProcess client = Client(echo.Listener.Endpoint.Port, Service);
        byte[] bytes = new byte[100_000];
        new Random(1).NextBytes(bytes);
        string hex = Convert.ToHexStringLower(bytes);

        Assert.Equal("bound", await client.ReadLineAsync());
        Assert.Equal($"reply 0 {hex}", await AskAsync(client, $"call 0 {hex}"));
        Assert.Equal("fragment 64", await AskAsync(client, "fragment 64"));
        Assert.Equal($"reply 0 {hex[..20_000]}", await AskAsync(client, $"call 0 {hex[..20_000]}"));
    }

    [PeerFact(Peer.Impacket)]
    public static async Task Its_client_sees_our_faults_and_goes_on()
    {
        await using Echo echo = new();
        using PeerProcess client = Client(echo.Listener.Endpoint.Port, Service);

        Assert.Equal("bound", await client.ReadLineAsync());
        Assert.Equal("fault nca_s_op_rng_error", await AskAsync(client, "call 7 00"));
        Assert.Equal("fault rpc_x_bad_stub_data", await AskAsync(client, "stub 0 ffffffff00"));
        Assert.Equal("reply 0 02", await AskAsync(client, "call 0 02"));
    }

    [PeerFact(Peer.Impacket)]
    public static async Task Its_client_sees_that_an_interface_is_not_served()
    {
        await using Echo echo = new();
        using PeerProcess client = Client(echo.Listener.Endpoint.Port, Guid.NewGuid());

        Assert.Contains(
            "abstract_syntax_not_supported", await client.ReadLineAsync(), StringComparison.Ordinal);
    }

    [PeerFact(Peer.Impacket)]
    public static async Task Our_client_calls_its_server()
    {
        using PeerProcess server =
            PeerProcess.Start(Peers.Python, Script("exec_server.py"), Service.ToString());
        int port = int.Parse(await server.ReadLineAsync(), CultureInfo.InvariantCulture);
        using NativeConnectionPool client = NativeConnectionPool.Connect(
            RpcEndpoint.Tcp("127.0.0.1", port), Service, RpcLimits.Default);

        foreach (int length in new[] { 0, 1, 5, 1000, 60_000 })
        {
            byte[] bytes = new byte[length];
            new Random(length).NextBytes(bytes);
            using NativeClientCall exchange = client.Begin();
            exchange.Request.Write(bytes);

            Assert.Equal(0, exchange.Execute(Patience));
            Assert.Equal(bytes, exchange.Reply.ToArray());
        }
    }

    private static PeerProcess Client(int port, Guid interfaceId) => PeerProcess.Start(
        Peers.Python, Script("exec_client.py"), port.ToString(CultureInfo.InvariantCulture),
        interfaceId.ToString());

    private static async Task<string> AskAsync(PeerProcess client, string line)
    {
        client.WriteLine(line);
        return await client.ReadLineAsync();
    }

    private static string Script(string name) => Path.Combine(AppContext.BaseDirectory, "impacket", name);

    private sealed class Echo : IAsyncDisposable
    {
        public NativeListener Listener { get; } = NativeListener.Serve(
            RpcEndpoint.Tcp("127.0.0.1", 0),
            new ExecInterface(Service, call =>
            {
                call.Reply.Write(call.Request.Span);
                return ValueTask.CompletedTask;
            }),
            RpcLimits.Default);

        public ValueTask DisposeAsync() => Listener.DisposeAsync();
    }
}
