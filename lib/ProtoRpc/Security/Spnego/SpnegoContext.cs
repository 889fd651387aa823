using System.Security.Principal;
using ProtoRpc.Security.Ntlm;

namespace ProtoRpc.Security.Spnego;

/// <summary>The common part of client and server: the negotiated mechanism authenticates and
/// protects.</summary>
internal abstract class SpnegoContext : SecurityContext
{
    /// <summary>The name of the mechanism.</summary>
    public const string Name = "Negotiate";

    /// <summary>The client's list of mechanisms, as it was encoded.</summary>
    protected ReadOnlyMemory<byte> MechanismList { get; set; }

    /// <summary>The negotiated mechanism; null before it is chosen.</summary>
    protected SecurityContext? Inner { get; set; }

    public override string AuthenticationType => Inner?.AuthenticationType ?? Name;

    public override IIdentity Identity => Chosen.Identity;

    public override bool Supports(RpcProtectionLevel level) => Inner?.Supports(level) ?? false;

    public override int SignatureSize(bool encrypted) => Chosen.SignatureSize(encrypted);

    public override void Protect(Span<byte> pdu, Range data, bool encrypt, Span<byte> signature)
    {
        Chosen.SignsHeaders = SignsHeaders;
        Chosen.Protect(pdu, data, encrypt, signature);
    }

    public override bool Unprotect(Span<byte> pdu, Range data, bool encrypted, ReadOnlySpan<byte> signature)
    {
        Chosen.SignsHeaders = SignsHeaders;
        return Chosen.Unprotect(pdu, data, encrypted, signature);
    }

    public override byte[] SignNegotiation(ReadOnlySpan<byte> mechanisms) =>
        Chosen.SignNegotiation(mechanisms);

    public override bool VerifyNegotiation(ReadOnlySpan<byte> mechanisms, ReadOnlySpan<byte> code) =>
        Chosen.VerifyNegotiation(mechanisms, code);

    public override void Dispose() => Inner?.Dispose();

    /// <summary>Checks the other side's code over the list.</summary>
    protected void VerifyList(byte[] code)
    {
        if (!Chosen.IsComplete || !Chosen.VerifyNegotiation(MechanismList.Span, code))
        {
            throw SecurityErrors.Refused(Name, "the list of mechanisms was changed in transit");
        }
    }

    private SecurityContext Chosen =>
        Inner ?? throw new InvalidOperationException("No mechanism has been selected yet.");
}

/// <summary>The client's side: offers mechanisms, with the first token of the best.</summary>
internal sealed class SpnegoClientContext(IReadOnlyList<SpnegoMechanism> mechanisms) : SpnegoContext
{
    private SpnegoMechanism[]? _offered;
    private bool _isMicRequired;
    private bool _isMicSent;
    private bool _isComplete;

    public override bool IsComplete => _isComplete;

    public override byte[] Step(ReadOnlySpan<byte> token)
    {
        if (_isComplete)
        {
            throw SecurityErrors.OutOfTurn(Name);
        }

        return _offered is null ? Offer() : Continue(token);
    }

    // A mechanism that cannot begin, such as Kerberos without a ticket, is not offered.
    private byte[] Offer()
    {
        RpcException? last = null;
        for (int i = 0; i < mechanisms.Count; i++)
        {
            SecurityContext? inner = null;
            try
            {
                inner = mechanisms[i].Create();
                byte[] first = inner.Step(default);
                Inner = inner;
                _offered = [.. mechanisms.Skip(i)];
                MechanismList = NegTokenInit.EncodeMechanisms(_offered.Select(m => m.Oid));
                return new NegTokenInit([], MechanismList, first).ToBytes();
            }
            catch (RpcException e)
            {
                inner?.Dispose();
                last = e;
            }
        }

        throw last ?? SecurityErrors.Refused(Name, "no mechanism is available to offer");
    }

    private byte[] Continue(ReadOnlySpan<byte> token)
    {
        NegTokenResponse answer =
            NegTokenResponse.Read(token.ToArray()) ?? throw SecurityErrors.Malformed(Name, "the response");
        if (answer.State == SpnegoState.Reject)
        {
            throw SecurityErrors.Refused(Name, "the server rejects all of "
                + string.Join(
                    ", ", _offered!.Select(m => m.Oid == SpnegoOid.Ntlm ? NtlmContext.Name : m.Oid)));
        }

        byte[]? next = answer.Mechanism is { } chosen && !SpnegoOid.Same(chosen, _offered![0].Oid)
            ? Switch(chosen, answer)
            : Advance(answer);
        _isMicRequired |= answer.State == SpnegoState.RequestMic;
        return answer.State == SpnegoState.AcceptCompleted ? Finish(answer, next) : Reply(next);
    }

    // The server does not support the first mechanism, so the client begins with the chosen one. A signature
    // over the list is then required, because an attacker could have removed the first mechanism.
    private byte[] Switch(string chosen, NegTokenResponse answer)
    {
        SpnegoMechanism other = Array.Find(_offered!, m => SpnegoOid.Same(m.Oid, chosen))
            ?? throw SecurityErrors.Refused(
                Name, $"the server chose mechanism {chosen}, which was not offered");
        if (_isMicRequired || answer.Token is not null)
        {
            throw SecurityErrors.Malformed(Name, "the choice");
        }

        _isMicRequired = true;
        Inner!.Dispose();
        Inner = other.Create();
        return Inner.Step(default);
    }

    private byte[]? Advance(NegTokenResponse answer) =>
        answer.Token is { Length: > 0 } token ? Inner!.Step(token) : null;

    private byte[] Finish(NegTokenResponse answer, byte[]? next)
    {
        if (!Inner!.IsComplete || next is { Length: > 0 })
        {
            throw SecurityErrors.Refused(Name, "the server ended the negotiation before it was complete");
        }

        if (answer.MechanismListMic is { } mic)
        {
            VerifyList(mic);
        }
        else if (_isMicRequired)
        {
            throw SecurityErrors.Refused(
                Name, "the server sent no proof that the list of mechanisms is unchanged");
        }

        _isComplete = true;
        return [];
    }

    private byte[] Reply(byte[]? next)
    {
        // NTLM always sends the signature of the list, Kerberos only if it is required.
        byte[]? mic = null;
        if (Inner!.IsComplete && !_isMicSent && (_isMicRequired || Inner is NtlmContext))
        {
            _isMicSent = true;
            mic = Inner.SignNegotiation(MechanismList.Span);
        }

        if (next is null && mic is null)
        {
            throw SecurityErrors.Refused(
                    Name, "the server requests another token, but the authentication is complete");
        }

        return new NegTokenResponse { Token = next, MechanismListMic = mic }.ToBytes();
    }
}

/// <summary>The server's side: chooses the first mechanism of the client's list that it supports, or NTLM for
/// a client without a list.</summary>
internal sealed class SpnegoServerContext(IReadOnlyList<SpnegoMechanism> mechanisms) : SpnegoContext
{
    private bool _isMicRequired;
    private bool _isComplete;
    private bool _isBare;

    public override bool IsComplete => _isComplete;

    public override byte[] Step(ReadOnlySpan<byte> token)
    {
        if (_isComplete)
        {
            throw SecurityErrors.OutOfTurn(Name);
        }

        if (Inner is null && token.StartsWith(NtlmSignature))
        {
            Inner = FindNtlm().Create();
            _isBare = true;
        }

        if (_isBare)
        {
            byte[] answer = Inner!.Step(token);
            _isComplete = Inner.IsComplete;
            return answer;
        }

        return Inner is null ? Choose(token.ToArray()) : Continue(token.ToArray());
    }

    // The Negotiate package of Windows also accepts NTLM tokens without SPNEGO around them. Clients that only
    // support NTLM, such as Wine's, send them.
    private static ReadOnlySpan<byte> NtlmSignature => "NTLMSSP\0"u8;

    private SpnegoMechanism FindNtlm() =>
        mechanisms.FirstOrDefault(m => SpnegoOid.Same(m.Oid, SpnegoOid.Ntlm))
        ?? throw SecurityErrors.Refused(
                Name, "the client authenticates with NTLM, which this listener does not accept");

    private byte[] Choose(byte[] token)
    {
        NegTokenInit init = NegTokenInit.Read(token)
            ?? throw SecurityErrors.Malformed(Name, "the first token");
        (SpnegoMechanism mechanism, int index) = Find(init.Mechanisms);
        MechanismList = init.MechanismList;
        Inner = mechanism.Create();
        _isMicRequired = index > 0;

        // The first token belongs to the client's preferred mechanism.
        byte[]? next = index == 0 && init.Token is { } first ? Inner.Step(first.Span) : null;
        _isComplete = Inner.IsComplete && !_isMicRequired;
        return new NegTokenResponse
        {
            State = _isComplete ? SpnegoState.AcceptCompleted
                : _isMicRequired ? SpnegoState.RequestMic : SpnegoState.AcceptIncomplete,
            Mechanism = init.Mechanisms[index],
            Token = next is { Length: > 0 } ? next : null,
        }.ToBytes();
    }

    private byte[] Continue(byte[] token)
    {
        NegTokenResponse answer = NegTokenResponse.Read(token)
            ?? throw SecurityErrors.Malformed(Name, "the token");
        byte[]? next = answer.Token is { Length: > 0 } inner ? Inner!.Step(inner) : null;
        if (!Inner!.IsComplete)
        {
            return next is { Length: > 0 }
                ? new NegTokenResponse { State = SpnegoState.AcceptIncomplete, Token = next }.ToBytes()
                : throw SecurityErrors.Malformed(Name, "the token");
        }

        byte[]? mic = null;
        if (answer.MechanismListMic is { } code)
        {
            VerifyList(code);
            mic = Inner.SignNegotiation(MechanismList.Span);
        }
        else if (_isMicRequired)
        {
            throw SecurityErrors.Refused(
                Name, "the client sent no proof that its list of mechanisms is unchanged");
        }

        _isComplete = true;
        return new NegTokenResponse
        {
            State = SpnegoState.AcceptCompleted,
            Token = next is { Length: > 0 } ? next : null,
            MechanismListMic = mic,
        }.ToBytes();
    }

    private (SpnegoMechanism Mechanism, int Index) Find(IReadOnlyList<string> offered)
    {
        for (int i = 0; i < offered.Count; i++)
        {
            if (mechanisms.FirstOrDefault(m => SpnegoOid.Same(m.Oid, offered[i])) is { } known)
            {
                return (known, i);
            }
        }

        throw SecurityErrors.Refused(Name, "the client offers no supported mechanism");
    }
}
