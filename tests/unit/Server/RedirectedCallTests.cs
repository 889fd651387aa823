using System.Net;
using System.Net.Sockets;
using Google.Protobuf;
using ProtoRpc.Protocols.Dce;

namespace ProtoRpc.Tests.Server;

/// <summary>Calls through a server in between that changes the interface in the bind, from calls.Echo to
/// calls.Other, which has a method of the same name.</summary>
public static class RedirectedCallTests
{
    private static readonly NetworkCredential Ann = new("ann", "secret");

    // Its header is a message, and not written in place.
    private static readonly RpcCallOptions WithHeader = new() { Headers = new() { { "tenant", "blue" } } };

    public static TheoryData<RpcProtectionLevel, bool, RpcStatusCode> Levels => new()
    {
        { RpcProtectionLevel.Packet, true, RpcStatusCode.PermissionDenied },
        { RpcProtectionLevel.Packet, false, RpcStatusCode.PermissionDenied },
        { RpcProtectionLevel.Integrity, true, RpcStatusCode.Unauthenticated },
        { RpcProtectionLevel.Integrity, false, RpcStatusCode.Unauthenticated },
        { RpcProtectionLevel.Privacy, true, RpcStatusCode.Unauthenticated },
        { RpcProtectionLevel.Privacy, false, RpcStatusCode.Unauthenticated },
    };

    [Theory]
    [MemberData(nameof(Levels))]
    public static async Task A_protected_call_runs_on_no_other_service(
        RpcProtectionLevel level, bool signsHeaders, RpcStatusCode expected)
    {
        using Redirection way = new(signsHeaders);
        await using RpcClient client = way.Connect(level);

        RpcException plain = await Assert.ThrowsAsync<RpcException>(
            () => client.InvokeAsync<EchoReply>("Say", new EchoRequest { Text = "x" }));
        RpcException full = await Assert.ThrowsAsync<RpcException>(() => client.InvokeAsync<EchoReply>(
            "Say", new EchoRequest { Text = "x" }, WithHeader));

        Assert.Equal((expected, expected), (plain.Code, full.Code));
        Assert.Equal(0, way.Redirected);
    }

    [Theory]
    [InlineData(RpcProtectionLevel.Packet)]
    [InlineData(RpcProtectionLevel.Integrity)]
    [InlineData(RpcProtectionLevel.Privacy)]
    public static async Task A_call_that_nobody_changes_is_served(RpcProtectionLevel level)
    {
        using Redirection way = new(signsHeaders: true) { IsHonest = true };
        await using RpcClient client = way.Connect(level);

        foreach (RpcCallOptions options in new RpcCallOptions[] { new(), WithHeader })
        {
            EchoReply reply = await client.InvokeAsync<EchoReply>(
                "Say", new EchoRequest { Text = "x" }, options);
            Assert.Equal("Echo", reply.Text);
        }

        Assert.Contains("calls.Echo", client.Ping().Services);
        EchoRequest large = new() { Text = "x", Payload = ByteString.CopyFrom(new byte[40_000]) };
        await using RpcClient inParts = way.Connect(level, multiPartThreshold: 10_000);
        Assert.Equal("Echo", (await inParts.InvokeAsync<EchoReply>("Say", large)).Text);
    }

    // Nothing proves what such a caller meant: docs/security.md says so.
    [Fact]
    public static async Task A_call_that_is_not_protected_can_be_redirected()
    {
        using Redirection way = new(signsHeaders: true);
        await using RpcClient client = way.Connect(RpcProtectionLevel.None);

        await client.InvokeAsync<EchoReply>("Say", new EchoRequest { Text = "x" });

        Assert.Equal(1, way.Redirected);
    }

    /// <summary>The server, and the one in between.</summary>
    private sealed class Redirection : IDisposable
    {
        private readonly TcpListener _listener = new(IPAddress.Loopback, 0);
        private readonly RpcServer _server;
        private readonly bool _signsHeaders;
        private readonly byte[] _meant;
        private readonly byte[] _changed;

        public Redirection(bool signsHeaders)
        {
            _signsHeaders = signsHeaders;
            _meant = EchoServer.Schema.GetService("calls.Echo").InterfaceId.ToByteArray();
            _changed = EchoServer.Schema.GetService("calls.Other").InterfaceId.ToByteArray();
            _server = RpcServer
                .Create(EchoServer.Schema, "calls.Echo", new()
                {
                    Security = new()
                    {
                        Authentication = RpcAuthentication.Ntlm | RpcAuthentication.None,
                        MinimumLevel = RpcProtectionLevel.Connect,
                        NtlmAccounts = [NtlmAccount.From(Ann)],
                    },
                })
                .AddService(EchoServer.Schema.GetService("calls.Other"))
                .Handle<EchoRequest, EchoReply>("calls.Echo/Say", (_, _) => new EchoReply { Text = "Echo" })
                .Handle<EchoRequest, EchoReply>("calls.Other/Say", (_, _) =>
                {
                    Redirected++;
                    return new EchoReply { Text = "Other" };
                })
                .AddEndpoint(RpcEndpoint.Tcp("127.0.0.1", 0))
                .StartListening();
            _listener.Start();
            _ = AcceptAsync();
        }

        public bool IsHonest { get; init; }

        public int Redirected { get; private set; }

        private RpcEndpoint Endpoint =>
            RpcEndpoint.Tcp("127.0.0.1", ((IPEndPoint)_listener.LocalEndpoint).Port);

        public RpcClient Connect(RpcProtectionLevel level, int multiPartThreshold = 0) =>
            RpcClient.Connect(Endpoint, EchoServer.Schema, new()
            {
                Service = "calls.Echo",
                Limits = new() { MultiPartThreshold = multiPartThreshold },
                Security = level == RpcProtectionLevel.None ? RpcClientSecurity.Anonymous : new()
                {
                    Authentication = RpcClientAuthentication.User,
                    Credential = Ann,
                    ProtectionLevel = level,
                },
            });

        public void Dispose()
        {
            _listener.Dispose();
            _server.Dispose();
        }

        private async Task AcceptAsync()
        {
            try
            {
                while (true)
                {
                    TcpClient client = await _listener.AcceptTcpClientAsync();
                    TcpClient server = new();
                    await server.ConnectAsync(IPAddress.Loopback, _server.Endpoints[0].Port);
                    _ = RelayAsync(client, server);
                }
            }
            catch (Exception e) when (e is SocketException or ObjectDisposedException)
            {
                // The test is over.
            }
        }

        private async Task RelayAsync(TcpClient client, TcpClient server)
        {
            using (client)
            using (server)
            {
                Task back = server.GetStream().CopyToAsync(client.GetStream());
                try
                {
                    while (await ReadAsync(client.GetStream()) is { } pdu)
                    {
                        Change(pdu);
                        await server.GetStream().WriteAsync(pdu);
                    }

                    server.Client.Shutdown(SocketShutdown.Send);
                    await back;
                }
                catch (Exception e) when (e is IOException or SocketException or ObjectDisposedException)
                {
                    // One of the two has closed its connection.
                }
            }
        }

        private static async Task<byte[]?> ReadAsync(NetworkStream stream)
        {
            byte[] header = new byte[PduHeader.Size];
            int count = await stream.ReadAtLeastAsync(header, header.Length, throwOnEndOfStream: false);
            if (count < header.Length)
            {
                return null;
            }

            byte[] pdu = new byte[PduHeader.Read(header).FragmentLength];
            header.CopyTo(pdu, 0);
            await stream.ReadExactlyAsync(pdu.AsMemory(header.Length));
            return pdu;
        }

        private void Change(byte[] pdu)
        {
            if (IsHonest || PduHeader.Read(pdu).Type is not (PduType.Bind or PduType.AlterContext))
            {
                return;
            }

            _changed.CopyTo(pdu, pdu.AsSpan().IndexOf(_meant));
            if (!_signsHeaders)
            {
                pdu[3] &= unchecked((byte)~(byte)PduFlags.HeaderSigning);
            }
        }
    }
}
