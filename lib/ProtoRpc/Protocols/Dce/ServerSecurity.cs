using System.Security.Cryptography;
using ProtoRpc.Security;

namespace ProtoRpc.Protocols.Dce;

/// <summary>Authenticates the client of one connection: processes the tokens of the bind, and decides which
/// interfaces the client can call.</summary>
/// <param name="policyOf">Returns the policy of an interface.</param>
/// <param name="readPeer">Reads the peer's identity from the transport.</param>
/// <param name="allowed">The accounts that may connect; null if the transport alone decides who can.</param>
internal sealed class ServerSecurity(
    Func<Guid, SecurityPolicy> policyOf, Func<PeerIdentity> readPeer, AllowedAccounts? allowed = null)
    : IDisposable
{
    // Authentication usually needs two or three tokens.
    private const int MaxLegs = 10;

    private SecurityContext? _context;
    private SecurityPolicy? _policy;
    private AuthTrailer _trailer;
    private PeerIdentity? _peer;
    private PeerIdentity? _unproved;
    private byte[] _token = [];
    private int _legs;
    private bool _hasFailed;
    private bool _clientSignsHeaders;

    /// <summary>No authentication: all callers are anonymous and may call everything.</summary>
    public static ServerSecurity Open =>
        new(static _ => SecurityPolicy.Open, static () => PeerIdentity.Anonymous(""));

    /// <summary>Whether an authentication has begun and is incomplete or failed.</summary>
    public bool IsPending => _context is { IsComplete: false } || _hasFailed;

    /// <summary>Whether an authentication succeeded.</summary>
    public bool IsAuthenticated => _context is { IsComplete: true } && !_hasFailed;

    /// <summary>Protects the calls after authentication, if the level requires it.</summary>
    public PduProtection? Protection { get; private set; }

    /// <summary>Why the authentication failed.</summary>
    public RpcException? Failure { get; private set; }

    /// <summary>The caller.</summary>
    public PeerIdentity Peer => _peer ??= ReadPeer();

    /// <summary>The caller's identity for an interface. An interface with other accounts did not accept the
    /// authentication, so the caller is anonymous to it.</summary>
    public PeerIdentity PeerOf(Guid interfaceId) =>
        !IsAuthenticated || IsAuthenticatedFor(policyOf(interfaceId)) ? Peer : _unproved ??= readPeer();

    /// <summary>Whether the account of the peer may connect.</summary>
    public bool AdmitsPeer() => allowed is null || allowed.Admit(readPeer());

    /// <summary>Processes the first token, which is in the bind.</summary>
    /// <param name="header">The bind's header.</param>
    /// <param name="pdu">The bind.</param>
    /// <param name="interfaces">The interfaces that it proposes and that are served.</param>
    /// <returns>Null when the bind may be accepted.</returns>
    public BindNakReason? Begin(in PduHeader header, ReadOnlySpan<byte> pdu, IEnumerable<Guid> interfaces)
    {
        if (!AuthTrailer.TryRead(header, pdu, PduHeader.Size, out AuthTrailer trailer)
            || !Enum.IsDefined((RpcProtectionLevel)AsLevel(trailer.Level))
            || trailer.Level <= (byte)RpcProtectionLevel.None)
        {
            return BindNakReason.Unspecified;
        }

        _trailer = trailer with { PadLength = 0 };
        _clientSignsHeaders = header.Flags.HasFlag(PduFlags.HeaderSigning);
        try
        {
            foreach (SecurityPolicy policy in interfaces.Select(policyOf))
            {
                if (policy.TryBegin(trailer.Type) is { } context)
                {
                    _policy = policy;
                    _context = context;
                    return TryStep(header, pdu) ? null : BindNakReason.InvalidChecksum;
                }
            }
        }
        catch (RpcException e)
        {
            Fail(e);
        }

        return BindNakReason.AuthenticationType;
    }

    /// <summary>Processes a further token, in an alter_context or auth3.</summary>
    /// <returns>False when the authentication failed.</returns>
    public bool Continue(in PduHeader header, ReadOnlySpan<byte> pdu)
    {
        if (!IsPending || _hasFailed || ++_legs >= MaxLegs
            || !AuthTrailer.TryRead(header, pdu, PduHeader.Size, out AuthTrailer trailer)
            || trailer with { PadLength = 0 } != _trailer)
        {
            _hasFailed = true;
            return false;
        }

        return TryStep(header, pdu);
    }

    /// <summary>Adds the server's token, if there is one, to the reply to a bind or alter_context.</summary>
    public byte[] Complete(byte[] answer)
    {
        if (_context is null)
        {
            return answer;
        }

        if (_clientSignsHeaders)
        {
            PduHeader header = PduHeader.Read(answer);
            PduHeader.Write(
                answer, header.Type, header.Flags | PduFlags.HeaderSigning, answer.Length, 0, header.CallId);
        }

        byte[] token = _token;
        _token = [];
        return token.Length == 0 ? answer : AuthTrailer.Append(answer, _trailer, token);
    }

    /// <summary>Removes the protection of a call's fragment, if it has the protection that was
    /// negotiated.</summary>
    public bool TryUnprotect(in PduHeader header, Span<byte> pdu, PduProtection? protection) =>
        !IsPending

        // Some clients add a trailer at level connect, whose calls are not protected, so it is ignored.
        && ((IsAuthenticated && protection is null) || CallPdu.TryUnprotect(header, pdu, protection));

    /// <summary>Whether the peer can call an interface.</summary>
    /// <returns>0, or the status of the fault.</returns>
    public uint Judge(Guid interfaceId)
    {
        SecurityPolicy policy = policyOf(interfaceId);
        if (IsAuthenticatedFor(policy))
        {
            return AsLevel(_trailer.Level) < (int)policy.Security.MinimumLevel
                ? FaultStatus.UnsupportedLevel
                : 0;
        }

        if (policy.AllowsAnonymous)
        {
            return 0;
        }

        // An authentication is only valid for interfaces with the same accounts; for others, the caller is
        // anonymous. The identity that the system reports for a local caller is valid for all.
        PeerIdentity peer = PeerOf(interfaceId);
        return !peer.User.IsAuthenticated ? FaultStatus.AccessDenied
            : peer.ProtectionLevel < policy.Security.MinimumLevel ? FaultStatus.UnsupportedLevel : 0;
    }

    /// <summary>Whether the verification trailer of a request agrees with the request.</summary>
    public bool Verifies(
        ReadOnlySpan<byte> afterArguments, int offset, FragmentAssembler request, Guid interfaceId) =>
        VerificationTrailer.Agrees(afterArguments, offset, request, interfaceId, _clientSignsHeaders);

    public void Dispose() => _context?.Dispose();

    // On a connection, level 3 (call) is the same as level 4 (packet).
    private static int AsLevel(byte level) => level == 3 ? (int)RpcProtectionLevel.Packet : level;

    private bool IsAuthenticatedFor(SecurityPolicy policy) =>
        IsAuthenticated && ReferenceEquals(policy.Security, _policy!.Security);

    private bool TryStep(in PduHeader header, ReadOnlySpan<byte> pdu)
    {
        try
        {
            _token = _context!.Step(pdu[^header.AuthLength..]);
            if (_context.IsComplete)
            {
                Establish();
            }

            return true;
        }
        catch (RpcException e)
        {
            return Fail(e);
        }
        catch (CryptographicException e)
        {
            // For example on a system in FIPS mode, where NTLM's MD5 is not available.
            return Fail(SecurityErrors.Refused(SecurityPackage.NameOf(_trailer.Type), e.Message, e));
        }
    }

    private void Establish()
    {
        RpcProtectionLevel level = (RpcProtectionLevel)AsLevel(_trailer.Level);
        if (!_context!.Supports(level))
        {
            throw SecurityErrors.Refused(
                _context.AuthenticationType,
                $"the negotiated security does not support protection level {level}");
        }

        _context.SignsHeaders = _clientSignsHeaders;
        Protection = ContextProtection.Create(_context, _trailer);

        // Read immediately: if the system does not identify the caller, the authentication has failed.
        _peer = ReadPeer();
    }

    private bool Fail(RpcException failure)
    {
        Failure = failure;
        _hasFailed = true;
        return false;
    }

    private PeerIdentity ReadPeer()
    {
        PeerIdentity peer = readPeer();
        return IsAuthenticated
            ? peer with
            {
                User = _context!.Identity,
                ProtectionLevel = (RpcProtectionLevel)AsLevel(_trailer.Level)
            }
            : peer;
    }
}
