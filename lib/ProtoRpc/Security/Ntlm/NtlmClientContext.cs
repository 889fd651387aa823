using System.Net;
using System.Runtime.InteropServices;
using System.Security;
using System.Security.Cryptography;
using System.Security.Principal;

namespace ProtoRpc.Security.Ntlm;

/// <summary>The client's side of NTLMv2 with an explicit credential.</summary>
internal sealed class NtlmClientContext(NtlmCredential credential, NtlmClientOptions options) : NtlmContext
{
    private const int LmResponseSize = 24;
    private const NtlmFlags Offered = NtlmFlags.Supported & ~NtlmFlags.Version;

    private byte[]? _negotiate;

    public override IIdentity Identity =>
        throw new InvalidOperationException("NTLM does not identify the server to the client.");

    public override byte[] Step(ReadOnlySpan<byte> token)
    {
        if (IsComplete)
        {
            throw SecurityErrors.OutOfTurn(Name);
        }

        return _negotiate is null ? _negotiate = NegotiateMessage.ToBytes(Offered) : Answer(token);
    }

    private byte[] Answer(ReadOnlySpan<byte> token)
    {
        ChallengeMessage challenge =
            ChallengeMessage.Read(token) ?? throw SecurityErrors.Malformed(Name, "the challenge");
        if (!challenge.Flags.HasFlag(NtlmFlags.Required))
        {
            throw SecurityErrors.Refused(
                Name,
                "the server does not offer NTLMv2 session security with 128-bit keys, "
                + "and weaker security is not supported");
        }

        NtlmFlags flags = (challenge.Flags & Offered) | NtlmFlags.TargetInfo;
        DateTimeOffset? serverTime = challenge.TargetInfo.Timestamp;
        byte[] clientChallenge = options.Random(ChallengeMessage.ChallengeSize);
        byte[] blob = NtlmV2Response.MakeBlob(
            serverTime ?? options.Clock.GetUtcNow(),
            clientChallenge,
            Attributes(challenge.TargetInfo, serverTime is not null));

        // The response contains the server's list of pairs, and the length field of the response has 16 bits.
        if (blob.Length > ushort.MaxValue - NtlmV2Response.ProofSize)
        {
            throw SecurityErrors.Malformed(Name, "the challenge");
        }

        byte[] responseKey = NtlmCrypto.ResponseKey(credential.NtHash, credential.User, credential.Domain);
        byte[] proof = NtlmCrypto.Proof(responseKey, challenge.ServerChallenge, blob);

        // A server that sends its time does not accept the older response ([MS-NLMP] section 3.1.5.1.2).
        byte[] lmResponse = serverTime is not null
            ? new byte[LmResponseSize]
            :
            [
                .. NtlmCrypto.Proof(responseKey, challenge.ServerChallenge, clientChallenge),
                .. clientChallenge,
            ];
        byte[] baseKey = NtlmCrypto.SessionBaseKey(responseKey, proof);
        (byte[] sessionKey, byte[] encryptedKey) = MakeSessionKey(flags, baseKey);
        byte[] message = new AuthenticateMessage
        {
            Flags = flags,
            Domain = credential.Domain,
            User = credential.User,
            Workstation = options.Workstation,
            LmResponse = lmResponse,
            NtResponse = [.. proof, .. blob],
            EncryptedSessionKey = encryptedKey,
        }.ToBytes();

        if (serverTime is not null)
        {
            NtlmCrypto.MessageIntegrityCode(sessionKey, _negotiate, token, message)
                .CopyTo(message, AuthenticateMessage.MicOffset);
        }

        CryptographicOperations.ZeroMemory(responseKey);
        CryptographicOperations.ZeroMemory(baseKey);
        BeginSession(sessionKey, flags, isServer: false);
        return message;
    }

    private AvPairs Attributes(AvPairs fromServer, bool withMic)
    {
        AvPairs pairs = fromServer;
        if (withMic)
        {
            pairs.AddFlags(AvPairs.HasMic);
        }

        if (options.TargetName.Length > 0)
        {
            pairs.Set(AvId.TargetName, options.TargetName);
        }

        if (options.ChannelBinding is { } binding)
        {
            pairs.Set(AvId.ChannelBindings, binding);
        }

        return pairs;
    }

    private (byte[] SessionKey, byte[] Encrypted) MakeSessionKey(NtlmFlags flags, byte[] baseKey)
    {
        if (!flags.HasFlag(NtlmFlags.KeyExchange))
        {
            return ([.. baseKey], []);
        }

        byte[] key = options.Random(NtlmCrypto.KeySize);
        byte[] encrypted = new byte[key.Length];
        Rc4.Transform(baseKey, key, encrypted);
        return (key, encrypted);
    }
}

/// <summary>The additional data that an NTLM client sends, and its sources of time and random
/// numbers.</summary>
internal sealed record NtlmClientOptions
{
    /// <summary>The service's principal name, which the server may check; empty for none.</summary>
    public string TargetName { get; init; } = "";

    /// <summary>The machine's name.</summary>
    public string Workstation { get; init; } = "";

    /// <summary>The channel binding hash, which ties the authentication to its TLS connection,
    /// or null.</summary>
    public byte[]? ChannelBinding { get; init; }

    /// <summary>The clock, for servers that do not send their time.</summary>
    public TimeProvider Clock { get; init; } = TimeProvider.System;

    /// <summary>Returns random octets.</summary>
    public Func<int, byte[]> Random { get; init; } = RandomNumberGenerator.GetBytes;
}

/// <summary>The identity of an NTLM client, with the hash of its password.</summary>
internal sealed class NtlmCredential
{
    private NtlmCredential(string user, string domain, byte[] ntHash)
    {
        User = user;
        Domain = domain;
        NtHash = ntHash;
    }

    public string User { get; }

    public string Domain { get; }

    public byte[] NtHash { get; }

    /// <summary>Reads name and password of a credential, whose user name may be <c>DOMAIN\user</c>.</summary>
    public static NtlmCredential From(NetworkCredential credential)
    {
        (string user, string domain) = (credential.UserName, credential.Domain);
        int backslash = user.IndexOf('\\');
        if (domain.Length == 0 && backslash >= 0)
        {
            (domain, user) = (user[..backslash], user[(backslash + 1)..]);
        }

        return new NtlmCredential(user, domain, HashOf(credential.SecurePassword));
    }

    // The password is in unprotected memory only while it is hashed.
    private static unsafe byte[] HashOf(SecureString password)
    {
        nint text = Marshal.SecureStringToGlobalAllocUnicode(password);
        try
        {
            return NtlmCrypto.NtHash(new ReadOnlySpan<char>((char*)text, password.Length));
        }
        finally
        {
            Marshal.ZeroFreeGlobalAllocUnicode(text);
        }
    }
}
