using ProtoRpc.Security.Ntlm;

namespace ProtoRpc.Security.Spnego;

/// <summary>The client's side: offers mechanisms, with the first token of the best.</summary>
internal sealed class SpnegoClientContext(IReadOnlyList<SpnegoMechanism> mechanisms) : SpnegoContext
{
    private SpnegoMechanism[]? _offered;
    private bool _isMicRequired;
    private bool _isMicSent;
    private bool _isComplete;

    /// <inheritdoc/>
    public override bool IsComplete => _isComplete;

    /// <inheritdoc/>
    public override byte[] Step(ReadOnlySpan<byte> token)
    {
        if (_isComplete)
        {
            throw SecurityErrors.OutOfTurn(Name);
        }

        return _offered is null ? Offer() : Continue(token);
    }

    // A mechanism that cannot even begin, as Kerberos without a ticket, is not offered.
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

    // The server cannot do the best one: the other begins, and from then on a code over the list is needed,
    // since somebody on the way could have taken the best one out.
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
        // NTLM's peers send the code always, those of Kerberos only when it is needed.
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
