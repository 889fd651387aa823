using System.Net;
using ProtoRpc.Protocols.Dce;

namespace ProtoRpc.Tests.Protocols.Dce;

public static class ServerSpnegoTests
{
    [OwnSpnegoFact]
    public static void Needs_one_more_leg_and_protects_the_same() => Negotiate(signsHeaders: true);

    [OwnSpnegoFact]
    public static void Protects_bodies_alone_where_the_peer_signs_no_headers() =>
        Negotiate(signsHeaders: false);

    [OwnSpnegoFact]
    public static void A_wrong_password_is_refused_with_the_last_leg()
    {
        using ServerAssociation server = NewServer();
        using ClientAssociation client = NewClient(new NetworkCredential("User", "wrong", "DOMAIN"));

        RpcException error = Assert.Throws<RpcException>(
            () => SecuredClient.Converse(client, server, client.Bind(0)));

        Assert.Equal("AuthenticationFailed", error.ErrorId);
        Assert.True(server.IsClosed());
    }

    private static void Negotiate(bool signsHeaders)
    {
        using ServerAssociation server = NewServer();
        using ClientAssociation client = SecuredClient.New(
            signsHeaders ? RpcProtectionLevel.Privacy : RpcProtectionLevel.Packet,
            mechanism: RpcMechanism.Negotiate);
        byte[] bind = client.Bind(0);
        if (!signsHeaders)
        {
            // From Integrity on, our client would say that somebody took this out.
            bind[3] &= 0xFB;
        }

        List<PduType> sent = SecuredClient.Converse(client, server, bind);

        Assert.Equal([PduType.Bind, PduType.AlterContext], sent);
        byte[] response = server.Feed(SecuredClient.Request(client, "Hi"u8));
        Assert.Equal(ClientStep.Reply, SecuredClient.Deliver(client, response));
        Assert.Equal("Hi"u8.ToArray(), client.Reply.ToArray());
        Assert.Equal("NTLM", server.Security.Peer.User.AuthenticationType);
    }

    private static ServerAssociation NewServer() => ServerSecurityTests.NewServer(new(
        ServerSecurityTests.Ntlm with
        {
            Authentication = RpcAuthentication.Negotiate,
            MinimumLevel = RpcProtectionLevel.Packet,
        }));

    private static ClientAssociation NewClient(NetworkCredential credential) =>
        SecuredClient.New(RpcProtectionLevel.Privacy, credential, RpcMechanism.Negotiate);
}
