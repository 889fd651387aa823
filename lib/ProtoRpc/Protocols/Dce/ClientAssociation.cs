namespace ProtoRpc.Protocols.Dce;

/// <summary>The client's side of one connection: one interface, one call at a time.</summary>
/// <remarks>Contains no socket and no clock. Not thread-safe.</remarks>
internal sealed class ClientAssociation : IDisposable
{
    /// <summary>Octets before the payload of a request.</summary>
    public const int RequestPrefix = PduHeader.CallSize + ExecStub.RequestPrefix;

    /// <summary>Octets of free space after the payload.</summary>
    public const int RequestSuffix = VerificationTrailer.MaxSize;

    private const ushort ContextId = 0;

    // Wine 8's rpcrt4 writes this call_id in every reply.
    private const uint ConstantCallId = 1;

    private readonly RpcEndpoint _endpoint;
    private readonly Guid _interfaceId;
    private readonly RpcLimits _limits;
    private readonly PduBuffer _input = new();
    private readonly FragmentAssembler _assembler;
    private readonly FragmentWriter _writer = new();
    private int _maxTransmit = PduHeader.MustReceiveFragment;
    private uint _bindId;
    private bool _wasAccepted;
    private bool _bound;
    private bool _wasAnswered;
    private bool _repeatsCallIds;
    private bool _hasConstantCallId;

    /// <param name="endpoint">The server, for errors.</param>
    /// <param name="interfaceId">The interface to bind.</param>
    /// <param name="limits">The limits.</param>
    public ClientAssociation(RpcEndpoint endpoint, Guid interfaceId, RpcLimits limits)
    {
        _endpoint = endpoint;
        _interfaceId = interfaceId;
        _limits = limits;
        long maxStub = limits.MaxMessageBytes + (long)ExecStub.ResponsePrefix + ExecStub.ResponseSuffix;
        _assembler = new FragmentAssembler((int)Math.Min(Array.MaxLength, maxStub), limits.MaxFragments);
    }

    /// <summary>The name of the service, for errors; null if it is unknown.</summary>
    public string? InterfaceName { get; init; }

    /// <summary>Receives tolerated violations of the protocol by the server; null to ignore them.</summary>
    public Action<string>? DebugLog { get; init; }

    /// <summary>Receives the PDUs in both directions; null for no trace.</summary>
    public RpcTrace? Trace { get; init; }

    /// <summary>Authenticates the client; null for anonymous calls.</summary>
    public ClientSecurity? Security { get; init; }

    /// <summary>Signs or seals the calls after authentication; null for none.</summary>
    public PduProtection? Protection
    {
        get => _writer.Protection;
        set => _writer.Protection = value;
    }

    /// <summary>The association group that the server returned in bind_ack.</summary>
    public uint AssociationGroup { get; private set; }

    /// <summary>The id of the last call.</summary>
    public uint CallId { get; private set; }

    /// <summary>Whether bytes of a reply were received and not used yet.</summary>
    public bool HasInput => _input.Unread.Length > 0 || _assembler.InProgress;

    /// <summary>The reply's payload, after <see cref="ClientStep.Reply"/>;
    /// valid until the next call begins.</summary>
    public ReadOnlyMemory<byte> Reply { get; private set; }

    /// <summary>The interface's return code, after <see cref="ClientStep.Reply"/>.</summary>
    public uint ReturnCode { get; private set; }

    /// <summary>The status, after <see cref="ClientStep.Fault"/>.</summary>
    public uint FaultStatus { get; private set; }

    /// <summary>Whether the server says that the faulted call did not run.</summary>
    public bool DidNotExecute { get; private set; }

    /// <summary>The memory for the next received bytes.</summary>
    public Memory<byte> GetFreeMemory() => _input.GetFreeMemory(_assembler.InProgress);

    /// <summary>Adds received bytes.</summary>
    public void Advance(int count) => _input.Advance(count);

    /// <summary>The bind that opens the association.</summary>
    /// <param name="group">0, or the group of the client's other connections.</param>
    public byte[] Bind(uint group)
    {
        _bindId = ++CallId;
        byte[] bind = Propose(PduType.Bind, group);
        bind = Security is null ? bind : Security.Begin(bind);
        PduTrace.Record(Trace, _endpoint, isSent: true, bind);
        return bind;
    }

    /// <summary>Begins a call; its bytes are then taken with <see cref="TryTakeOutput"/>.</summary>
    /// <param name="request">The payload, after a prefix of <see cref="RequestPrefix"/>, and before a suffix
    /// of <see cref="RequestSuffix"/>.</param>
    public void BeginCall(PooledMessageBytes request)
    {
        EndCall();
        CallId = CallId == uint.MaxValue ? 1 : CallId + 1;
        Span<byte> stub = request.Whole.Span[PduHeader.CallSize..];
        ExecStub.WriteRequestPrefix(stub, request.Length);
        int trailer = Protection is { Trailer.Level: >= (byte)RpcProtectionLevel.Integrity }
            ? VerificationTrailer.Write(
                stub, ExecStub.RequestPrefix + request.Length, CallId, ContextId, _interfaceId)
            : 0;
        _writer.Begin(
            request.Whole[..(RequestPrefix + request.Length + trailer)],
            PduType.Request, CallId, ContextId, _maxTransmit, trailer);
    }

    /// <summary>Returns the next bytes to send; they stay valid until the next call.</summary>
    /// <returns>False if all bytes were returned.</returns>
    public bool TryTakeOutput(out ReadOnlyMemory<byte> bytes)
    {
        if (!_writer.TryNext(out bytes))
        {
            return false;
        }

        PduTrace.Record(Trace, _endpoint, isSent: true, bytes.Span);
        return true;
    }

    /// <summary>Releases the reply.</summary>
    public void EndCall()
    {
        Reply = default;
        _writer.Release();
        _assembler.Reset();
        _input.Trim();
    }

    /// <summary>Processes received bytes until there is a result.</summary>
    /// <exception cref="RpcException">The bind was rejected, or the peer violated the protocol.</exception>
    public ClientStep Step()
    {
        while (true)
        {
            ReadOnlySpan<byte> unread = _input.Unread;
            if (unread.Length < PduHeader.Size)
            {
                return ClientStep.Receive;
            }

            PduHeader header = PduHeader.Read(unread);
            PduDefect defect = header.Check(_bound ? _limits.MaxFragmentBytes : ushort.MaxValue);
            if (defect != PduDefect.None)
            {
                throw Broken($"it sent an invalid PDU header ({defect})");
            }

            if (unread.Length < header.FragmentLength)
            {
                return ClientStep.Receive;
            }

            Memory<byte> pdu = _input.Take(header.FragmentLength);
            PduTrace.Record(Trace, _endpoint, isSent: false, pdu.Span);
            if (header.Type == PduType.Shutdown)
            {
                return ClientStep.Shutdown;
            }

            ClientStep step = _bound ? HandleAnswer(header, pdu) : HandleBindAnswer(header, pdu.Span);
            if (step != ClientStep.Receive)
            {
                return step;
            }
        }
    }

    public void Dispose()
    {
        _input.Dispose();
        _assembler.Dispose();
        _writer.Dispose();
        Security?.Dispose();
        Reply = default;
    }

    /// <summary>The exception for the caller.</summary>
    public RpcException FaultToException()
    {
        // If replies are signed, an unsigned fault does not prove that nothing ran.
        bool mayHaveExecuted = !DidNotExecute || Protection is not null;
        return (FaultStatus, Security) switch
        {
            (Dce.FaultStatus.AccessDenied, null) when !_endpoint.Has(EndpointFeatures.KnowsCaller) =>
                NativeFault.Anonymous(_endpoint, FaultStatus),
            (Dce.FaultStatus.AccessDenied, { } security) when !_wasAnswered =>
                security.NotAccepted(FaultStatus),
            _ => NativeFault.ToException(_endpoint, FaultStatus, mayHaveExecuted),
        };
    }

    private byte[] Propose(PduType type, uint group)
    {
        ushort fragment = (ushort)_limits.MaxFragmentBytes;
        ContextProposal context = new(ContextId, SyntaxId.Interface(_interfaceId), [SyntaxId.Ndr]);
        return new BindPdu(fragment, fragment, group, [context]).ToBytes(type, _bindId);
    }

    private ClientStep HandleBindAnswer(in PduHeader header, ReadOnlySpan<byte> pdu)
    {
        switch (header.Type)
        {
            case PduType.BindNak:
                throw BindNotAccepted(BindNakPdu.TryReadReason(header, pdu, out BindNakReason reason)
                    ? reason
                    : BindNakReason.Unspecified);
            case PduType.Fault when FaultPdu.TryReadStatus(header, pdu, out uint status):
                throw status == Dce.FaultStatus.AccessDenied && Security is not null
                    ? Security.NotAccepted(status)
                    : NativeFault.OfBind(_endpoint, status);
            case PduType.BindAck when header.CallId == _bindId && !_wasAccepted:
            case PduType.AlterContextResponse when header.CallId == _bindId && _wasAccepted:
                break;
            default:
                throw Broken(
                    $"it answered the bind with PDU type {(byte)header.Type} of call {header.CallId}");
        }

        if (BindAckPdu.Read(header, pdu) is not { } ack || ack.Results.Count == 0)
        {
            throw Broken("its bind_ack cannot be decoded");
        }

        if (ack.Results[0] is { Result: not ContextDecision.Accepted } refused)
        {
            throw BindRefusal.OfContext(_endpoint, _interfaceId, InterfaceName, refused);
        }

        if (ack.Results[0].Transfer != SyntaxId.Ndr)
        {
            throw Broken(
                $"it accepted the transfer syntax {ack.Results[0].Transfer}, which was not proposed");
        }

        if (!_wasAccepted)
        {
            _wasAccepted = true;
            AssociationGroup = ack.AssociationGroup;
            _maxTransmit = Math.Max(
                PduHeader.MustReceiveFragment, Math.Min(_limits.MaxFragmentBytes, (int)ack.MaxReceive));
        }

        return Security is null ? Establish() : ContinueAuthentication(Security, header, pdu);
    }

    private ClientStep ContinueAuthentication(
        ClientSecurity security, in PduHeader header, ReadOnlySpan<byte> pdu)
    {
        security.Take(header, pdu);
        if (security.HasToken)
        {
            // If the client has the last token, the server sends no reply to it ([MS-RPCE] section 2.2.2.5),
            // so it is sent as auth3.
            _writer.Control = security.Attach(security.IsComplete
                ? Auth3Pdu.ToBytes(_bindId)
                : Propose(PduType.AlterContext, AssociationGroup));
        }

        return security.IsComplete ? Establish() : ClientStep.Send;
    }

    private ClientStep Establish()
    {
        _bound = true;
        Protection ??= Security?.Protection;
        return ClientStep.Bound;
    }

    private ClientStep HandleAnswer(in PduHeader header, Memory<byte> pdu)
    {
        if (header.Type is not (PduType.Response or PduType.Fault))
        {
            throw Broken($"it sent PDU type {(byte)header.Type} instead of a reply");
        }

        if (!IsOfCall(header.CallId))
        {
            throw Broken($"it answered call {header.CallId} while call {CallId} was waiting");
        }

        if (header.Type == PduType.Fault)
        {
            return FaultPdu.TryReadStatus(header, pdu.Span, out uint status)
                ? TakeFault(header, status)
                : throw Broken("its fault is too short");
        }

        if (!CallPdu.TryUnprotect(header, pdu.Span, Protection))
        {
            throw Broken("its reply is not protected as negotiated");
        }

        AssemblyState state = CallPdu.TryRead(header, pdu.Span, out CallPdu call)
            ? _assembler.Add(header, call, pdu)
            : AssemblyState.Disorder;
        return state switch
        {
            AssemblyState.Incomplete => ClientStep.Receive,
            AssemblyState.Complete => TakeReply(),
            AssemblyState.TooLarge => throw ReplyTooLarge(),
            _ => throw Broken("the fragments of its reply are out of order"),
        };
    }

    // A connection has one call at a time and is closed if the call is abandoned, so a reply belongs to the
    // current call. Only the constant id of Wine is tolerated: a server that repeated an id before, or uses
    // another id, violates the protocol.
    private bool IsOfCall(uint callId)
    {
        if (callId == CallId)
        {
            _repeatsCallIds = true;
            return true;
        }

        if (callId != ConstantCallId || _repeatsCallIds)
        {
            return false;
        }

        if (!_hasConstantCallId)
        {
            _hasConstantCallId = true;
            DebugLog?.Invoke(
                $"'{_endpoint}' answers call {CallId} with call_id {callId}, as Wine 8's rpcrt4 does with "
                + "every call. ProtoRpc accepts the reply, because this connection has one call at a time.");
        }

        return true;
    }

    private ClientStep TakeFault(in PduHeader header, uint status)
    {
        FaultStatus = status;
        DidNotExecute = header.Flags.HasFlag(PduFlags.DidNotExecute);
        return ClientStep.Fault;
    }

    private ClientStep TakeReply()
    {
        if (!ExecStub.TryReadResponse(
            _assembler.Stub, _assembler.LittleEndian, allowTrailing: Protection is not null,
            out ReadOnlyMemory<byte> payload, out uint code))
        {
            throw Broken("its reply cannot be decoded as the result of Exec");
        }

        _wasAnswered = true;
        Reply = payload;
        ReturnCode = code;
        return ClientStep.Reply;
    }

    private RpcException Broken(string what) =>
        NativeFault.BrokenProtocol(_endpoint, what, mayHaveExecuted: _bound);

    private RpcException BindNotAccepted(BindNakReason reason) =>
        Security is not null && reason is BindNakReason.AuthenticationType or BindNakReason.InvalidChecksum
            ? Security!.BindNotAccepted(reason)
            : BindRefusal.OfBind(_endpoint, reason);

    private RpcException ReplyTooLarge() => new(
        RpcStatusCode.ResourceExhausted,
        $"The reply of '{_endpoint}' is larger than {_limits.MaxMessageBytes:N0} bytes or has more than "
        + $"{_limits.MaxFragments:N0} fragments. Request less per call, or raise "
        + $"{nameof(RpcLimits)}.{nameof(RpcLimits.MaxMessageBytes)} of the client.")
    {
        ErrorId = RpcErrorIds.MessageTooLarge,
        Endpoint = _endpoint,
        MayHaveExecuted = true,
    };
}

/// <summary>The result of processing received bytes.</summary>
internal enum ClientStep
{
    /// <summary>No complete PDU: more bytes are needed.</summary>
    Receive,

    /// <summary>The output must be sent: the authentication continues.</summary>
    Send,

    /// <summary>The bind was accepted and the client is authenticated, if requested. There may be output to
    /// send.</summary>
    Bound,

    /// <summary>The reply of the call.</summary>
    Reply,

    /// <summary>A fault instead of the reply; the connection stays open.</summary>
    Fault,

    /// <summary>The server asks the client to disconnect.</summary>
    Shutdown,
}
