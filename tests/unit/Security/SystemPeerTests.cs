using System.Buffers;
using System.Net.Security;
using ProtoRpc.Security;
using ProtoRpc.Tests.Security.Ntlm;

namespace ProtoRpc.Tests.Security;

/// <summary>.NET's own NTLM client against our server: written by others,
/// from the same specification.</summary>
/// <remarks>Its SPNEGO client asks the machine's Kerberos first,
/// so what it does depends on what is installed.</remarks>
public static class SystemPeerTests
{
    static SystemPeerTests() => AppContext.SetSwitch("System.Net.Security.UseManagedNtlm", true);

    [Fact]
    public static void The_systems_client_authenticates_signs_and_seals()
    {
        using NegotiateAuthentication client = NewClient("Password");
        using SecurityContext server = NtlmVectors.NewServer();

        Agree(client, server);

        Assert.Equal(@"DOMAIN\User", server.Identity.Name);
        Assert.Equal("NTLM", server.AuthenticationType);
        for (int i = 0; i < 3; i++)
        {
            ArrayBufferWriter<byte> signature = new();
            client.ComputeIntegrityCheck("signed"u8, signature);
            byte[] message = "signed"u8.ToArray();
            Assert.True(server.Unprotect(message, .., encrypted: false, signature.WrittenSpan));

            ArrayBufferWriter<byte> wrapped = new();
            client.Wrap("sealed"u8, wrapped, requestEncryption: true, out bool isEncrypted);
            byte[] text = wrapped.WrittenSpan[16..].ToArray();
            Assert.True(isEncrypted);
            Assert.True(server.Unprotect(text, .., encrypted: true, wrapped.WrittenSpan[..16]));
            Assert.Equal("sealed"u8.ToArray(), text);

            byte[] reply = "reply"u8.ToArray();
            byte[] replySignature = new byte[16];
            server.Protect(reply, .., encrypt: true, replySignature);
            ArrayBufferWriter<byte> plain = new();
            NegotiateAuthenticationStatusCode status =
                client.Unwrap([.. replySignature, .. reply], plain, out _);
            Assert.Equal(NegotiateAuthenticationStatusCode.Completed, status);
            Assert.Equal("reply"u8.ToArray(), plain.WrittenSpan.ToArray());
        }
    }

    [Fact]
    public static void The_systems_client_with_a_wrong_password_is_refused()
    {
        using NegotiateAuthentication client = NewClient("Passwort");
        using SecurityContext server = NtlmVectors.NewServer();

        RpcException error = Assert.Throws<RpcException>(() => Agree(client, server));

        Assert.Contains("password is wrong", error.Message, StringComparison.Ordinal);
    }

    private static NegotiateAuthentication NewClient(string password) =>
        new(new NegotiateAuthenticationClientOptions
        {
            Package = "NTLM",
            Credential = new("User", password, "DOMAIN"),
            TargetName = "host/server",
            RequiredProtectionLevel = ProtectionLevel.EncryptAndSign,
        });

    private static void Agree(NegotiateAuthentication client, SecurityContext server)
    {
        byte[] token = [];
        for (int i = 0; i < 10 && !(client.IsAuthenticated && server.IsComplete && token.Length == 0); i++)
        {
            byte[]? next = client.GetOutgoingBlob(token, out NegotiateAuthenticationStatusCode status);
            Assert.True(
                status is NegotiateAuthenticationStatusCode.Completed
                    or NegotiateAuthenticationStatusCode.ContinueNeeded,
                status.ToString());
            token = next is null ? [] : server.Step(next);
        }

        Assert.True(client.IsAuthenticated && server.IsComplete);
    }
}
