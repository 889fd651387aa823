using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Security.Authentication;
using System.Security.Cryptography.X509Certificates;
using ProtoRpc.Client.Native;
using ProtoRpc.Server.Native;
using ProtoRpc.Transports.Tls;

namespace ProtoRpc.Tests.Transports;

public static class TlsTests
{
    private static readonly X509Certificate2 Own = NewCertificate();
    private static readonly RpcTlsOptions Trusting = new() { CaCertificates = [Own] };

    [Fact]
    public static async Task Calls_go_through_blocking_and_not()
    {
        await using NativeListener listener = Serve(TestServer.Echo, out Guid id);
        using NativeConnectionPool client = Connect(listener, id, Trusting);

        foreach (int length in new[] { 0, 1, 5000, 200_000 })
        {
            byte[] bytes = ClientCalls.Bytes(length);
            Assert.Equal(bytes, client.Call(bytes));
            Assert.Equal(bytes, await client.CallAsync(bytes));
        }
    }

    [Theory]
    [InlineData(SslProtocols.Tls12, true)]
#pragma warning disable CS0618, SYSLIB0039 // What must be refused.
    [InlineData(SslProtocols.Tls11, false)]
    [InlineData(SslProtocols.Tls, false)]
#pragma warning restore CS0618, SYSLIB0039
    public static async Task Only_TLS_1_2_and_later_are_spoken(SslProtocols version, bool isSpoken)
    {
        await using NativeListener listener = Serve(TestServer.Echo, out _);
        using TcpClient tcp = new();
        await tcp.ConnectAsync(IPAddress.Loopback, listener.Endpoint.Port);
        await using SslStream stream = new(tcp.GetStream(), false, (_, _, _, _) => true);
        SslClientAuthenticationOptions options = new()
        {
            TargetHost = "localhost",
            EnabledSslProtocols = version,
        };

        Exception? error = await Record.ExceptionAsync(
            () => stream.AuthenticateAsClientAsync(options).WaitAsync(ClientCalls.Patience));

        Assert.Equal(isSpoken, error is null);
        Assert.Equal(
            SslProtocols.Tls12 | SslProtocols.Tls13,
            new TlsTrust(listener.Endpoint, Trusting).Options.EnabledSslProtocols);
    }

    [Fact]
    public static void Raw_interfaces_have_it_too()
    {
        using RpcRawServer server = RpcRawServer.Create(
            Guid.NewGuid(), new RpcRawServerOptions { Certificate = Own, UseTls = true })
            .OnExecute((_, bytes) => bytes)
            .AddEndpoint("tcp://127.0.0.1:0")
            .StartListening();
        using RpcRawClient client = RpcRawClient.Connect(
            server.Endpoints[0], server.InterfaceId, tls: Trusting);

        Assert.Equal([1, 2], client.Execute([1, 2]));
        Assert.Throws<RpcException>(
            () => RpcRawClient.Connect(server.Endpoints[0], server.InterfaceId).Execute([1]));
    }

    [Fact]
    public static void A_certificate_that_no_endpoint_would_use_is_refused()
    {
        RpcRawServer server = RpcRawServer.Create(
            Guid.NewGuid(), new RpcRawServerOptions { Certificate = Own, UseTls = true })
            .AddEndpoint($"local://t{Guid.NewGuid():N}");

        RpcException e = Assert.Throws<RpcException>(server.StartListening);

        Assert.Equal("TlsNotSupported", e.ErrorId);
        Assert.Contains("tcp://", e.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void An_endpoint_with_another_certificate_is_rejected()
    {
        using RpcRawServer first = RpcRawServer.Create(
            Guid.NewGuid(), new RpcRawServerOptions { Certificate = Own, UseTls = true })
            .AddEndpoint("tcp://127.0.0.1:0")
            .StartListening();
        using RpcRawServer second = RpcRawServer.Create(Guid.NewGuid()).AddEndpoint(first.Endpoints[0]);

        RpcException e = Assert.Throws<RpcException>(second.StartListening);

        Assert.Equal("OtherCertificate", e.ErrorId);
    }

    [Fact]
    public static async Task A_call_that_takes_its_time_is_answered()
    {
        using ManualResetEventSlim release = new();
        await using NativeListener listener = Serve(
            call =>
            {
                release.Wait(ClientCalls.Patience);
                return TestServer.Echo(call);
            },
            out Guid id);
        using NativeConnectionPool client = Connect(listener, id, Trusting);
        Task<byte[]> call = Task.Run(() => client.Call([1, 2]));

        // Longer than the listener lets a call run before it looks whether the caller is still there.
        Assert.NotSame(call, await Task.WhenAny(call, Task.Delay(300)));
        release.Set();

        Assert.Equal([1, 2], await call);
        Assert.Equal([3], client.Call([3]));
    }

    [Fact]
    public static async Task A_caller_that_leaves_cancels_its_call()
    {
        TaskCompletionSource cancelled = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using NativeListener listener = Serve(
            call =>
            {
                call.Cancellation.WaitHandle.WaitOne(ClientCalls.Patience);
                if (call.Cancellation.IsCancellationRequested)
                {
                    cancelled.SetResult();
                }

                return ValueTask.CompletedTask;
            },
            out Guid id);
        using NativeConnectionPool client = Connect(listener, id, Trusting);

        RpcException e = Assert.Throws<RpcException>(() => client.Call([1], TimeSpan.FromMilliseconds(200)));

        Assert.Equal(RpcStatusCode.DeadlineExceeded, e.Code);
        await cancelled.Task.WaitAsync(ClientCalls.Patience);
    }

    [Fact]
    public static async Task A_certificate_that_nobody_vouches_for_is_refused()
    {
        await using NativeListener listener = Serve(TestServer.Echo, out Guid id);

        RpcException e = Assert.Throws<RpcException>(() => Connect(listener, id, new RpcTlsOptions()));

        Assert.Equal("CertificateNotTrusted", e.ErrorId);
        using NativeConnectionPool client =
            Connect(listener, id, new RpcTlsOptions { SkipCertificateCheck = true });
        Assert.Equal([1], client.Call([1]));
    }

    [Fact]
    public static async Task A_certificate_of_another_name_is_refused()
    {
        await using NativeListener listener = Serve(TestServer.Echo, out Guid id);

        RpcException e = Assert.Throws<RpcException>(
            () => Connect(listener, id, Trusting with { ServerName = "elsewhere.example" }));

        Assert.Equal("CertificateNotTrusted", e.ErrorId);
        Assert.Contains("another name", e.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static async Task A_client_without_tls_gets_no_answer()
    {
        await using NativeListener listener = Serve(TestServer.Echo, out Guid id);

        RpcException e = Assert.Throws<RpcException>(
            () => NativeConnectionPool.Connect(listener.Endpoint, id, RpcLimits.Default));

        Assert.NotEqual(RpcStatusCode.OK, e.Code);
    }

    [Fact]
    public static async Task A_listener_without_tls_is_not_called()
    {
        await using TestServer server = TestServer.Echoing("tcp");

        RpcException e = Assert.Throws<RpcException>(
            () => Connect(server.Listener, server.InterfaceId, Trusting));

        Assert.Equal(RpcStatusCode.Unavailable, e.Code);
    }

    [Fact]
    public static async Task Ntlm_goes_inside_of_tls()
    {
        NetworkCredential bob = new("bob", "Pa55word");
        PeerIdentity? caller = null;
        Guid id = Guid.NewGuid();
        ExecInterface service = new(id, call =>
        {
            caller = call.Peer;
            return TestServer.Echo(call);
        })
        {
            Security = new RpcServerSecurity
            {
                Authentication = RpcAuthentication.Ntlm,
                NtlmAccounts = [NtlmAccount.From(bob)],
            },
        };
        await using NativeListener listener =
            NativeListener.Serve(RpcEndpoint.Tcp("127.0.0.1", 0), service, RpcLimits.Default, Own);
        using NativeConnectionPool client = NativeConnectionPool.Connect(
            listener.Endpoint, id, RpcLimits.Default,
            new RpcClientSecurity { Authentication = RpcClientAuthentication.User, Credential = bob },
            Trusting, default);

        Assert.Equal([7], client.Call([7]));
        Assert.Equal("bob", caller?.User.Name);
    }

    [Fact]
    public static void Local_endpoints_have_none()
    {
        RpcException e = Assert.Throws<RpcException>(() => NativeConnectionPool.Connect(
            RpcEndpoint.Local("nobody"), Guid.NewGuid(), RpcLimits.Default,
            RpcClientSecurity.Anonymous, Trusting, default));

        Assert.Equal("TlsNotSupported", e.ErrorId);
    }

    private static NativeListener Serve(ExecHandler handler, out Guid id)
    {
        id = Guid.NewGuid();
        return NativeListener.Serve(
            RpcEndpoint.Tcp("127.0.0.1", 0), new ExecInterface(id, handler), RpcLimits.Default, Own);
    }

    private static NativeConnectionPool Connect(NativeListener listener, Guid id, RpcTlsOptions tls) =>
        NativeConnectionPool.Connect(
            listener.Endpoint, id, RpcLimits.Default, RpcClientSecurity.Anonymous, tls, default);

    private static X509Certificate2 NewCertificate() => TestCertificate.Create("CN=127.0.0.1", "127.0.0.1");
}
