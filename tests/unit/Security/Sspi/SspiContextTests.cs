using System.Runtime.Versioning;
using ProtoRpc.Security;
using ProtoRpc.Security.Ntlm;
using ProtoRpc.Security.Sspi;
using ProtoRpc.Tests.Security.Ntlm;

namespace ProtoRpc.Tests.Security.Sspi;

/// <summary>The system's NTLM against ours, by PDUs as they go over the wire.</summary>
[SupportedOSPlatform("windows")]
public static class SspiContextTests
{
    [WindowsFact]
    public static void The_systems_client_is_let_in_and_both_protect_alike()
    {
        using NtlmServerContext server = NtlmVectors.NewServer();
        using SspiContext client = NewClient("NTLM");

        server.Step(client.Step(server.Step(client.Step([]))));

        Assert.True(client.IsComplete);
        Assert.True(client.Supports(RpcProtectionLevel.Privacy));
        Assert.Equal("NTLM", client.AuthenticationType);
        Assert.Equal(@"DOMAIN\User", server.Identity.Name);
        foreach (bool encrypt in new[] { false, true, false, true })
        {
            Exchange(client, server, encrypt);
            Exchange(server, client, encrypt);
        }
    }

    [WindowsFact]
    public static void Any_turned_bit_shows_to_the_systems_client()
    {
        // Header, data, trailer, signature; of its first half Wine's client checks nothing.
        foreach (int i in new[] { 0, 23, 24, 39, 40, 47, 56, 63 })
        {
            using NtlmServerContext server = NtlmVectors.NewServer();
            using SspiContext client = NewClient("NTLM");
            server.Step(client.Step(server.Step(client.Step([]))));
            byte[] pdu = new byte[24 + 16 + 8 + 16];
            server.Protect(pdu.AsSpan(0, 48), 24..40, encrypt: true, pdu.AsSpan(48));
            pdu[i] ^= 0x10;

            Assert.False(
                client.Unprotect(pdu.AsSpan(0, 48), 24..40, encrypted: true, pdu.AsSpan(48)), $"octet {i}");
        }
    }

    [WindowsFact]
    public static void The_systems_server_refuses_an_account_that_it_does_not_know()
    {
        using NtlmClientContext client = new(
            NtlmCredential.From(NtlmVectors.Credential), new NtlmClientOptions());
        using SspiContext server = SspiContext.ForServer(SspiCredential.OfServer("NTLM"));
        byte[] last = client.Step(server.Step(client.Step([])));

        RpcException e = Assert.Throws<RpcException>(() => server.Step(last));

        Assert.Equal((RpcStatusCode.Unauthenticated, "AuthenticationFailed"), (e.Code, e.ErrorId));
        Assert.Contains("SEC_E_LOGON_DENIED", e.Message, StringComparison.Ordinal);
        Assert.False(server.IsComplete);
    }

    [WindowsFact]
    public static void The_systems_server_refuses_tokens_that_are_none()
    {
        foreach (byte[] token in new byte[][] { [], [1], new byte[40], Transports.ClientCalls.Bytes(1000) })
        {
            using SspiContext server = SspiContext.ForServer(SspiCredential.OfServer("NTLM"));

            RpcException e = Assert.Throws<RpcException>(() => server.Step(token));

            Assert.Equal((RpcStatusCode.Unauthenticated, "AuthenticationFailed"), (e.Code, e.ErrorId));
        }
    }

    [WindowsFact]
    public static void A_package_that_the_system_does_not_have_is_named()
    {
        RpcException e = Assert.Throws<RpcException>(() => SspiCredential.OfServer("Unheard-of"));

        Assert.Equal((RpcStatusCode.FailedPrecondition, "NoCredentials"), (e.Code, e.ErrorId));
        Assert.Contains("Unheard-of", e.Message, StringComparison.Ordinal);
        Assert.Contains("SEC_E_SECPKG_NOT_FOUND", e.Message, StringComparison.Ordinal);
    }

    private static SspiContext NewClient(string package) => SspiContext.ForClient(
        SspiCredential.OfClient(package, NtlmVectors.Credential), "host/127.0.0.1");

    private static void Exchange(SecurityContext from, SecurityContext to, bool encrypt)
    {
        byte[] plain = Transports.ClientCalls.Bytes(24 + 48 + 8);
        byte[] pdu = [.. plain];
        byte[] signature = new byte[from.SignatureSize(encrypt)];
        from.Protect(pdu, 24..^8, encrypt, signature);

        Assert.Equal(encrypt, !pdu.AsSpan().SequenceEqual(plain));
        Assert.Equal(plain[..24], pdu[..24]);
        Assert.True(to.Unprotect(pdu, 24..^8, encrypt, signature));
        Assert.Equal(plain, pdu);
    }
}
