using System.Buffers;
using System.Globalization;
using System.Net;
using ProtoRpc.Client.Native;
using ProtoRpc.Security;

namespace ProtoRpc.Interop;

/// <summary>NTLM against impacket's: its client at our listener,
/// our client at a server of its cryptography.</summary>
[PeerCall("impacket", "DCE/RPC", PeerSide.Client, PeerCalls.Unary | PeerCalls.Ntlm)]
[PeerCall("impacket", "DCE/RPC", PeerSide.Server, PeerCalls.Unary | PeerCalls.Ntlm)]
public static class NtlmTests
{
    private const string Domain = "CORP";
    private const string User = "bob";
    private const string Password = "Pa55word";
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(30);

    [PeerTheory(Peer.Impacket)]
    [InlineData(RpcProtectionLevel.Connect)]
    [InlineData(RpcProtectionLevel.Integrity)]
    [InlineData(RpcProtectionLevel.Privacy)]
    public static async Task Our_listener_answers_its_client(RpcProtectionLevel level)
    {
        await using EchoListener echo = new(Demanding(RpcProtectionLevel.Connect));
        using PeerProcess client = Client(echo.Port, level, Password);
        byte[] bytes = new byte[30_000];
        new Random(2).NextBytes(bytes);
        string hex = Convert.ToHexStringLower(bytes);

        Assert.Equal("bound", await client.ReadLineAsync());
        Assert.Equal("reply 0 0102", await AskAsync(client, "call 0 0102"));
        Assert.Equal("reply 0 ", await AskAsync(client, "call 0 "));
        Assert.Equal($"reply 0 {hex}", await AskAsync(client, $"call 0 {hex}"));
        Assert.Equal("fault nca_s_op_rng_error", await AskAsync(client, "call 7 00"));
        Assert.Equal("reply 0 03", await AskAsync(client, "call 0 03"));
        Assert.Equal(@"CORP\bob", echo.LastCaller?.User.Name);
    }

    [PeerTheory(Peer.Impacket)]
    [InlineData(RpcProtectionLevel.Connect)]
    [InlineData(RpcProtectionLevel.Integrity)]
    [InlineData(RpcProtectionLevel.Privacy)]
    public static async Task Our_listener_answers_its_client_without_SPNEGO_under_Negotiate(
        RpcProtectionLevel level)
    {
        await using EchoListener echo = new(Demanding(RpcProtectionLevel.Connect) with
        {
            Authentication = RpcAuthentication.Negotiate,
        });
        using PeerProcess client = Client(echo.Port, level, Password, SecurityPackage.Negotiate);

        Assert.Equal("bound", await client.ReadLineAsync());
        Assert.Equal("reply 0 0102", await AskAsync(client, "call 0 0102"));
        Assert.Equal("reply 0 03", await AskAsync(client, "call 0 03"));
        Assert.Equal(@"CORP\bob", echo.LastCaller?.User.Name);
        Assert.Equal("NTLM", echo.LastCaller?.User.AuthenticationType);
    }

    [PeerFact(Peer.Impacket)]
    public static async Task Our_listener_refuses_its_client_without_SPNEGO_with_a_wrong_password()
    {
        await using EchoListener echo = new(Demanding(RpcProtectionLevel.Connect) with
        {
            Authentication = RpcAuthentication.Negotiate,
        });
        using PeerProcess client = Client(
            echo.Port, RpcProtectionLevel.Privacy, "guessed", SecurityPackage.Negotiate);

        Assert.Equal("bound", await client.ReadLineAsync());
        Assert.Equal("fault rpc_s_access_denied", await AskAsync(client, "call 0 01"));
        Assert.Null(echo.LastCaller);
    }

    [PeerFact(Peer.Impacket)]
    public static async Task Our_listener_refuses_its_client_with_a_wrong_password()
    {
        await using EchoListener echo = new(Demanding(RpcProtectionLevel.Connect));
        using PeerProcess client = Client(echo.Port, RpcProtectionLevel.Privacy, "guessed");

        Assert.Equal("bound", await client.ReadLineAsync());
        Assert.Equal("fault rpc_s_access_denied", await AskAsync(client, "call 0 01"));
        Assert.Null(echo.LastCaller);
    }

    [PeerFact(Peer.Impacket)]
    public static async Task Our_listener_refuses_its_client_at_a_level_that_is_too_low()
    {
        await using EchoListener echo = new(Demanding(RpcProtectionLevel.Privacy));
        using PeerProcess client = Client(echo.Port, RpcProtectionLevel.Integrity, Password);

        Assert.Equal("bound", await client.ReadLineAsync());
        Assert.Equal("fault nca_s_unsupported_authn_level", await AskAsync(client, "call 0 01"));
        Assert.Null(echo.LastCaller);
    }

    [PeerTheory(Peer.Impacket)]
    [InlineData(RpcProtectionLevel.Connect)]
    [InlineData(RpcProtectionLevel.Integrity)]
    [InlineData(RpcProtectionLevel.Privacy)]
    public static async Task Our_client_calls_its_server(RpcProtectionLevel level)
    {
        using PeerProcess server = Server();
        int port = int.Parse(await server.ReadLineAsync(), CultureInfo.InvariantCulture);
        using NativeConnectionPool client = Connect(port, level, Password);

        foreach (int length in new[] { 0, 1, 5, 1000, 5000 })
        {
            byte[] bytes = new byte[length];
            new Random(length).NextBytes(bytes);
            using NativeClientCall exchange = client.Begin();
            exchange.Request.Write(bytes);

            Assert.Equal(0, exchange.Execute(Patience));
            Assert.Equal(bytes, exchange.Reply.ToArray());
        }
    }

    [PeerFact(Peer.Impacket)]
    public static async Task Our_client_says_that_its_server_refused_the_password()
    {
        using PeerProcess server = Server();
        int port = int.Parse(await server.ReadLineAsync(), CultureInfo.InvariantCulture);
        using NativeConnectionPool client = Connect(port, RpcProtectionLevel.Privacy, "guessed");
        using NativeClientCall exchange = client.Begin();

        RpcException e = Assert.Throws<RpcException>(() => exchange.Execute(Patience));

        Assert.Equal("AuthenticationFailed", e.ErrorId);
        Assert.Contains(@"'CORP\bob'", e.Message, StringComparison.Ordinal);
    }

    [PeerFact(Peer.Tshark)]
    public static async Task A_capture_at_level_privacy_shows_no_plain_text()
    {
        const string secret = "the launch code is 00000000";
        string integrity = await CaptureAsync(RpcProtectionLevel.Integrity, secret);
        string privacy = await CaptureAsync(RpcProtectionLevel.Privacy, secret);

        Assert.Contains(Hex(secret), integrity, StringComparison.OrdinalIgnoreCase);
        Assert.DoesNotContain(Hex(secret), privacy, StringComparison.OrdinalIgnoreCase);
        Assert.DoesNotContain(Hex(secret[4..14]), privacy, StringComparison.OrdinalIgnoreCase);
    }

    // What tshark finds in the stubs of a call: their octets, in hexadecimal.
    private static async Task<string> CaptureAsync(RpcProtectionLevel level, string text)
    {
        const ushort port = 1024;
        await using EchoListener echo = new(Demanding(level));
        using RecordingRelay relay = new(echo.Port);
        using (NativeConnectionPool client = Connect(relay.Port, level, Password))
        {
            using NativeClientCall exchange = client.Begin();
            exchange.Request.Write(System.Text.Encoding.UTF8.GetBytes(text));
            Assert.Equal(0, exchange.Execute(Patience));
            Assert.Equal(text, System.Text.Encoding.UTF8.GetString(exchange.Reply.Span));
        }

        string file = Path.GetTempFileName();
        try
        {
            PcapFile.Write(file, port, await relay.WaitAsync());
            using PeerProcess tshark = PeerProcess.Start(
                Peers.Tshark, "-r", file, "-d", $"tcp.port=={port},dcerpc", "-T", "fields",
                "-e", "dcerpc.pkt_type", "-e", "dcerpc.auth_level", "-e", "ntlmssp.messagetype",
                "-e", "tcp.payload");
            string fields = await tshark.ReadToEndAsync();

            // It really is NTLM at that level, and the first request and response are there.
            Assert.Contains($"0\t{(int)level}", fields, StringComparison.Ordinal);
            Assert.Contains($"2\t{(int)level}", fields, StringComparison.Ordinal);
            Assert.Contains("0x00000003", fields, StringComparison.Ordinal);
            return fields;
        }
        finally
        {
            File.Delete(file);
        }
    }

    private static RpcServerSecurity Demanding(RpcProtectionLevel level) => new()
    {
        Authentication = RpcAuthentication.Ntlm,
        MinimumLevel = level,
        NtlmAccounts = [NtlmAccount.From(new NetworkCredential(User, Password, Domain))],
    };

    private static string Hex(string text) => Convert.ToHexString(System.Text.Encoding.UTF8.GetBytes(text));

    private static NativeConnectionPool Connect(int port, RpcProtectionLevel level, string password) =>
        NativeConnectionPool.Connect(
            RpcEndpoint.Tcp("127.0.0.1", port), EchoListener.Service, RpcLimits.Default, new RpcClientSecurity
            {
                Authentication = RpcClientAuthentication.User,
                Credential = new NetworkCredential(User, password, Domain),
                ProtectionLevel = level,
            });

    private static PeerProcess Client(
        int port, RpcProtectionLevel level, string password, byte type = SecurityPackage.Ntlm) =>
        PeerProcess.Start(
            Peers.Python, Script("exec_client.py"), port.ToString(CultureInfo.InvariantCulture),
            EchoListener.Service.ToString(), ((int)level).ToString(CultureInfo.InvariantCulture),
            Domain, User, password, type.ToString(CultureInfo.InvariantCulture));

    private static PeerProcess Server() => PeerProcess.Start(
        Peers.Python, Script("ntlm_server.py"), EchoListener.Service.ToString(), Domain, User, Password);

    private static async Task<string> AskAsync(PeerProcess client, string line)
    {
        client.WriteLine(line);
        return await client.ReadLineAsync();
    }

    private static string Script(string name) => Path.Combine(AppContext.BaseDirectory, "impacket", name);
}
