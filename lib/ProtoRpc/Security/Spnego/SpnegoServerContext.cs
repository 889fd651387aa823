namespace ProtoRpc.Security.Spnego;

/// <summary>The server's side: takes the first mechanism of the client's list that it knows,
/// or NTLM without a list.
/// </summary>
internal sealed class SpnegoServerContext(IReadOnlyList<SpnegoMechanism> mechanisms) : SpnegoContext
{
    private bool _isMicRequired;
    private bool _isComplete;
    private bool _isBare;

    /// <inheritdoc/>
    public override bool IsComplete => _isComplete;

    /// <inheritdoc/>
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

    // The Negotiate package of Windows also takes NTLM tokens without SPNEGO around them, and clients that
    // have NTLM alone, such as Wine's, send them like that.
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

        // The token that came is of the client's best mechanism.
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
