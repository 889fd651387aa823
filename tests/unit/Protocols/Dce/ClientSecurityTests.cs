using ProtoRpc.Protocols.Dce;
using ProtoRpc.Security;
using ProtoRpc.Tests.Security.Ntlm;

namespace ProtoRpc.Tests.Protocols.Dce;

public static class ClientSecurityTests
{
    private const int AckSize = 28 + 4 + 4 + 24;

    [Fact]
    public static void A_server_that_leaves_the_authentication_out_is_left()
    {
        using ClientAssociation client = SecuredClient.New(RpcProtectionLevel.Integrity);
        using ServerAssociation server = Conversation.Server();
        client.Bind(0);

        RpcException error = Assert.Throws<RpcException>(
            () => SecuredClient.Deliver(client, server.Feed(Conversation.Bind())));

        Assert.Equal(RpcStatusCode.Unauthenticated, error.Code);
        Assert.Contains("without an authentication token", error.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(10, 5, 79231u, true)]
    [InlineData(9, 6, 79231u, false)]
    [InlineData(10, 2, 79231u, false)]
    [InlineData(10, 6, 1u, false)]
    public static void An_answer_with_another_package_level_or_context_is_refused(
        byte type, byte level, uint context, bool taken)
    {
        using ClientAssociation client = SecuredClient.New(RpcProtectionLevel.Integrity);
        client.Bind(0);
        byte[] ack = AuthTrailer.Append(
            new BindAckPdu(5840, 5840, 1, "135", [ContextResult.Accepted]).ToBytes(PduType.BindAck, 1),
            new AuthTrailer(type, level, 0, context),
            NtlmVectors.Challenge);

        Exception? error = Record.Exception(() => SecuredClient.Deliver(client, ack));

        Assert.Equal(taken, error is null);
        Assert.True(taken || error!.Message.Contains("another authentication", StringComparison.Ordinal));
    }

    [Fact]
    public static void A_server_that_will_not_encrypt_is_not_called_in_plain()
    {
        byte[] challenge = NtlmVectors.Challenge;

        // The flag of sealing.
        challenge[20] &= 0xDF;
        using ClientAssociation client = SecuredClient.New(RpcProtectionLevel.Privacy);
        client.Bind(0);
        byte[] ack = AuthTrailer.Append(
            new BindAckPdu(5840, 5840, 1, "135", [ContextResult.Accepted]).ToBytes(PduType.BindAck, 1),
            new AuthTrailer(10, 6, 0, 79231),
            challenge);

        RpcException error = Assert.Throws<RpcException>(() => SecuredClient.Deliver(client, ack));

        Assert.Contains(
            "does not support protection level Privacy", error.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public static void A_reply_that_is_not_signed_as_agreed_is_refused(bool plain)
    {
        using ClientAssociation client = SecuredClient.New(RpcProtectionLevel.Integrity);
        using ServerAssociation server = NewServer();
        SecuredClient.Converse(client, server, client.Bind(0));
        byte[] response = server.Feed(SecuredClient.Request(client, "Hi"u8));
        if (plain)
        {
            // The same reply without its trailer, as somebody on the way could make it.
            int length = response.Length - 24;
            response = response[..length];
            PduHeader.Write(response, PduType.Response, PduFlags.Single, length, 0, client.CallId);
        }
        else
        {
            response[40] ^= 1;
        }

        RpcException error = Assert.Throws<RpcException>(() => SecuredClient.Deliver(client, response));

        Assert.Contains("not protected as negotiated", error.Message, StringComparison.Ordinal);
        Assert.True(error.MayHaveExecuted);
    }

    [Theory]
    [InlineData(RpcProtectionLevel.Integrity)]
    [InlineData(RpcProtectionLevel.Privacy)]
    public static void Any_turned_bit_of_a_reply_is_refused(RpcProtectionLevel level)
    {
        int length = int.MaxValue;
        for (int i = 0; i < length; i++)
        {
            using ClientAssociation client = SecuredClient.New(level);
            using ServerAssociation server = NewServer();
            SecuredClient.Converse(client, server, client.Bind(0));
            byte[] response = server.Feed(SecuredClient.Request(client, "Hi"u8));
            length = response.Length;
            response[i] ^= 0x10;
            ClientStep step = ClientStep.Receive;

            Exception? refusal = Record.Exception(() => step = SecuredClient.Deliver(client, response));

            // A length that grew leaves the client waiting, for its deadline; what is no reply is never one.
            Assert.True(
                refusal is RpcException || step == ClientStep.Receive, $"octet {i}: {step} {refusal}");
        }
    }

    [Fact]
    public static void A_server_that_knows_nobody_is_told_by_name_to_anonymous_callers()
    {
        using ClientAssociation client = new(SecuredClient.Endpoint, Conversation.Service, RpcLimits.Default);
        using ServerAssociation server = NewServer();
        SecuredClient.Converse(client, server, client.Bind(0));
        SecuredClient.Deliver(client, server.Feed(SecuredClient.Request(client, "Hi"u8)));

        RpcException error = client.FaultToException();

        Assert.Equal(RpcStatusCode.Unauthenticated, error.Code);
        Assert.Equal("AuthenticationRequired", error.ErrorId);
        Assert.False(error.MayHaveExecuted);
    }

    [Fact]
    public static void A_denial_after_answered_calls_is_one_of_permission()
    {
        using ClientAssociation client = SecuredClient.New(RpcProtectionLevel.Integrity);
        using ServerAssociation server = NewServer();
        SecuredClient.Converse(client, server, client.Bind(0));
        SecuredClient.Deliver(client, server.Feed(SecuredClient.Request(client, "Hi"u8)));
        SecuredClient.Request(client, "Hi"u8);
        SecuredClient.Deliver(client, FaultPdu.ToBytes(5, client.CallId, 0, didNotExecute: true));

        RpcException error = client.FaultToException();

        Assert.Equal(RpcStatusCode.PermissionDenied, error.Code);

        // Servers do not sign faults.
        Assert.True(error.MayHaveExecuted);
    }

    [Fact]
    public static void Answers_cut_or_damaged_anywhere_never_do_more_than_be_refused()
    {
        byte[] ack = AuthTrailer.Append(
            new BindAckPdu(5840, 5840, 1, "135", [ContextResult.Accepted]).ToBytes(PduType.BindAck, 1),
            new AuthTrailer(10, 6, 0, 79231),
            NtlmVectors.Challenge);
        Assert.Equal(AckSize, ack.Length - NtlmVectors.Challenge.Length - 8);
        Random random = new(1);
        for (int i = 0; i < ack.Length; i++)
        {
            byte[] damaged = [.. ack];
            damaged[i] = (byte)random.Next(256);
            using ClientAssociation client = SecuredClient.New(RpcProtectionLevel.Privacy);
            client.Bind(0);

            Exception? error = Record.Exception(() => SecuredClient.Deliver(client, damaged));

            Assert.True(error is null or RpcException, error?.ToString());
        }
    }

    private static ServerAssociation NewServer()
    {
        SecurityPolicy policy = new(new RpcServerSecurity
        {
            Authentication = RpcAuthentication.Ntlm,
            NtlmAccounts = [NtlmAccount.From(NtlmVectors.Credential)],
        });
        return new ServerAssociation(RpcLimits.Default, "135", id => id == Conversation.Service)
        {
            Security = new ServerSecurity(_ => policy, static () => PeerIdentity.Anonymous("")),
        };
    }
}
