using System.Security.Cryptography;
using System.Security.Principal;

namespace ProtoRpc.Security.Ntlm;

/// <summary>The server's side of NTLMv2, for accounts whose hashes the server has.</summary>
internal sealed class NtlmServerContext(NtlmAccountTable accounts, NtlmServerOptions options) : NtlmContext
{
    private byte[]? _negotiate;
    private byte[]? _challenge;
    private byte[] _serverChallenge = [];
    private NtlmFlags _offered;
    private GenericIdentity? _identity;
    private bool _isSpent;

    public override IIdentity Identity =>
        _identity ?? throw new InvalidOperationException("The authentication is not complete.");

    public override byte[] Step(ReadOnlySpan<byte> token)
    {
        if (_negotiate is null)
        {
            return Challenge(token);
        }

        // A client has one attempt for each challenge.
        if (_isSpent)
        {
            throw SecurityErrors.OutOfTurn(Name);
        }

        _isSpent = true;
        Verify(token);
        return [];
    }

    private byte[] Challenge(ReadOnlySpan<byte> token)
    {
        if (!NegotiateMessage.TryRead(token, out NtlmFlags flags))
        {
            throw SecurityErrors.Malformed(Name, "the NEGOTIATE message");
        }

        Require(flags);
        _negotiate = token.ToArray();
        _serverChallenge = options.Random(ChallengeMessage.ChallengeSize);
        AvPairs info = new();
        info.Set(AvId.DomainName, options.DomainName);
        info.Set(AvId.ComputerName, options.ComputerName);
        info.Set(AvId.Timestamp, options.Clock.GetUtcNow());
        _offered = (flags & NtlmFlags.Supported) | NtlmFlags.TargetInfo | NtlmFlags.TargetTypeServer;
        _challenge = new ChallengeMessage(_offered, _serverChallenge, options.ComputerName, info).ToBytes();
        return _challenge;
    }

    private void Verify(ReadOnlySpan<byte> token)
    {
        AuthenticateMessage message =
            AuthenticateMessage.Read(token)
                ?? throw SecurityErrors.Malformed(Name, "the AUTHENTICATE message");
        Require(message.Flags);
        NtlmV2Response response = ReadResponse(message);

        NtlmAccount? account = accounts.Find(message.User, message.Domain);
        byte[] responseKey = NtlmCrypto.ResponseKey(
            account is null ? accounts.HashOfNobody : account.NtHash, message.User, message.Domain);
        byte[] proof = NtlmCrypto.Proof(responseKey, _serverChallenge, response.Blob);

        // An unknown user and a wrong password take the same path, so a client cannot distinguish them.
        bool proved = CryptographicOperations.FixedTimeEquals(proof, response.Proof);
        if (account is null || !proved)
        {
            throw SecurityErrors.Refused(
                Name,
                $@"'{message.Domain}\{message.User}' is unknown to this server, or the password is wrong");
        }

        byte[] baseKey = NtlmCrypto.SessionBaseKey(responseKey, proof);
        CryptographicOperations.ZeroMemory(responseKey);
        NtlmFlags flags = message.Flags & _offered;
        byte[] sessionKey = SessionKey(message, flags, baseKey);
        CryptographicOperations.ZeroMemory(baseKey);
        VerifyMic(token, response, sessionKey);
        VerifyTime(response);
        VerifyBinding(response);
        _identity = new GenericIdentity(account.Name, Name);
        BeginSession(sessionKey, flags, isServer: true);
    }

    private static NtlmV2Response ReadResponse(AuthenticateMessage message)
    {
        if (message.Flags.HasFlag(NtlmFlags.Anonymous) || message.NtResponse.Length == 0)
        {
            throw SecurityErrors.Refused(Name, "the client sent no user name");
        }

        if (message.NtResponse.Length == NtlmV2Response.NtlmV1Size)
        {
            throw SecurityErrors.Refused(
                Name,
                "the client uses LM or NTLM version 1, which are not secure. "
                + "Configure it for NTLM version 2");
        }

        return NtlmV2Response.Read(message.NtResponse)
            ?? throw SecurityErrors.Malformed(Name, "the response");
    }

    private static byte[] SessionKey(AuthenticateMessage message, NtlmFlags flags, byte[] baseKey)
    {
        if (!flags.HasFlag(NtlmFlags.KeyExchange))
        {
            return [.. baseKey];
        }

        if (message.EncryptedSessionKey.Length != NtlmCrypto.KeySize)
        {
            throw SecurityErrors.Malformed(Name, "the session key");
        }

        byte[] key = new byte[NtlmCrypto.KeySize];
        Rc4.Transform(baseKey, message.EncryptedSessionKey, key);
        return key;
    }

    // The signed part of the response contains the flag of the code, so an attacker cannot remove the code.
    private void VerifyMic(ReadOnlySpan<byte> token, NtlmV2Response response, byte[] sessionKey)
    {
        if ((response.Pairs.Flags & AvPairs.HasMic) == 0)
        {
            return;
        }

        const int End = AuthenticateMessage.MicOffset + AuthenticateMessage.MicSize;
        if (token.Length < End)
        {
            throw SecurityErrors.Malformed(Name, "the integrity code");
        }

        byte[] withoutMic = token.ToArray();
        Span<byte> place = withoutMic.AsSpan(AuthenticateMessage.MicOffset, AuthenticateMessage.MicSize);
        place.Clear();
        byte[] expected = NtlmCrypto.MessageIntegrityCode(sessionKey, _negotiate, _challenge, withoutMic);
        if (!CryptographicOperations.FixedTimeEquals(expected, token[AuthenticateMessage.MicOffset..End]))
        {
            throw SecurityErrors.Refused(Name, "the authentication messages were changed in transit");
        }
    }

    private void VerifyTime(NtlmV2Response response)
    {
        DateTimeOffset now = options.Clock.GetUtcNow();
        if ((now - response.Time).Duration() > options.MaxSkew)
        {
            throw SecurityErrors.Refused(
                Name, $"the client's clock is at {response.Time:u}, the server's at {now:u}. Set the clocks");
        }
    }

    // A missing hash, or one of zeros, means that the client does not support channel bindings, or that a
    // proxy ends its TLS connection. The response is signed, so an attacker cannot remove the hash.
    private void VerifyBinding(NtlmV2Response response)
    {
        if (options.ChannelBinding is { } binding
            && response.Pairs.Find(AvId.ChannelBindings) is { } sent
            && sent.AsSpan().ContainsAnyExcept((byte)0)
            && !CryptographicOperations.FixedTimeEquals(binding, sent))
        {
            throw SecurityErrors.Refused(
                Name, "the client authenticated for another TLS connection than this one");
        }
    }

    private static void Require(NtlmFlags flags)
    {
        if (!flags.HasFlag(NtlmFlags.Required))
        {
            throw SecurityErrors.Refused(
                Name,
                "the client does not offer NTLMv2 session security with 128-bit keys, "
                + "and weaker security is not supported");
        }
    }
}

/// <summary>The data that an NTLM server sends and requires, and its sources of time and random
/// numbers.</summary>
internal sealed record NtlmServerOptions
{
    /// <summary>The longest NetBIOS name.</summary>
    private const int MaxNetBiosName = 15;

    /// <summary>The server's NetBIOS name.</summary>
    public string ComputerName { get; init; } = NetBiosName(Environment.MachineName);

    /// <summary>The domain of its accounts; a stand-alone server is its own domain.</summary>
    public string DomainName { get; init; } = NetBiosName(Environment.MachineName);

    /// <summary>The channel binding hash of the TLS connection, or null. A client that sends a hash must send
    /// the same one.</summary>
    public byte[]? ChannelBinding { get; init; }

    /// <summary>The maximum difference between a client's time and this clock: 36 hours, as on Windows,
    /// because clients outside a domain set their own clocks. A replay is prevented because each challenge is
    /// used once.</summary>
    public TimeSpan MaxSkew { get; init; } = TimeSpan.FromHours(36);

    public TimeProvider Clock { get; init; } = TimeProvider.System;

    /// <summary>Returns random octets.</summary>
    public Func<int, byte[]> Random { get; init; } = RandomNumberGenerator.GetBytes;

    private static string NetBiosName(string host)
    {
        string name = host.Split('.')[0].ToUpperInvariant();
        return name.Length > MaxNetBiosName ? name[..MaxNetBiosName] : name;
    }
}

/// <summary>The accounts of a server by name; never changed, so any number of threads may look.</summary>
internal sealed class NtlmAccountTable(IEnumerable<NtlmAccount> accounts)
{
    private readonly ILookup<string, NtlmAccount> _byUser =
        accounts.ToLookup(account => account.User, StringComparer.OrdinalIgnoreCase);

    /// <summary>A hash of no account.</summary>
    public byte[] HashOfNobody { get; } = RandomNumberGenerator.GetBytes(NtlmCrypto.KeySize);

    /// <summary>The account of that domain, else one without domain, else null.</summary>
    public NtlmAccount? Find(string user, string domain)
    {
        NtlmAccount? bare = null;
        foreach (NtlmAccount account in _byUser[user])
        {
            if (account.Domain.Length == 0)
            {
                bare = account;
            }
            else if (account.Domain.Equals(domain, StringComparison.OrdinalIgnoreCase))
            {
                return account;
            }
        }

        return bare;
    }
}
