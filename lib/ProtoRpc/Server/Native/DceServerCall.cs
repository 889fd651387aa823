using System.Diagnostics;
using ProtoRpc.Messages.Binary;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Dce;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Native;
using ProtoRpc.Security;
using ProtoRpc.Server.Calls;

namespace ProtoRpc.Server.Native;

/// <summary>The one call at a time of a server's connection.</summary>
internal sealed class DceServerCall(ServerAssociation association, RpcEndpoint endpoint)
    : ExecServerCall, IDisposable
{
    private readonly Lock _gate = new();
    private CancellationTokenSource? _source;
    private CancelNotice _notice;

    public override ReadOnlyMemory<byte> Request => association.Request;

    public override IBufferWriter<byte> Reply => association.Reply;

    public override int ReplyLength => association.Reply.Length;

    public override RequestMemory.Share? Memory => association.Memory;

    public override PeerIdentity Peer => association.Security.PeerOf(association.Interface);

    public override RpcEndpoint Endpoint { get; } = endpoint;

    public override CancellationToken Cancellation
    {
        get
        {
            lock (_gate)
            {
                return _notice == CancelNotice.None
                    ? (_source ??= new CancellationTokenSource()).Token
                    : new CancellationToken(canceled: true);
            }
        }
    }

    /// <summary>How the call was cancelled, if it was; read after the last possible cancellation.</summary>
    public CancelNotice Notice => _notice;

    public override void ResetReply() => association.Reply.Reset();

    /// <summary>Begins the next call, before it can be cancelled.</summary>
    public void Begin(CancelNotice notice)
    {
        ReturnCode = 0;
        IsTooBusy = false;
        _notice = notice;
        if (_source is { } used && !used.TryReset())
        {
            used.Dispose();
            _source = null;
        }
    }

    /// <summary>Cancels it; what handlers registered runs on another thread.</summary>
    public void Cancel(CancelNotice notice)
    {
        lock (_gate)
        {
            if (notice > _notice)
            {
                _notice = notice;
                _source?.CancelAsync();
            }
        }
    }

    public void Dispose()
    {
        lock (_gate)
        {
            _source?.Dispose();
            _source = null;
        }
    }
}

/// <summary>Carries the calls of a service over the native protocol: header and body in, header and body
/// out.</summary>
/// <remarks>A handler's failure is described in the reply's header and never leaves here as an exception,
/// so the interface's return code stays 0, as on the original. A connection uses one object for all its calls
/// of a service, one after the other.</remarks>
internal sealed class NativeCallProtocol(
    ServerHost host, ServerService service, BuiltInMethods builtIns, ExecServerCall call)
    : CallProtocol(host, call.Endpoint)
{
    // Shared by calls, and never changed: a handler receives a copy.
    private static readonly RpcCallContext NoContext = new();

    private static readonly Func<RpcMetadata> OfFirstHop =
        static () => new RpcMetadata { { PlainHeaders.Hops, "1" } };

    // ReadHead sets one of these: _plain for a header in the short form, otherwise _header.
    private RpcRequestHeader? _header;
    private PlainRequest? _plain;
    private int _bodyLength;
    private PeerIdentity _peer = call.Peer;

    public override PeerIdentity Peer => _peer;

    public override RequestMemory.Share Memory => call.Memory ?? base.Memory;

    public override long BytesIn => call.Request.Length;

    public override long BytesOut => call.ReplyLength;

    /// <summary>Prepares the next call of a service.</summary>
    public static NativeCallProtocol Begin(
        ServerHost host, ServerService service, BuiltInMethods builtIns, ExecServerCall call)
    {
        NativeCallProtocol protocol = call.LastProtocol is { } last && last.IsOf(service)
            ? last
            : call.LastProtocol = new NativeCallProtocol(host, service, builtIns, call);
        protocol._peer = call.Peer;
        return protocol;
    }

    public override string? GetCalledName(RpcServerCallContext? context) =>
        $"{service.Info.FullName}/{_header?.MethodName ?? context?.Method.Name ?? CallTarget.UnknownMethod}";

    public override ActivityContext ReadParent(RpcServerCallContext? context) =>
        ServerHeaders.ReadParent(context, _header, Host.Options.Limits);

    public override void Release()
    {
        _header = null;
        _plain = null;
        base.Release();
    }

    public override CallHead ReadHead()
    {
        ReadOnlySpan<byte> payload = call.Request.Span;
        if (PlainHeaders.TryReadRequest(payload, out PlainRequest plain)
            && service.Find(payload[plain.Method]) is { } called)
        {
            _plain = plain;
            if (plain.Interface.End.Value > 0)
            {
                RequireInterface(payload[plain.Interface]);
            }

            _bodyLength = payload.Length - plain.BodyStart;
            return new CallHead(
                called, plain.HasContext ? NoContext : null, ServerHeaders.GetDeadline(plain.Timeout),
                call.Cancellation)
            {
                Headers = plain.IsFirstHop ? OfFirstHop : null,
            };
        }

        RpcRequestHeader header = NativeHeaders.Read(
            NativeHeaders.RequestParser, payload, out ReadOnlySpan<byte> body);
        _header = header;
        _bodyLength = body.Length;
        if (header.HasExtension(ProtorpcTransportExtensions.InterfaceId))
        {
            RequireInterface(header.GetExtension(ProtorpcTransportExtensions.InterfaceId).Span);
        }

        ServerMethod method = BuiltInNames.Has(header.MethodName)
            ? builtIns.Get(header.MethodName)
            : service.Get(header.MethodName);
        return ServerHeaders.Read(this, header, method, service.Info.Schema, call.Cancellation);
    }

    public override ValueTask<IMessage> ReadAsync(ServerMethod method, RpcServerCallContext context) =>
        new(method.ReadRequest(call.Request[^_bodyLength..], context));

    public override ValueTask ReplyAsync(RpcServerCallContext context, IMessage reply)
    {
        // Encode first: if encoding fails, no byte of the reply has been written.
        using EncodedMessage body = EncodedMessage.From(reply, context.Limits.MaxMessageBytes, "reply");
        if (_plain is { } plain && ServerHeaders.IsEmpty(context))
        {
            PlainHeaders.WriteResponse(call.Reply, call.Request.Span[plain.Id]);
            body.WriteTo(call.Reply);
            return default;
        }

        RpcResponseHeader response = ServerHeaders.Success(context);
        response.MessageId = ReadId() ?? ByteString.Empty;
        NativeHeaders.Write(call.Reply, response, body);
        return default;
    }

    public override CallFailure Translate(Exception error, RpcServerCallContext? context) =>
        base.Translate(ServerHeaders.MakeSendable(error, Host.Options.Limits), context);

    public override ValueTask FailAsync(CallFailure failure, RpcServerCallContext? context)
    {
        call.ResetReply();
        RpcResponseHeader response = ServerHeaders.Failure(failure, context, Host.Options.Limits);
        if (ReadId() is { } id)
        {
            response.MessageId = id;
        }

        NativeHeaders.Write(call.Reply, response, body: null);
        return default;
    }

    // The bind also names the interface, but is not signed: an attacker could redirect the call to another
    // interface. Other clients than ProtoRpc's do not send this field.
    private void RequireInterface(ReadOnlySpan<byte> sent)
    {
        Span<byte> bound = stackalloc byte[PlainHeaders.InterfaceIdBytes];
        service.InterfaceId.TryWriteBytes(bound, bigEndian: true, out _);
        if (!sent.SequenceEqual(bound))
        {
            throw new RpcException(
                RpcStatusCode.PermissionDenied,
                $"The call is not for {service.Info.FullName} with the interface {service.InterfaceId}, to "
                + "which the connection is bound. A server in between may have changed the bind. Use TLS, or "
                + "check the way to the server.");
        }
    }

    private bool IsOf(ServerService called) => service == called;

    private ByteString? ReadId() =>
        _plain is { } plain ? ByteString.CopyFrom(call.Request.Span[plain.Id])
        : _header is { HasMessageId: true } ? _header.MessageId
        : null;
}

/// <summary>One call of the raw layer on the server: bytes in, bytes out.</summary>
/// <remarks>Valid until the handler's task ends, then used for the connection's next call.</remarks>
internal abstract class ExecServerCall
{
    /// <summary>The request; the memory is the connection's and is used again after the call.</summary>
    public abstract ReadOnlyMemory<byte> Request { get; }

    /// <summary>The buffer for the reply.</summary>
    public abstract IBufferWriter<byte> Reply { get; }

    /// <summary>The bytes that were written to <see cref="Reply"/>.</summary>
    public abstract int ReplyLength { get; }

    /// <summary>The interface's return code: 0 for success. Another code sends no reply bytes.</summary>
    public int ReturnCode { get; set; }

    /// <summary>Whether the server was too busy to run the call. The caller then receives this error instead
    /// of a return code.</summary>
    public bool IsTooBusy { get; set; }

    /// <summary>Counts the bytes of the request; null if they are not counted.</summary>
    public abstract RequestMemory.Share? Memory { get; }

    /// <summary>The protocol of the connection's last call of a service, for the next call; null for
    /// none.</summary>
    public NativeCallProtocol? LastProtocol { get; set; }

    /// <summary>The caller.</summary>
    public abstract PeerIdentity Peer { get; }

    /// <summary>The listener's endpoint that received the call.</summary>
    public abstract RpcEndpoint Endpoint { get; }

    /// <summary>Cancelled when the caller cancels or vanishes,
    /// or the listener's drain time is over.</summary>
    public abstract CancellationToken Cancellation { get; }

    /// <summary>Discards the bytes in <see cref="Reply"/>, if a handler fails after it has written
    /// some.</summary>
    public abstract void ResetReply();
}

/// <summary>Handles the calls of one interface. May run on many threads in parallel. The reply of a handler
/// that ends synchronously is sent without a thread switch.</summary>
internal delegate ValueTask ExecHandler(ExecServerCall call);

/// <summary>One interface of the raw layer, as a native listener serves it.</summary>
/// <param name="InterfaceId">The interface's UUID; version 1.0, operation 0.</param>
/// <param name="Handler">Handles its calls. An exception becomes return code 0x80004005,
/// as on the original.</param>
internal sealed record ExecInterface(Guid InterfaceId, ExecHandler Handler)
{
    /// <summary>The accepted callers. Interfaces that share one object also share the authentication of their
    /// callers.</summary>
    public RpcServerSecurity Security { get; init; } = RpcServerSecurity.Anonymous;

    /// <summary>The maximum number of concurrent calls of the interface, over all endpoints; further calls
    /// are rejected as too busy. Null if only the number of connections limits them.</summary>
    public int? MaxCalls { get; init; }

    /// <summary>Largest request of the interface in bytes; null for the limit of the endpoint.</summary>
    public int? MaxRequestBytes { get; init; }

    /// <summary>Records calls that are rejected before the handler; null for none.</summary>
    public CallMonitor? Monitor { get; init; }

    /// <summary>Receives the PDUs of the endpoint; null for none.</summary>
    public RpcTrace? Trace { get; init; }

    /// <summary>The name of the interface for rejected calls: the service, or the interface id.</summary>
    public string Name { get; init; } = InterfaceId.ToString();

    /// <summary>The RPC system, as of <see cref="CallTarget"/>.</summary>
    public string System { get; init; } = "protorpc";

    /// <summary>Counts the memory of large requests. An endpoint uses that of its first interface; null for
    /// the endpoint's own.</summary>
    public RequestMemory? Memory { get; init; }

    /// <summary>Reports to the servers of some interfaces that the endpoint which they share could not accept
    /// a connection.</summary>
    public static void ReportHandleShortage(IEnumerable<ExecInterface> interfaces, RpcEndpoint endpoint)
    {
        foreach (CallMonitor monitor in
            interfaces.Select(one => one.Monitor).OfType<CallMonitor>().Distinct())
        {
            monitor.ReportHandleShortage(endpoint);
        }
    }

    // Counted here and not by the endpoint, because the limit belongs to the interface.
    internal CallGate Gate { get; } = new();
}

/// <summary>Counts the running calls of an interface with a limit.</summary>
internal sealed class CallGate
{
    private int _calls;

    /// <summary>Counts one more call, unless the limit is reached.</summary>
    public bool TryEnter(int max)
    {
        if (Interlocked.Increment(ref _calls) <= max)
        {
            return true;
        }

        Leave();
        return false;
    }

    /// <summary>Counts one less.</summary>
    public void Leave() => Interlocked.Decrement(ref _calls);
}

/// <summary>An interface on a listener, until it is withdrawn.</summary>
internal sealed class ServedInterface
{
    private volatile bool _isWithdrawn;

    /// <exception cref="RpcException">Its security cannot work like that here.</exception>
    public ServedInterface(ExecInterface service, RpcEndpoint endpoint)
    {
        Service = service;
        Policy = new SecurityPolicy(
            service.Security, needsMechanism: !endpoint.Has(EndpointFeatures.KnowsCaller));
    }

    /// <summary>Id and handler.</summary>
    public ExecInterface Service { get; }

    /// <summary>The policy for callers.</summary>
    public SecurityPolicy Policy { get; }

    /// <summary>Whether new calls are rejected.</summary>
    public bool IsWithdrawn => _isWithdrawn;

    /// <summary>Refuses new calls from now on.</summary>
    public void Withdraw() => _isWithdrawn = true;
}
