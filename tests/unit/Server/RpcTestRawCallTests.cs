using System.Security.Principal;
using System.Text;

namespace ProtoRpc.Tests.Server;

/// <summary>Handlers and interceptors of the raw layer are tested without a server.</summary>
public static class RpcTestRawCallTests
{
    private static readonly Guid Id = new("7a3f2c1e-0d5b-4e6f-8a9b-1c2d3e4f5a6b");

    private static readonly PeerIdentity Ann = new(
        new GenericIdentity("ann", "NTLM"), "192.0.2.1:5000", 0, IsLocal: false)
    {
        ProtectionLevel = RpcProtectionLevel.Privacy,
    };

    [Fact]
    public static void A_handler_sees_the_call_that_a_test_describes()
    {
        using CancellationTokenSource source = new();
        RpcTestRawCall call = new(Id)
        {
            Endpoint = RpcEndpoint.Parse("tcp://127.0.0.1:8080"),
            Peer = Ann,
            CancellationToken = source.Token,
        };

        RpcRawContext context = call.CreateContext();

        Assert.Equal(Id, context.InterfaceId);
        Assert.Equal(RpcTransport.Tcp, context.Transport);
        Assert.Equal(("ann", "NTLM"), (context.User.Name, context.AuthenticationType));
        Assert.Equal(RpcProtectionLevel.Privacy, context.ProtectionLevel);
        Assert.Equal("192.0.2.1:5000", context.ClientAddress);
        Assert.False(context.IsLocal);
        Assert.Null(context.Deadline);
        Assert.False(context.CancellationToken.IsCancellationRequested);
        source.Cancel();
        Assert.True(context.CancellationToken.IsCancellationRequested);
    }

    [Fact]
    public static void A_call_that_says_nothing_is_anonymous_and_local()
    {
        RpcRawContext context = new RpcTestRawCall(Id).CreateContext();

        Assert.False(context.IsAuthenticated);
        Assert.Equal(RpcTransport.Local, context.Transport);
        Assert.Equal(
            RpcStatusCode.Unauthenticated,
            Assert.Throws<RpcException>(() => context.Impersonate(() => { })).Code);
    }

    [Fact]
    public static async Task An_interceptor_stands_before_the_handler()
    {
        RpcTestRawCall anonymous = new(Id);
        RpcTestRawCall known = anonymous with { Peer = Ann };
        KnownCallers interceptor = new();
        ReadOnlyMemory<byte> request = "hello"u8.ToArray();

        ReadOnlyMemory<byte>? reply = await interceptor.InvokeAsync(known.CreateContext(), request, Shout);
        RpcException refusal = await Assert.ThrowsAsync<RpcException>(
            async () => await interceptor.InvokeAsync(anonymous.CreateContext(), request, Shout));

        Assert.Equal("HELLO from ann", Encoding.UTF8.GetString(reply!.Value.Span));
        Assert.Equal(RpcStatusCode.Unauthenticated, refusal.Code);

        static ValueTask<ReadOnlyMemory<byte>?> Shout(
            RpcRawContext client, ReadOnlyMemory<byte> bytes) => new(
            Encoding.UTF8.GetBytes(
                $"{Encoding.UTF8.GetString(bytes.Span).ToUpperInvariant()} from {client.User.Name}"));
    }

    private sealed class KnownCallers : IRpcRawInterceptor
    {
        public ValueTask<ReadOnlyMemory<byte>?> InvokeAsync(
            RpcRawContext client, ReadOnlyMemory<byte> request, RpcRawHandler next) => client.IsAuthenticated
            ? next(client, request)
            : throw new RpcException(RpcStatusCode.Unauthenticated, "Who are you?");
    }
}
