using System.Security.Cryptography.X509Certificates;
using ProtoRpc.Client.Native;
using ProtoRpc.Protocols.Dce;
using ProtoRpc.Server.Native;
using ProtoRpc.Tests.Protocols.Dce;
using ProtoRpc.Transports;
using ProtoRpc.Transports.Tls;

namespace ProtoRpc.Tests.Transports;

/// <summary>What a client sees of a server that ends its connection.</summary>
public static class FarewellTests
{
    private static readonly RpcLimits Impatient = new() { IdleTimeout = TimeSpan.FromMilliseconds(100) };

    public static TheoryData<string, bool> Ways => new()
    {
        { "tcp", true }, { "tcp", false }, { "local", true }, { "local", false }, { "pipe", true },
            { "pipe", false },
        { "tls", true }, { "tls", false },
    };

    [Theory]
    [MemberData(nameof(Ways))]
    public static async Task An_idle_connection_ends_with_a_shutdown(string kind, bool blocking)
    {
        await using NativeListener listener = Serve(kind, blocking, Impatient, TestServer.Echo, out Guid id);
        using TransportConnection client = Bind(listener, kind, id);

        Assert.Equal(WireVector.Load("shutdown").Bytes, ReadToEnd(client));
        await Eventually.TrueAsync(() => listener.ConnectionCount == 0, "the connection is closed");
    }

    [Theory]
    [MemberData(nameof(Ways))]
    public static async Task A_server_that_stops_says_so_to_idle_clients(string kind, bool blocking)
    {
        NativeListener listener = Serve(kind, blocking, RpcLimits.Default, TestServer.Echo, out Guid id);
        using TransportConnection client = Bind(listener, kind, id);
        client.Send(Conversation.Request([1]));
        Assert.Equal(PduType.Response, PduHeader.Read(ReadPdu(client)).Type);

        await listener.StopServingAsync(id, TimeSpan.Zero);

        Assert.Equal(WireVector.Load("shutdown").Bytes, ReadToEnd(client));
        Assert.Equal(0, listener.ConnectionCount);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public static async Task One_that_does_not_read_is_closed_all_the_same(bool blocking)
    {
        await using NativeListener listener = Serve("tls", blocking, Impatient, TestServer.Echo, out Guid id);
        using TransportConnection client = Bind(listener, "tls", id);

        await Eventually.TrueAsync(() => listener.ConnectionCount == 0, "the connection is closed");
    }

    [Fact]
    public static async Task The_next_call_of_a_client_takes_another_connection()
    {
        await using NativeListener listener = Serve("tcp", true, Impatient, TestServer.Echo, out Guid id);
        using NativeConnectionPool client =
            NativeConnectionPool.Connect(listener.Endpoint, id, RpcLimits.Default);

        for (int i = 1; i <= 3; i++)
        {
            Assert.Equal([7], client.Call([7]));
            Assert.Equal([8], await client.CallAsync([8]));
            await Eventually.TrueAsync(() => listener.ConnectionCount == 0, "both connections are closed");
        }

        Assert.InRange(listener.AcceptedCount, 6, 8);
    }

    private static NativeListener Serve(
        string kind, bool blocking, RpcLimits limits, ExecHandler handler, out Guid id)
    {
        id = Guid.NewGuid();
        return NativeListener.Serve(
            NativeEndpoints.Fresh(kind == "tls" ? "tcp" : kind), new ExecInterface(id, handler),
            limits with { MaxBlockingConnections = blocking ? limits.MaxBlockingConnections : 0 },
            kind == "tls" ? NewCertificate() : null);
    }

    private static TransportConnection Bind(NativeListener listener, string kind, Guid id)
    {
        RpcEndpoint endpoint = listener.Endpoint;
        TransportConnection connection =
            NativeTransports.Get(
                endpoint).Connect(endpoint, null, TimeSpan.FromSeconds(20), CancellationToken.None);
        if (kind == "tls")
        {
            connection = TlsConnection.ForClient(
                connection, endpoint, new RpcTlsOptions { SkipCertificateCheck = true });
        }

        connection.Send(Conversation.Bind(service: id));
        Assert.Equal(PduType.BindAck, PduHeader.Read(ReadPdu(connection)).Type);
        return connection;
    }

    private static byte[] ReadPdu(TransportConnection connection)
    {
        byte[] header = ReadExactly(connection, PduHeader.Size);
        return [.. header, .. ReadExactly(connection, PduHeader.Read(header).FragmentLength - header.Length)];
    }

    private static byte[] ReadExactly(TransportConnection connection, int count)
    {
        byte[] bytes = new byte[count];
        for (int read = 0; read < count;)
        {
            int part = connection.Receive(bytes.AsMemory(read));
            Assert.NotEqual(0, part);
            read += part;
        }

        return bytes;
    }

    private static byte[] ReadToEnd(TransportConnection connection)
    {
        List<byte> all = [];
        byte[] buffer = new byte[256];
        for (int count = connection.Receive(buffer); count > 0; count = connection.Receive(buffer))
        {
            all.AddRange(buffer.AsSpan(0, count));
        }

        return [.. all];
    }

    private static X509Certificate2 NewCertificate() => TestCertificate.Create("CN=localhost");
}
