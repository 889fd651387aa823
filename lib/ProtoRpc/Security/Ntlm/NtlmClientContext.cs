using System.Security.Cryptography;
using System.Security.Principal;

namespace ProtoRpc.Security.Ntlm;

/// <summary>The client's side of NTLMv2 with an explicit credential.</summary>
internal sealed class NtlmClientContext(NtlmCredential credential, NtlmClientOptions options) : NtlmContext
{
    private const int LmResponseSize = 24;
    private const NtlmFlags Offered = NtlmFlags.Supported & ~NtlmFlags.Version;

    private byte[]? _negotiate;

    /// <inheritdoc/>
    public override IIdentity Identity =>
        throw new InvalidOperationException("NTLM does not identify the server to the client.");

    /// <inheritdoc/>
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

        // The response repeats the server's list, and its length has 16 bits.
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
