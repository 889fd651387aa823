using System.Net;
using ProtoRpc.Client.Native;
using ProtoRpc.Protocols.Dce;
using ProtoRpc.Server.Native;
using ProtoRpc.Tests.Protocols.Dce;
using ProtoRpc.Tests.Security.Ntlm;

namespace ProtoRpc.Tests.Transports;

/// <summary>Callers who begin to prove who they are, and never come to the end.</summary>
[Collection(nameof(WholeMemory))]
public static class UnfinishedBindTests
{
    private static readonly NetworkCredential Bob = new("bob", "Pa55word");

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public static async Task A_proof_that_is_begun_and_left_is_cut_off_and_others_are_served(bool blocking)
    {
        await using Secured server = new(TimeSpan.FromMilliseconds(300), blocking);
        using RawPeer left = Begun(server);
        using RawPeer half = Begun(server);
        half.Send(WireVector.Load("auth3-ntlm").Bytes.AsSpan(0, 30));

        using NativeConnectionPool good = server.Connect();
        Assert.Equal("good"u8.ToArray(), good.Call("good"u8));
        Assert.Empty(left.ReadToEnd());
        Assert.Empty(half.ReadToEnd());

        await Eventually.TrueAsync(
            () => server.Listener.ConnectionCount == 1, "only the good client is left");
        Assert.Equal("still"u8.ToArray(), good.Call("still"u8));
    }

    [Fact]
    public static async Task A_proof_that_goes_on_without_end_is_cut_off()
    {
        await using Secured server = new(TimeSpan.FromMilliseconds(500), blocking: true);
        using RawPeer endless = Begun(server);
        byte[] cancel = PduHeader.HeaderOnly(PduType.CoCancel, 1);

        // Each of them is a whole PDU that moves nothing.
        Exception? cut = await Record.ExceptionAsync(async () =>
        {
            using CancellationTokenSource patience = new(ClientCalls.Patience);
            while (!patience.IsCancellationRequested)
            {
                endless.Send(cancel);
                await Task.Delay(20);
            }
        });

        Assert.IsType<System.Net.Sockets.SocketException>(cut);
    }

    [Fact]
    public static async Task A_thousand_proofs_begun_and_left_take_little_memory()
    {
        await using Secured server = new(TimeSpan.FromSeconds(2), blocking: true);
        List<RawPeer> left = [];
        try
        {
            long before = GC.GetTotalMemory(forceFullCollection: true);
            for (int i = 0; i < 1000; i++)
            {
                left.Add(Begun(server));
            }

            long each = (GC.GetTotalMemory(forceFullCollection: true) - before) / 1000;
            Assert.True(each < 64 << 10, $"{each:N0} bytes each");
            using NativeConnectionPool good = server.Connect();
            Assert.Equal("good"u8.ToArray(), good.Call("good"u8));
            await Eventually.TrueAsync(() => server.Listener.ConnectionCount == 1, "all are cut off");
        }
        finally
        {
            left.ForEach(peer => peer.Dispose());
        }
    }

    private static RawPeer Begun(Secured server)
    {
        RawPeer peer = new(server.Listener.Endpoint);
        peer.Send(AuthTrailer.Append(
            Conversation.Bind(service: server.InterfaceId), new AuthTrailer(10, 6, 0, 79231),
            NtlmVectors.Negotiate));
        Assert.Equal(PduType.BindAck, PduHeader.Read(peer.ReadPdu()).Type);
        return peer;
    }

    private sealed class Secured : IAsyncDisposable
    {
        public Secured(TimeSpan bindTimeout, bool blocking)
        {
            RpcLimits limits = new()
            {
                BindTimeout = bindTimeout,
                MaxConnections = 1100,
                MaxConnectionsPerAddress = 1100,
                MaxBlockingConnections = blocking ? RpcLimits.Default.MaxBlockingConnections : 0,
            };
            ExecInterface service = new(InterfaceId, TestServer.Echo)
            {
                Security = new RpcServerSecurity
                {
                    Authentication = RpcAuthentication.Ntlm,
                    NtlmAccounts = [NtlmAccount.From(Bob)],
                },
            };
            Listener = NativeListener.Serve(NativeEndpoints.Fresh("tcp"), service, limits);
        }

        public Guid InterfaceId { get; } = Guid.NewGuid();

        public NativeListener Listener { get; }

        public NativeConnectionPool Connect() => NativeConnectionPool.Connect(
            Listener.Endpoint,
            InterfaceId,
            RpcLimits.Default,
            new RpcClientSecurity { Authentication = RpcClientAuthentication.User, Credential = Bob });

        public ValueTask DisposeAsync() => Listener.StopServingAsync(InterfaceId, TimeSpan.FromSeconds(5));
    }
}
