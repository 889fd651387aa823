using ProtoRpc.Security.Ntlm;
using ProtoRpc.Tests.Protocols.Dce;

namespace ProtoRpc.Tests.Security.Ntlm;

public static class NtlmCryptoTests
{
    private const string Vector = "auth3-ntlm";

    // [MS-NLMP] section 4.2.4: the values of its example.
    [Fact]
    public static void Keys_are_those_of_the_specification()
    {
        byte[] hash = NtlmCrypto.NtHash("Password");
        byte[] responseKey = NtlmCrypto.ResponseKey(hash, "User", "Domain");

        Assert.Equal("a4f49c406510bdcab6824ee7c30fd852", Convert.ToHexStringLower(hash));
        Assert.Equal("0c868a403bfd7a93a3001ef22ef02e3f", Convert.ToHexStringLower(responseKey));
    }

    [Fact]
    public static void Proof_and_keys_are_those_of_the_recorded_client()
    {
        AuthenticateMessage message = AuthenticateMessage.Read(NtlmVectors.Authenticate)!;
        NtlmV2Response response = NtlmV2Response.Read(message.NtResponse)!;
        byte[] responseKey = NtlmCrypto.ResponseKey(
            NtlmCrypto.NtHash("Password"), message.User, message.Domain);

        byte[] proof = NtlmCrypto.Proof(
            responseKey, NtlmVectors.Known(Vector, "server_challenge"), response.Blob);
        byte[] baseKey = NtlmCrypto.SessionBaseKey(responseKey, proof);
        byte[] sessionKey = new byte[16];
        Rc4.Transform(baseKey, message.EncryptedSessionKey, sessionKey);

        Assert.Equal(response.Proof, proof);
        Assert.Equal(NtlmVectors.Known(Vector, "session_base_key"), baseKey);
        Assert.Equal(NtlmVectors.Known(Vector, "exported_session_key"), sessionKey);
        Assert.Equal(Known("client_signing_key"), NtlmCrypto.SigningKey(sessionKey, ofServer: false));
        Assert.Equal(Known("server_signing_key"), NtlmCrypto.SigningKey(sessionKey, ofServer: true));
        Assert.Equal(Known("client_sealing_key"), NtlmCrypto.SealingKey(sessionKey, ofServer: false));
        Assert.Equal(Known("server_sealing_key"), NtlmCrypto.SealingKey(sessionKey, ofServer: true));
    }

    [Theory]
    [InlineData("request-ntlm-integrity", false, false)]
    [InlineData("response-ntlm-integrity", true, false)]
    [InlineData("request-ntlm-privacy", false, true)]
    [InlineData("response-ntlm-privacy", true, true)]
    public static void Recorded_calls_are_protected_and_opened_octet_by_octet(
        string name, bool fromServer, bool seals)
    {
        WireVector vector = WireVector.Load(name);
        int end = vector.Bytes.Length - NtlmDirection.SignatureSize;
        Range stub = 24..(end - 8);
        byte[] pdu = [.. vector.Bytes];
        using NtlmDirection receiving = NewDirection();
        using NtlmDirection sending = NewDirection();

        bool opened = receiving.Unprotect(
            pdu.AsSpan(0, end), seals ? pdu.AsSpan(0, end)[stub] : default, pdu.AsSpan(end));

        Assert.True(opened);
        if (seals)
        {
            string plain = vector.Fields.GetProperty("plain_stub_hex").GetString()!;
            Assert.StartsWith(plain, Convert.ToHexStringLower(pdu[stub]), StringComparison.Ordinal);
        }

        pdu.AsSpan(end).Clear();
        sending.Protect(pdu.AsSpan(0, end), seals ? pdu.AsSpan(0, end)[stub] : default, pdu.AsSpan(end));
        Assert.Equal(vector.Bytes, pdu);

        NtlmDirection NewDirection() => new(
            NtlmVectors.Known(name, "exported_session_key"), fromServer, true);
    }

    [Fact]
    public static void Any_turned_bit_of_a_protected_call_shows()
    {
        byte[] whole = WireVector.Load("request-ntlm-privacy").Bytes;
        byte[] key = NtlmVectors.Known("request-ntlm-privacy", "exported_session_key");
        int end = whole.Length - NtlmDirection.SignatureSize;
        for (int bit = 0; bit < whole.Length * 8; bit++)
        {
            byte[] pdu = [.. whole];
            pdu[bit / 8] ^= (byte)(1 << (bit % 8));
            using NtlmDirection receiving = new(key, fromServer: false, encryptsChecksum: true);

            Assert.False(receiving.Unprotect(pdu.AsSpan(0, end), pdu.AsSpan(24, end - 32), pdu.AsSpan(end)));
        }
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public static void A_message_that_comes_twice_or_too_early_is_refused(bool exchanged)
    {
        byte[] key = new byte[16];
        using NtlmDirection sending = new(key, fromServer: true, exchanged);
        (byte[] Text, byte[] Signature) first = Seal(sending);
        (byte[] Text, byte[] Signature) second = Seal(sending);

        Assert.Equal([true, true], Open(first, second));
        Assert.Equal([true, false], Open(first, first));
        Assert.Equal([false], Open(second));

        bool[] Open(params (byte[] Text, byte[] Signature)[] messages)
        {
            using NtlmDirection receiving = new(key, fromServer: true, exchanged);
            return [.. messages.Select(m =>
            {
                byte[] text = [.. m.Text];
                return receiving.Unprotect(text, text, m.Signature)
                    && text.AsSpan().SequenceEqual("same text"u8);
            })];
        }
    }

    private static byte[] Known(string name) => NtlmVectors.Known(Vector, name);

    private static (byte[] Text, byte[] Signature) Seal(NtlmDirection sending)
    {
        byte[] text = "same text"u8.ToArray();
        byte[] signature = new byte[NtlmDirection.SignatureSize];
        sending.Protect(text, text, signature);
        return (text, signature);
    }
}
