using System.Net.Security;
using System.Security.Authentication;
using ProtoRpc.Transports.Tls;

namespace ProtoRpc.Tests.Transports;

/// <summary>The reason that a client reports for a failed handshake.</summary>
public static class TlsTrustTests
{
    private static readonly RpcEndpoint Server = RpcEndpoint.Parse("tcp://127.0.0.1:1");

    [Theory]
    [InlineData(false, "CertificateNotTrusted")]
    [InlineData(true, "TlsHandshakeFailed")]
    public static async Task The_verdict_on_the_certificate_is_the_reason_and_not_a_lost_alert(
        bool skipsCheck, string wanted)
    {
        TlsTrust trust = new(Server, new() { SkipCertificateCheck = skipsCheck });
        IOException lost = new("Connection reset by peer");

        RpcException blocking = Assert.Throws<RpcException>(() => trust.Judge(Handshake));
        RpcException waiting = await Assert.ThrowsAsync<RpcException>(() => trust.JudgeAsync(() =>
        {
            Handshake();
            return Task.CompletedTask;
        }));

        Assert.Equal(wanted, blocking.ErrorId);
        Assert.Equal(wanted, waiting.ErrorId);
        Assert.Same(lost, blocking.InnerException);

        void Handshake()
        {
            Assert.Equal(skipsCheck, Show(trust, SslPolicyErrors.RemoteCertificateChainErrors));
            throw lost;
        }
    }

    [Fact]
    public static void A_refusal_is_not_the_reason_for_the_failure_of_another_handshake()
    {
        TlsTrust trust = new(Server, new());
        Assert.False(Show(trust, SslPolicyErrors.RemoteCertificateNameMismatch));
        AuthenticationException refusal = new("rejected");
        AuthenticationException other = new("see inner exception", new IOException("handshake failure"));

        Assert.True(trust.IsDistrust(refusal));
        Assert.False(trust.IsDistrust(other));
        Assert.Equal("CertificateNotTrusted", trust.Failure(refusal).ErrorId);
        Assert.Equal("TlsHandshakeFailed", trust.Failure(other).ErrorId);
        Assert.True(Show(trust, SslPolicyErrors.None));
        Assert.Equal("TlsHandshakeFailed", trust.Failure(refusal).ErrorId);
    }

    private static bool Show(TlsTrust trust, SslPolicyErrors errors) =>
        trust.Options.RemoteCertificateValidationCallback!(trust, null, null, errors);
}
