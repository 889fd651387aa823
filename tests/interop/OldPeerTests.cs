using System.Globalization;
using System.Text;

namespace ProtoRpc.Interop;

/// <summary>Programs of the original against ours, byte by byte:
/// what they send and what they can read.</summary>
[PeerCall(
    "Google.ProtocolBuffers.Rpc", "native", PeerSide.Client, PeerCalls.Unary | PeerCalls.Errors
        | PeerCalls.Sessions)]
[PeerCall(
    "Google.ProtocolBuffers.Rpc", "native", PeerSide.Server, PeerCalls.Unary | PeerCalls.Errors
        | PeerCalls.Sessions)]
public static class OldPeerTests
{
    private const string CoreLibrary =
        "mscorlib, Version=4.0.0.0, Culture=neutral, PublicKeyToken=b77a5c561934e089";

    // Version 1, "Send", the id a0..af, an empty call context; then text = "Hello".
    private const string Request = "1c0801120453656e641a10a0a1a2a3a4a5a6a7a8a9aaabacadaeaf2a000a0548656c6c6f";

    // The id in field 6 and nothing else; then text = "Hello".
    private const string Reply = "123210a0a1a2a3a4a5a6a7a8a9aaabacadaeaf0a0548656c6c6f";

    // Everything tells version, name, id and an empty call context.
    private const string Header = "1=1 2=53656e64 3=";

    [PeerFact(Peer.Impacket)]
    public static async Task An_old_clients_call_is_answered_with_the_originals_bytes()
    {
        using RpcServer server = ShopSchema.Start((_, text) => text);
        using OldClient client = await OldClient.ConnectAsync(server.Endpoints[0]);

        byte[] reply = await client.SendAsync(Convert.FromHexString(Request));

        Assert.Equal(Reply, Convert.ToHexStringLower(reply));
    }

    [PeerFact(Peer.Impacket)]
    public static async Task A_quiet_failure_has_the_originals_bytes_and_an_id_in_its_text()
    {
        using RpcServer server = ShopSchema.Start((_, _) => throw new IOException("x"), RpcErrorDetail.None);
        using OldClient client = await OldClient.ConnectAsync(server.Endpoints[0]);

        string reply = Convert.ToHexStringLower(await client.SendAsync(Convert.FromHexString(Request)));

        // The id, success = false, an exception that has a message and nothing else.
        const string text = "The call failed on the server. The server's log has the reason "
            + "under the correlation id ";
        string length = Convert.ToHexStringLower([(byte)(text.Length + 19), 0x2a, (byte)(text.Length + 17)]);
        Assert.Contains(
            $"3210a0a1a2a3a4a5a6a7a8a9aaabacadaeaf380042{length}"
            + Convert.ToHexStringLower(Encoding.ASCII.GetBytes(text)),
            reply,
            StringComparison.Ordinal);
    }

    [PeerFact(Peer.Impacket)]
    public static async Task Every_level_of_detail_tells_an_old_client_what_the_original_tells()
    {
        foreach (RpcErrorDetail detail in Enum.GetValues<RpcErrorDetail>())
        {
            using RpcServer server = ShopSchema.Start(
                (_, _) =>
                    throw new ArgumentException("Cannot save.", new IOException("Full.") { HResult = 7 }),
                detail);
            using OldClient client = await OldClient.ConnectAsync(server.Endpoints[0]);

            OldReply reply = await client.CallAsync("Send", OldClient.Field(1, "x"));

            Assert.False(reply.Success);
            Assert.Empty(reply.Body);
            Dictionary<int, byte[]> told = OldClient.Fields(reply.Exception!);
            Assert.Equal(detail >= RpcErrorDetail.Type ? CoreLibrary : null, TextOf(told, 1));
            Assert.Equal(detail >= RpcErrorDetail.Type ? "System.ArgumentException" : null, TextOf(told, 2));
            Assert.Matches(
                detail >= RpcErrorDetail.Message
                    ? "^Cannot save.$"
                    : "^The call failed on the server.* id [0-9a-f]+",
                TextOf(told, 5));
            Assert.Equal(detail == RpcErrorDetail.Full, told.ContainsKey(3));
            if (detail == RpcErrorDetail.Full)
            {
                Assert.Equal("System.ArgumentException", TextOf(told, 4));
                Assert.Contains("at ", TextOf(told, 8));
                Assert.Equal(-2147024809, HResultOf(told));
                Dictionary<int, byte[]> inner = OldClient.Fields(told[6]);
                Assert.Equal("System.IO.IOException", TextOf(inner, 2));
                Assert.Equal("Full.", TextOf(inner, 5));
                Assert.Equal(7, HResultOf(inner));
            }
        }
    }

    [PeerFact(Peer.Impacket)]
    public static async Task A_method_that_there_is_not_is_told_by_the_type_that_an_old_client_knows()
    {
        using RpcServer server = ShopSchema.Start((_, text) => text, RpcErrorDetail.Full);
        using OldClient client = await OldClient.ConnectAsync(server.Endpoints[0]);
        byte[] part =
            [.. OldClient.Field(1, 3), .. OldClient.Field(2, new byte[16]), .. OldClient.Field(3, "Sell")];

        foreach ((string name, byte[] body) in new[] { ("Sell", []), (".sell", []), (".multi", part) })
        {
            OldReply reply = await client.CallAsync(name, body);

            Assert.False(reply.Success);
            Assert.Empty(reply.Body);
            Dictionary<int, byte[]> told = OldClient.Fields(reply.Exception!);
            Assert.Equal(CoreLibrary, TextOf(told, 1));
            Assert.Equal("System.MissingMethodException", TextOf(told, 2));
            Assert.Contains("'", TextOf(told, 5));

            // COR_E_MISSINGMETHOD, and what the constructor of the type asks for.
            Assert.Equal(unchecked((int)0x80131513), HResultOf(told));
            Assert.Contains("MMSignature", TextOf(told, 14));
        }
    }

    [PeerFact(Peer.Impacket)]
    public static async Task An_old_client_gets_a_session_keeps_it_and_closes_it()
    {
        using RpcServer server = ShopSchema.Start((context, _) =>
        {
            context.Session["n"] = 1 + (int)(context.Session["n"] ?? 0);
            return $"{context.Session["n"]}";
        });
        using OldClient client = await OldClient.ConnectAsync(server.Endpoints[0]);

        OldReply first = await client.CallAsync("Send", OldClient.Field(1, "x"));
        OldReply second = await client.CallAsync("Send", OldClient.Field(1, "x"));

        Assert.Equal(OldClient.Field(1, "1"), first.Body);
        Assert.Equal(OldClient.Field(1, "2"), second.Body);
        Assert.Equal(Assert.Single(server.Sessions).Id, new Guid(Convert.FromHexString(client.Session)));
        Assert.True((await client.CallAsync(".close", [])).Success);
        Assert.Empty(server.Sessions);
    }

    [PeerFact(Peer.Impacket)]
    public static async Task An_old_client_sends_a_message_in_parts_and_pings()
    {
        using RpcServer server = ShopSchema.Start((_, text) => $"{text.Length}");
        using OldClient client = await OldClient.ConnectAsync(server.Endpoints[0]);
        byte[] message = OldClient.Field(1, new string('x', 2500));
        const int Chunk = 1024;
        OldReply reply = new(false, null, []);

        for (int position = 0; position < message.Length; position += Chunk)
        {
            byte[] payload = message[position..Math.Min(message.Length, position + Chunk)];
            bool isLast = position + payload.Length == message.Length;
            reply = await client.CallAsync(".multi",
            [
                .. OldClient.Field(1, isLast ? 3 : 1),
                .. OldClient.Field(2, new byte[16]),
                .. OldClient.Field(3, "Send"),
                .. OldClient.Field(4, message.Length),
                .. OldClient.Field(5, position),
                .. OldClient.Field(6, payload.Length),
                .. OldClient.Field(7, payload),
            ]);
            Assert.True(reply.Success);
        }

        Assert.Equal(OldClient.Field(1, "2500"), OldClient.Fields(reply.Body)[2]);
        Assert.True((await client.CallAsync(".ping", [])).Success);
    }

    [PeerFact(Peer.Impacket)]
    public static async Task An_extension_of_an_old_clients_context_reaches_the_handler_and_returns_changed()
    {
        using RpcServer server = ShopSchema.Start((context, _) =>
        {
            DynamicMessage changed = new(context.CallContext.Type);
            changed.Set(ShopSchema.Tenant, $"{context.CallContext.Get(ShopSchema.Tenant)}!");
            context.CallContext = changed;
            return "";
        });
        using OldClient client = await OldClient.ConnectAsync(server.Endpoints[0]);
        byte[] context = OldClient.Field(5, OldClient.Field(100, "acme"));
        byte[] header = [.. Convert.FromHexString(Request)[1..27], .. context];

        string reply = Convert.ToHexStringLower(await client.SendAsync([(byte)header.Length, .. header]));

        Assert.Contains(Convert.ToHexStringLower(OldClient.Field(5, OldClient.Field(100, "acme!"))), reply);
    }

    [PeerFact(Peer.Impacket)]
    public static async Task An_old_server_gets_the_originals_header_and_its_reply_is_understood()
    {
        using OldServer old = await OldServer.StartAsync();

        DynamicMessage reply =
            old.Client.Invoke(ShopSchema.Send, ShopSchema.Text("Hello"),
                new() { Timeout = Timeout.InfiniteTimeSpan });

        Assert.Equal("Hello", ShopSchema.TextOf(reply));
        string seen = await old.ReadHeaderAsync();
        Assert.StartsWith(Header, seen, StringComparison.Ordinal);
        Assert.Equal(Header.Length + 32 + " 5=".Length, seen.Length);
    }

    [PeerFact(Peer.Impacket)]
    public static async Task The_context_of_an_old_server_is_sent_with_the_next_call()
    {
        using OldServer old = await OldServer.StartAsync();

        old.Client.Invoke(ShopSchema.Send, ShopSchema.Text("context acme"));
        old.Client.Invoke(ShopSchema.Send, ShopSchema.Text("again"));

        Assert.Equal("acme", old.Client.CallContext.Get(ShopSchema.Tenant));
        await old.ReadHeaderAsync();
        byte[] session = [.. Enumerable.Range(0xB0, 16).Select(number => (byte)number)];
        byte[] context = [.. OldClient.Field(1, session), .. OldClient.Field(100, "acme")];
        Assert.Contains($" 5={Convert.ToHexStringLower(context)}", await old.ReadHeaderAsync());
    }

    [PeerFact(Peer.Impacket)]
    public static async Task An_old_servers_exception_is_told_whole_and_made_anew()
    {
        using OldServer old = await OldServer.StartAsync();

        RpcException error = Assert.Throws<RpcException>(
            () => old.Client.Invoke(ShopSchema.Send, ShopSchema.Text("fail")));

        RpcRemoteException remote = error.Remote!;
        Assert.Equal("Cannot save.", error.Message);
        Assert.IsType<ArgumentException>(error.InnerException);
        Assert.Equal((CoreLibrary, "System.ArgumentException"), (remote.AssemblyName, remote.TypeName));
        Assert.Equal(
            (-2147024809, "Shop", "http://help.example/"), (remote.HResult, remote.Source, remote.HelpLink));
        Assert.Equal("   at Shop.Save()", remote.StackTrace);
        Assert.Equal("order", remote.Data["ParamName"]);
        Assert.Equal(
            ("System.IO.IOException", "The disk is full."), (remote.Inner!.TypeName, remote.Inner.Message));
        Assert.Equal(-2146232800, remote.Inner.HResult);
    }

    [PeerFact(Peer.Impacket)]
    public static async Task An_old_servers_exception_without_details_is_a_failure_all_the_same()
    {
        using OldServer old = await OldServer.StartAsync();

        RpcException error = Assert.Throws<RpcException>(
            () => old.Client.Invoke(ShopSchema.Send, ShopSchema.Text("quiet")));

        Assert.Equal(RpcStatusCode.Unknown, error.Code);
        Assert.Contains("the server sent no message", error.Message);
    }

    [PeerFact(Peer.Impacket)]
    public static async Task A_reply_of_another_id_is_not_taken()
    {
        using OldServer old = await OldServer.StartAsync();

        RpcException error = Assert.Throws<RpcException>(
            () => old.Client.Invoke(ShopSchema.Send, ShopSchema.Text("other")));

        Assert.Equal("BadHeader", error.ErrorId);
    }

    [PeerFact(Peer.Impacket)]
    public static async Task An_old_server_takes_our_parts()
    {
        using OldServer old = await OldServer.StartAsync(
            new RpcClientOptions { Limits = new() { MultiPartThreshold = 2048 } });
        string text = new('x', 5000);

        DynamicMessage reply = old.Client.Invoke(ShopSchema.Send, ShopSchema.Text(text));

        Assert.Equal(text, ShopSchema.TextOf(reply));
        for (int part = 0; part < 5; part++)
        {
            Assert.Contains($"2={Convert.ToHexStringLower(".multi"u8)}", await old.ReadHeaderAsync());
        }
    }

    private static string? TextOf(Dictionary<int, byte[]> fields, int number) =>
        fields.TryGetValue(number, out byte[]? value) ? Encoding.UTF8.GetString(value) : null;

    private static int HResultOf(Dictionary<int, byte[]> fields) =>
        new Google.Protobuf.CodedInputStream(fields[12]).ReadInt32();

    private sealed class OldServer : IDisposable
    {
        private readonly PeerProcess _peer;

        private OldServer(PeerProcess peer, RpcClient client)
        {
            _peer = peer;
            Client = client;
        }

        public RpcClient Client { get; }

        public static async Task<OldServer> StartAsync(RpcClientOptions? options = null)
        {
            PeerProcess peer = PeerProcess.Start(
                Peers.Python,
                Path.Combine(AppContext.BaseDirectory, "impacket", "old_server.py"),
                ShopSchema.Interface.ToString());
            int port = int.Parse(await peer.ReadLineAsync(), CultureInfo.InvariantCulture);
            options = (options ?? new RpcClientOptions()) with { InterfaceId = ShopSchema.Interface };
            return new OldServer(
                peer, RpcClient.Connect(RpcEndpoint.Tcp("127.0.0.1", port), ShopSchema.Schema, options));
        }

        public Task<string> ReadHeaderAsync() => _peer.ReadLineAsync();

        public void Dispose()
        {
            Client.Dispose();
            _peer.Dispose();
        }
    }
}
