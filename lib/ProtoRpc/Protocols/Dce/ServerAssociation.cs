using System.Security.Cryptography;

namespace ProtoRpc.Protocols.Dce;

/// <summary>The server's side of one connection: it processes received bytes, and returns output, calls, and
/// requests to close.</summary>
/// <remarks>Contains no socket and no clock. Never throws for bytes that a peer sent. Not
/// thread-safe.</remarks>
/// <param name="limits">The limits.</param>
/// <param name="secondaryAddress">The name of the endpoint in bind_ack: a port or a pipe.</param>
/// <param name="isServed">Whether an interface, version 1.0, is served here.</param>
/// <param name="memory">Counts the memory of large requests; null for no count.</param>
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

    /// <summary>The client's identity, and which interfaces it can call.</summary>
    public ServerSecurity Security { get; init; } = ServerSecurity.Open;

    /// <summary>Signs or seals the calls after authentication; null for none.</summary>
    public PduProtection? Protection
    {
        get => _writer.Protection;
        set
        {
            _writer.Protection = value;
            _assembler.Slack = value is null ? 0 : VerificationTrailer.MaxSize;
        }
    }

    /// <summary>Counts the memory of the request; null for no count.</summary>
    public RequestMemory.Share? Memory => _assembler.Memory;

    /// <summary>Whether a bind was accepted.</summary>
    public bool IsBound { get; private set; }

    /// <summary>Whether the client may be idle: it is bound, and its authentication is complete.</summary>
    public bool IsEstablished => IsBound && !Security.IsPending;

    /// <summary>Whether to wait for the end of the peer's data after closing. A peer that is still sending
    /// would otherwise lose the reply.</summary>
    public bool LingersOnClose { get; private set; }

    /// <summary>The call's interface, after <see cref="ServerStep.Call"/>.</summary>
    public Guid Interface { get; private set; }

    /// <summary>The call's id.</summary>
    public uint CallId => _assembler.CallId;

    /// <summary>The call's payload; valid until the next <see cref="GetFreeMemory"/>.</summary>
    public ReadOnlyMemory<byte> Request { get; private set; }

    /// <summary>The memory for the reply's payload.</summary>
    public PooledMessageBytes Reply { get; } = new(
        limits.MaxMessageBytes, "reply", Prefix, ExecStub.ResponseSuffix);

    /// <summary>The memory for the next received bytes.</summary>
    public Memory<byte> GetFreeMemory() => _input.GetFreeMemory(_assembler.InProgress);

    /// <summary>Adds received bytes.</summary>
    public void Advance(int count) => _input.Advance(count);

    /// <summary>Processes received bytes until the caller has to act.</summary>
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

    /// <summary>Returns the next bytes to send; they stay valid until the next call.</summary>
    /// <returns>False if all bytes were returned.</returns>
    public bool TryTakeOutput(out ReadOnlyMemory<byte> bytes)
    {
        bool isThere = _writer.TryNext(out bytes);
        Record(isSent: true, bytes.Span);
        return isThere;
    }

    /// <summary>Sends the content of <see cref="Reply"/> as the reply.</summary>
    /// <param name="returnCode">0, or a code that replaces the reply's bytes.</param>
    public void CompleteCall(uint returnCode)
    {
        // C706: a request with the maybe flag has no reply.
        if (_assembler.Flags.HasFlag(PduFlags.Maybe))
        {
            return;
        }

        int length = ExecStub.WriteResponse(Reply.Whole.Span[PduHeader.CallSize..], Reply.Length, returnCode);
        _writer.Begin(
            Reply.Whole[..(PduHeader.CallSize + length)],
            PduType.Response, CallId, _assembler.ContextId, _maxTransmit);
    }

    /// <summary>Sends a fault instead of the reply.</summary>
    public void FaultCall(uint status, bool didNotExecute) =>
        _writer.Control = FaultPdu.ToBytes(status, CallId, _assembler.ContextId, didNotExecute);

    /// <summary>Releases the call after its reply was sent, or if it has none.</summary>
    public void EndCall()
    {
        Request = default;
        _assembler.Reset();
        _input.Trim();
        _writer.Release();
        Reply.Reset();
    }

    /// <summary>Asks the client to disconnect; the next step is to close.</summary>
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

    // The tokens in a bind may be larger than the fragments of calls.
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
                // The protocol has no reply to auth3: if authentication failed, the first request is
                // rejected.
                Security.Continue(header, pdu.Span);
                Protection = Security.Protection;
                return ServerStep.Receive;
            case PduType.Request when IsBound:
                return HandleRequest(header, pdu);
            case PduType.CoCancel when IsBound:
                // A cancellation of another call arrived after that call's reply was sent, so it is ignored.
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

        // Clients connect several connections by their group. This server does not use it, so any id is
        // valid.
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

        // The bind negotiated fragment sizes and group, so those of an alter_context are ignored.
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

        // A caller without access is rejected at the first fragment. The same applies to an unknown
        // interface, because the server stores no request for a caller that it cannot check.
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

        // Without a supported version the header cannot be understood, so the server closes without a reply.
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

    /// <summary>Receives rejected calls and binds: the interfaces as far as they are known, the status of the
    /// fault (0x5 for a bind), and the number of received request bytes. Null for none.</summary>
    public Action<IReadOnlyList<Guid>, uint, int>? Refused { get; init; }

    /// <summary>Receives the PDUs in both directions, with the listener's endpoint; null for none.</summary>
    public (RpcTrace To, RpcEndpoint Endpoint)? Trace { get; init; }

    /// <summary>Whether a PDU, or the fragments of a request, are incomplete.</summary>
    public bool IsMidMessage => _assembler.InProgress || _input.Unread.Length > 0;

    /// <summary>The number of complete PDUs, which shows whether the client makes progress.</summary>
    public long ReceivedPdus { get; private set; }

    /// <summary>Whether bytes that were received while a call runs cancel it.</summary>
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

/// <summary>The next action of a server association's owner.</summary>
internal enum ServerStep
{
    /// <summary>Receive more bytes.</summary>
    Receive,

    /// <summary>Send the output.</summary>
    Send,

    /// <summary>Run the call and complete it.</summary>
    Call,

    /// <summary>Send the output, then close the connection.</summary>
    Close,
}

/// <summary>The presentation contexts that a server accepted on one association.</summary>
/// <param name="maxContexts">How many are accepted.</param>
/// <param name="isServed">Whether an interface, version 1.0, is served here.</param>
internal sealed class ContextTable(int maxContexts, Func<Guid, bool> isServed)
{
    // This server keeps a connection if a call is orphaned. It supports only one security context per
    // connection.
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

        // Binds are not signed: an attacker in between could propose a context again with another interface,
        // to redirect a call.
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
