using System.Security.Cryptography;

namespace ProtoRpc.Protocols.Dce;

/// <summary>The server's side of one connection: received bytes in;
/// output, calls and the wish to close out.</summary>
/// <remarks>Knows no socket and no clock. Never throws because of what a peer sent.
/// Not thread-safe.</remarks>
/// <param name="limits">The bounds.</param>
/// <param name="secondaryAddress">The endpoint as bind_ack names it: a port, or a pipe.</param>
/// <param name="isServed">Whether an interface, version 1.0, is served here.</param>
/// <param name="memory">Where requests count; null for nowhere.</param>
internal sealed class ServerAssociation(
    RpcLimits limits, string secondaryAddress, Func<Guid, bool> isServed, RequestMemory? memory = null)
    : IDisposable
{
    private const int Prefix = PduHeader.CallSize + ExecStub.ResponsePrefix;

    private readonly RpcLimits _limits = limits;
    private readonly string _secondaryAddress = secondaryAddress;
    private readonly PduBuffer _input = new();
    private readonly FragmentAssembler _assembler = new(
        (int)Math.Min(Array.MaxLength, limits.MaxMessageBytes + (long)ExecStub.RequestPrefix),
        limits.MaxFragments,
        memory);
    private readonly FragmentWriter _writer = new();
    private readonly ContextTable _contexts = new(limits.MaxContexts, isServed);
    private int _maxTransmit = PduHeader.MustReceiveFragment;
    private int _maxReceive = PduHeader.MustReceiveFragment;
    private uint _group;
    private Guid[] _proposed = [];
    private bool _closing;

    /// <summary>Rejects every bind with this reason.</summary>
    public BindNakReason? RefuseBind { get; init; }

    /// <summary>Who the client is, and what he may call.</summary>
    public ServerSecurity Security { get; init; } = ServerSecurity.Open;

    /// <summary>Signs or seals the calls, once a security package agreed with the client;
    /// null for none.</summary>
    public PduProtection? Protection
    {
        get => _writer.Protection;
        set
        {
            _writer.Protection = value;
            _assembler.Slack = value is null ? 0 : VerificationTrailer.MaxSize;
        }
    }

    /// <summary>Where the request counts; null for nowhere.</summary>
    public RequestMemory.Share? Memory => _assembler.Memory;

    /// <summary>Whether a bind was accepted.</summary>
    public bool IsBound { get; private set; }

    /// <summary>Whether the client may take its time: it is bound,
    /// and the authentication that it began is over.</summary>
    public bool IsEstablished => IsBound && !Security.IsPending;

    /// <summary>Whether to wait for the end of the peer's data after closing. A peer that is still sending
    /// would otherwise lose the answer.</summary>
    public bool LingersOnClose { get; private set; }

    /// <summary>The call's interface, after <see cref="ServerStep.Call"/>.</summary>
    public Guid Interface { get; private set; }

    /// <summary>The call's id.</summary>
    public uint CallId => _assembler.CallId;

    /// <summary>The call's payload; valid until the next <see cref="GetFreeMemory"/>.</summary>
    public ReadOnlyMemory<byte> Request { get; private set; }

    /// <summary>Where the reply's payload is written.</summary>
    public PooledMessageBytes Reply { get; } = new(
        limits.MaxMessageBytes, "reply", Prefix, ExecStub.ResponseSuffix);

    /// <summary>Where the next bytes are received.</summary>
    public Memory<byte> GetFreeMemory() => _input.GetFreeMemory(_assembler.InProgress);

    /// <summary>Adds received bytes.</summary>
    public void Advance(int count) => _input.Advance(count);

    /// <summary>Works on what was received until something is wanted from outside.</summary>
    public ServerStep Step()
    {
        while (!_closing)
        {
            ReadOnlySpan<byte> unread = _input.Unread;
            if (unread.Length < PduHeader.Size)
            {
                return ServerStep.Receive;
            }

            PduHeader header = PduHeader.Read(unread);
            PduDefect defect = header.Check(MaxFragmentOf(header.Type));
            if (defect != PduDefect.None)
            {
                return RefusePdu(header, defect);
            }

            if (unread.Length < header.FragmentLength)
            {
                return ServerStep.Receive;
            }

            ReceivedPdus++;
            Memory<byte> pdu = _input.Take(header.FragmentLength);
            Record(isSent: false, pdu.Span);
            ServerStep step = Handle(header, pdu);
            if (step != ServerStep.Receive)
            {
                return step;
            }
        }

        return ServerStep.Close;
    }

    /// <summary>Gives out the next bytes to send; they stay valid until the next call.</summary>
    /// <returns>False when everything was given out.</returns>
    public bool TryTakeOutput(out ReadOnlyMemory<byte> bytes)
    {
        bool isThere = _writer.TryNext(out bytes);
        Record(isSent: true, bytes.Span);
        return isThere;
    }

    /// <summary>Answers the call with what is in <see cref="Reply"/>.</summary>
    /// <param name="returnCode">0, or a code that goes without the reply's bytes.</param>
    public void CompleteCall(uint returnCode)
    {
        // A MAYBE request is run and never answered.
        if (_assembler.Flags.HasFlag(PduFlags.Maybe))
        {
            return;
        }

        int length = ExecStub.WriteResponse(Reply.Whole.Span[PduHeader.CallSize..], Reply.Length, returnCode);
        _writer.Begin(
            Reply.Whole[..(PduHeader.CallSize + length)],
            PduType.Response, CallId, _assembler.ContextId, _maxTransmit);
    }

    /// <summary>Answers the call with a fault.</summary>
    public void FaultCall(uint status, bool didNotExecute) =>
        _writer.Control = FaultPdu.ToBytes(status, CallId, _assembler.ContextId, didNotExecute);

    /// <summary>Forgets the call once its answer was sent, or when none is to be sent.</summary>
    public void EndCall()
    {
        Request = default;
        _assembler.Reset();
        _input.Trim();
        _writer.Release();
        Reply.Reset();
    }

    /// <summary>Asks the client to leave; the next step is to close.</summary>
    public void ShutDown()
    {
        _writer.Control = PduHeader.HeaderOnly(PduType.Shutdown, 0);
        _closing = true;
    }

    public void Dispose()
    {
        _input.Dispose();
        _assembler.Dispose();
        _writer.Dispose();
        Reply.Dispose();
        Security.Dispose();
    }

    // The PDUs of a bind may carry tokens that are larger than the fragments of calls.
    private int MaxFragmentOf(PduType type) => type is PduType.Bind or PduType.AlterContext or PduType.Auth3
        ? ushort.MaxValue
        : _limits.MaxFragmentBytes;

    private ServerStep Handle(in PduHeader header, Memory<byte> pdu)
    {
        switch (header.Type)
        {
            case PduType.Bind:
                return HandleBind(header, pdu.Span);
            case PduType.AlterContext when IsBound && !_assembler.InProgress:
                return HandleAlterContext(header, pdu.Span);
            case PduType.Auth3 when Security.IsPending:
                // There is no answer to it: a proof that failed shows with the first request.
                Security.Continue(header, pdu.Span);
                Protection = Security.Protection;
                return ServerStep.Receive;
            case PduType.Request when IsBound:
                return HandleRequest(header, pdu);
            case PduType.CoCancel when IsBound:
                // Of another call, it is over: its answer and the cancel crossed.
                _assembler.Cancel(header.CallId);
                return ServerStep.Receive;
            case PduType.Orphaned when IsBound:
                if (_assembler.InProgress && _assembler.CallId == header.CallId)
                {
                    _assembler.Reset();
                }

                return ServerStep.Receive;
            case PduType.Request or PduType.AlterContext:
                return CloseWithFault(header.CallId, FaultStatus.ProtocolError);
            default:
                return CloseWith([]);
        }
    }

    private ServerStep HandleBind(in PduHeader header, ReadOnlySpan<byte> pdu)
    {
        if (RefuseBind is BindNakReason reason)
        {
            return CloseWith(BindNakPdu.ToBytes(reason, header.CallId));
        }

        if (IsBound || BindPdu.Read(header, pdu) is not { } bind)
        {
            return CloseWith(BindNakPdu.ToBytes(BindNakReason.Unspecified, header.CallId));
        }

        Guid[] served = _proposed = _contexts.FindServed(bind);
        if (!Security.AdmitsPeer())
        {
            Refused?.Invoke(served, FaultStatus.AccessDenied, 0);
            return CloseWithFault(header.CallId, FaultStatus.AccessDenied);
        }

        if (header.AuthLength != 0 && served.Length > 0
            && Security.Begin(header, pdu, served) is BindNakReason denial)
        {
            Refused?.Invoke(served, FaultStatus.AccessDenied, 0);
            return CloseWith(BindNakPdu.ToBytes(denial, header.CallId));
        }

        IsBound = true;
        Protection = Security.Protection;
        int own = _limits.MaxFragmentBytes;
        _maxTransmit = Math.Max(PduHeader.MustReceiveFragment, Math.Min(own, (int)bind.MaxReceive));
        _maxReceive = Math.Max(PduHeader.MustReceiveFragment, Math.Min(own, (int)bind.MaxTransmit));

        // The group ties connections together for the client. This server does not use it, so any id is fine.
        _group = bind.AssociationGroup != 0
            ? bind.AssociationGroup
            : (uint)RandomNumberGenerator.GetInt32(1, int.MaxValue);
        return AnswerBind(bind, PduType.BindAck, header.CallId, _secondaryAddress);
    }

    private ServerStep HandleAlterContext(in PduHeader header, ReadOnlySpan<byte> pdu)
    {
        if (header.AuthLength != 0 && !Security.Continue(header, pdu))
        {
            return CloseWithFault(header.CallId, FaultStatus.AccessDenied);
        }

        if (BindPdu.Read(header, pdu) is not { } alter)
        {
            return CloseWithFault(header.CallId, FaultStatus.ProtocolError);
        }

        Protection = Security.Protection;

        // Fragment sizes and group of an alter_context are ignored; the bind has negotiated both.
        return AnswerBind(alter, PduType.AlterContextResponse, header.CallId, secondaryAddress: "");
    }

    private ServerStep AnswerBind(BindPdu bind, PduType type, uint callId, string secondaryAddress)
    {
        BindAckPdu answer = new(
            (ushort)_maxTransmit, (ushort)_maxReceive, _group, secondaryAddress, _contexts.Decide(bind));
        _writer.Control = Security.Complete(answer.ToBytes(type, callId));
        return ServerStep.Send;
    }

    private ServerStep HandleRequest(in PduHeader header, Memory<byte> pdu)
    {
        if (!Security.TryUnprotect(header, pdu.Span, Protection))
        {
            Refused?.Invoke(_proposed, FaultStatus.AccessDenied, pdu.Length);
            return CloseWithFault(header.CallId, FaultStatus.AccessDenied);
        }

        if (!CallPdu.TryRead(header, pdu.Span, out CallPdu call))
        {
            return CloseWithFault(header.CallId, FaultStatus.ProtocolError);
        }

        // Who may not call gets no further than with the first fragment.
        // Without an interface nobody may, and nothing is kept for a caller who could be anybody.
        uint refusal = _contexts.TryFind(call.ContextId, out Guid called) ? Security.Judge(called)
            : header.Flags.HasFlag(PduFlags.Last) ? 0
            : FaultStatus.InvalidContext;
        if (refusal != 0)
        {
            return RefuseRequest(header, called, refusal, pdu);
        }

        AssemblyState state = _assembler.Add(header, call, pdu);
        return state switch
        {
            AssemblyState.Incomplete => ServerStep.Receive,
            AssemblyState.Complete => BeginCall(),
            AssemblyState.TooLarge => RefuseRequest(header, called, FaultStatus.RequestTooLarge, pdu),
            AssemblyState.NoMemory => RefuseRequest(header, called, FaultStatus.TooBusy, pdu),
            _ => CloseWithFault(header.CallId, FaultStatus.ProtocolError),
        };
    }

    private ServerStep RefuseRequest(in PduHeader header, Guid called, uint status, Memory<byte> pdu)
    {
        Refused?.Invoke([called], status, pdu.Length);
        return CloseWithFault(header.CallId, status);
    }

    private ServerStep BeginCall()
    {
        if (!_contexts.TryFind(_assembler.ContextId, out Guid called))
        {
            return RefuseCall(FaultStatus.InvalidContext);
        }

        if (_assembler.Operation != 0)
        {
            return RefuseCall(FaultStatus.OperationRange);
        }

        if (!ExecStub.TryReadRequest(
            _assembler.Stub, _assembler.LittleEndian,
            allowTrailing: Protection is not null, out ReadOnlyMemory<byte> payload))
        {
            return RefuseCall(FaultStatus.BadStubData);
        }

        if (payload.Length > _limits.MaxMessageBytes)
        {
            return RefuseCall(FaultStatus.TooBusy);
        }

        Interface = called;
        int end = ExecStub.RequestPrefix + payload.Length;
        if (!Security.Verifies(_assembler.Stub.Span[end..], end, _assembler, Interface))
        {
            return RefuseCall(FaultStatus.AccessDenied);
        }

        Request = payload;
        return ServerStep.Call;
    }

    private ServerStep RefuseCall(uint status)
    {
        Refused?.Invoke(
            _contexts.TryFind(_assembler.ContextId, out Guid called) ? [called] : [], status,
            _assembler.Stub.Length);
        FaultCall(status, didNotExecute: true);
        EndCall();
        return ServerStep.Send;
    }

    private ServerStep RefusePdu(in PduHeader header, PduDefect defect)
    {
        if (header.Type == PduType.Bind && defect is PduDefect.Version or PduDefect.Representation)
        {
            BindNakReason reason =
                defect == PduDefect.Version ? BindNakReason.ProtocolVersion : BindNakReason.Unspecified;
            return CloseWith(BindNakPdu.ToBytes(reason, header.CallId));
        }

        // Without a good version nothing in the header means anything, so nothing is said either.
        return IsBound && defect != PduDefect.Version
            ? CloseWithFault(header.CallId, FaultStatus.ProtocolError)
            : CloseWith([]);
    }

    private ServerStep CloseWithFault(uint callId, uint status) =>
        CloseWith(FaultPdu.ToBytes(status, callId, 0, didNotExecute: true));

    private ServerStep CloseWith(byte[] output)
    {
        _assembler.Reset();
        _writer.Control = output;
        _closing = true;
        LingersOnClose = output.Length > 0;
        return ServerStep.Close;
    }

    /// <summary>Receives calls and binds that are refused: the interfaces as far as they are known, the
    /// status of the fault (0x5 for a bind), and how many bytes of a request came. Null for none.</summary>
    public Action<IReadOnlyList<Guid>, uint, int>? Refused { get; init; }

    /// <summary>Receives the PDUs in both directions, with the listener's endpoint; null for none.</summary>
    public (RpcTrace To, RpcEndpoint Endpoint)? Trace { get; init; }

    /// <summary>Whether a PDU, or the fragments of a request, began to come and did not end.</summary>
    public bool IsMidMessage => _assembler.InProgress || _input.Unread.Length > 0;

    /// <summary>PDUs that came whole, so that the owner sees whether something moves.</summary>
    public long ReceivedPdus { get; private set; }

    /// <summary>Whether received bytes, looked at while a call runs, cancel it.</summary>
    /// <param name="bytes">Bytes from the beginning of a PDU on.</param>
    public CancelNotice FindCancel(ReadOnlySpan<byte> bytes) => CancelNotices.Find(bytes, CallId);

    /// <summary>Whether the call was cancelled before it began.</summary>
    public CancelNotice FindBufferedCancel()
    {
        CancelNotice notice = FindCancel(_input.Unread);
        return notice == CancelNotice.None && _assembler.Flags.HasFlag(PduFlags.PendingCancel)
            ? CancelNotice.Cancel
            : notice;
    }

    private void Record(bool isSent, ReadOnlySpan<byte> pdus)
    {
        if (Trace is var (to, endpoint) && to.IsEnabled)
        {
            PduTrace.Write(to, endpoint, isSent, pdus);
        }
    }
}

/// <summary>What a server association wants next.</summary>
internal enum ServerStep
{
    /// <summary>More bytes from the peer.</summary>
    Receive,

    /// <summary>Its output sent.</summary>
    Send,

    /// <summary>The call handled and answered.</summary>
    Call,

    /// <summary>Its output sent, then the connection closed.</summary>
    Close,
}

/// <summary>The presentation contexts that a server accepted on one association.</summary>
/// <param name="maxContexts">How many are accepted.</param>
/// <param name="isServed">Whether an interface, version 1.0, is served here.</param>
internal sealed class ContextTable(int maxContexts, Func<Guid, bool> isServed)
{
    // Calls may be orphaned here without closing the connection; one security context is enough for it.
    private const ushort KeepConnectionOnOrphan = 0x02;

    private readonly List<(ushort Id, Guid Interface)> _contexts = [];

    /// <summary>The interfaces that a bind proposes and that are served here.</summary>
    public Guid[] FindServed(BindPdu bind) =>
        [.. bind.Contexts.Select(context => context.Interface.Id).Where(isServed)];

    /// <summary>Decides on each proposed context, in order.</summary>
    public IReadOnlyList<ContextResult> Decide(BindPdu bind)
    {
        List<ContextResult> results = [];
        foreach (ContextProposal context in bind.Contexts)
        {
            results.Add(Decide(context));
        }

        return results;
    }

    /// <summary>The interface of an accepted context.</summary>
    public bool TryFind(ushort contextId, out Guid interfaceId)
    {
        foreach ((ushort id, Guid known) in _contexts)
        {
            if (id == contextId)
            {
                interfaceId = known;
                return true;
            }
        }

        interfaceId = default;
        return false;
    }

    private ContextResult Decide(ContextProposal context)
    {
        if (context.Transfers is [SyntaxId only] && only.IsFeatureNegotiation(out ushort features))
        {
            return ContextResult.Features((ushort)(features & KeepConnectionOnOrphan));
        }

        Guid interfaceId = context.Interface.Id;
        if (context.Interface != SyntaxId.Interface(interfaceId) || !isServed(interfaceId))
        {
            return ContextResult.Refused(ContextResult.InterfaceNotSupported);
        }

        if (!context.Transfers.Contains(SyntaxId.Ndr))
        {
            return ContextResult.Refused(ContextResult.TransferNotSupported);
        }

        // Binds are not signed: a call for one interface must not run on another because a server in between
        // proposed its context again.
        if (TryFind(context.Id, out Guid known))
        {
            return known == interfaceId
                ? ContextResult.Accepted
                : ContextResult.Refused(ContextResult.NotSpecified);
        }

        if (_contexts.Count >= maxContexts)
        {
            return ContextResult.Refused(ContextResult.LocalLimit);
        }

        _contexts.Add((context.Id, interfaceId));
        return ContextResult.Accepted;
    }
}
