using System.Net;
using System.Net.Sockets;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Native;
using ProtoRpc.Server;

namespace ProtoRpc;

/// <summary>What a handler may know of the call that it handles. Valid until the handler ends.</summary>
public sealed class RpcServerCallContext : RpcPeerContext
{
    private const int Ipv6NetworkBytes = 8;

    private readonly ServerHost _host;
    private readonly RpcCallContext? _incoming;
    private readonly HandlerClock _clock;
    private DynamicMessage? _callContext;
    private RpcSession? _session;
    private RpcMetadata? _requestHeaders;
    private RpcMetadata? _responseHeaders;
    private RpcMetadata? _responseTrailers;
    private DynamicMessage? _requestExtensions;
    private DynamicMessage? _responseExtensions;

    internal RpcServerCallContext(
        ServerHost host,
        RpcMethodInfo method,
        RpcEndpoint endpoint,
        PeerIdentity peer,
        RpcCallContext? incoming,
        DateTimeOffset? deadline,
        CancellationToken cancellation)
        : base(endpoint, peer)
    {
        _host = host;
        Method = method;
        _incoming = incoming;
        _clock = new HandlerClock(deadline, host.Options.Limits.HandlerTimeout, cancellation);
    }

    /// <summary>The method that is called.</summary>
    public RpcMethodInfo Method { get; internal set; }

    /// <inheritdoc/>
    public override DateTimeOffset? Deadline => _clock.Deadline;

    /// <inheritdoc/>
    public override CancellationToken CancellationToken => _clock.Token;

    /// <summary>What the server keeps for the caller between calls;
    /// made when a handler first asks for it.</summary>
    /// <exception cref="RpcException">FailedPrecondition when the server keeps no sessions, PermissionDenied
    /// when the caller names somebody else's, ResourceExhausted when there are too many.</exception>
    public RpcSession Session => _session ??= _host.RequireSessions().Use(SessionId, Owner);

    /// <summary>The side channel: what came with the request, and what goes back when it is changed.
    /// Its fields are the extensions of <c>google.protobuf.rpc_messages.RpcCallContext</c>
    /// that the service's schema declares.</summary>
    public DynamicMessage CallContext
    {
        get => _callContext ??= SideChannel.ToDynamic(_incoming, Method.Service.Schema);
        set => _callContext = value ?? throw new ArgumentNullException(nameof(value));
    }

    /// <summary>The services of the application that hosts the server, in the scope of this call; null
    /// outside of such an application.</summary>
    public IServiceProvider? Services { get; internal set; }

    /// <summary>The request's bytes, for a handler that reads them itself; else null.</summary>
    public Stream? Body { get; internal set; }

    /// <summary>What came beside the request.</summary>
    public RpcMetadata RequestHeaders => _requestHeaders ??= HeaderSource?.Invoke() ?? new RpcMetadata();

    /// <summary>What is sent before the first reply.</summary>
    public RpcMetadata ResponseHeaders => _responseHeaders ??= new RpcMetadata();

    /// <summary>What is sent after the last reply, also of a call that fails. HTTP endpoints send it as
    /// headers of the answer, or at the end of replies that stream.</summary>
    public RpcMetadata ResponseTrailers => _responseTrailers ??= new RpcMetadata();

    /// <summary>The extensions of the request header of the native protocol that the service's schema
    /// declares, as a <c>google.protobuf.rpc_messages.RpcRequestHeader</c>; without any on HTTP and gRPC
    /// endpoints, which have no such header.</summary>
    public DynamicMessage RequestExtensions => _requestExtensions ??= new DynamicMessage(
        HeaderExtensions.TypeIn(Method.Service.Schema, RpcRequestHeader.Descriptor));

    /// <summary>Extensions of the response header of the native protocol, as a
    /// <c>google.protobuf.rpc_messages.RpcResponseHeader</c>; sent also when the call fails. HTTP and gRPC
    /// endpoints have no such header and do not send them.</summary>
    public DynamicMessage ResponseExtensions
    {
        get => _responseExtensions ??= new DynamicMessage(
            HeaderExtensions.TypeIn(Method.Service.Schema, RpcResponseHeader.Descriptor));
        set => _responseExtensions = value ?? throw new ArgumentNullException(nameof(value));
    }

    /// <summary>How replies are compressed on gRPC endpoints where the caller takes it;
    /// set before the first one.</summary>
    public RpcCompression ResponseCompression { get; set; }

    /// <summary>Whether the request that was read last came compressed, on gRPC endpoints.</summary>
    public bool IsRequestCompressed { get; internal set; }

    /// <summary>The side channel as it came; null where the caller sent none.</summary>
    internal RpcCallContext? ReceivedContext => _incoming;

    /// <summary>The extensions of the request header that came with the call; null for none.</summary>
    internal DynamicMessage? FoundExtensions => _requestExtensions;

    /// <summary>Elements that a request may have.</summary>
    internal int MaxElements => _host.Options.Limits.MaxMessageElements;

    /// <summary>The extensions that came with the request header, or null.</summary>
    internal DynamicMessage? ReceivedExtensions
    {
        init => _requestExtensions = value;
    }

    /// <summary>Where the request's headers are read from, when somebody asks for them.</summary>
    internal Func<RpcMetadata>? HeaderSource { get; init; }

    /// <summary>The headers that the handler set, or null.</summary>
    internal RpcMetadata? SetHeaders => _responseHeaders;

    /// <summary>The trailers that the handler set, or null.</summary>
    internal RpcMetadata? SetTrailers => _responseTrailers;

    /// <summary>The extensions of the response header that the handler set, or null.</summary>
    internal DynamicMessage? SetExtensions => _responseExtensions;

    /// <summary>What is disposed when the call has ended; null for nothing.</summary>
    internal IDisposable? Held { get; set; }

    /// <summary>Whether headers came, or may have come.</summary>
    internal bool MayHaveHeaders => HeaderSource is not null || _requestHeaders is not null;

    /// <summary>Whether a handler, or an interceptor around it, has the call:
    /// what fails now, fails there.</summary>
    internal bool RunsHandler { get; set; }

    /// <summary>What ProtoRpc says of the request to its sender while a handler reads it.</summary>
    internal RpcException? Refusal { get; set; }

    /// <summary>The reply whose type and required fields were checked when the handler wrote it; null for
    /// none.</summary>
    internal Google.Protobuf.IMessage? CheckedReply { get; set; }

    /// <summary>When and why the call ends before its handler does.</summary>
    internal override HandlerClock Clock => _clock;

    /// <summary>The session that the caller names.</summary>
    internal Guid? SessionId => SideChannel.SessionIdOf(_incoming);

    /// <summary>To whom a session is bound: a user, or the address
    /// of those who do not say who they are.</summary>
    internal string Owner => IsAuthenticated
        ? $"{AuthenticationType}:{User.Name}"
        : $"anonymous:{ClientAddress[..Math.Max(0, ClientAddress.LastIndexOf(':'))]}";

    /// <summary>Whose share of what callers have in common the call takes: the user's, or that of the address
    /// of those who do not say who they are; of IPv6 the network,
    /// for one machine has all its addresses.</summary>
    internal string ShareHolder
    {
        get
        {
            if (IsAuthenticated || !IPEndPoint.TryParse(ClientAddress, out IPEndPoint? remote)
                || remote.AddressFamily != AddressFamily.InterNetworkV6 || remote.Address.IsIPv4MappedToIPv6)
            {
                return Owner;
            }

            ReadOnlySpan<byte> network = remote.Address.GetAddressBytes().AsSpan(0, Ipv6NetworkBytes);
            return $"anonymous:{Convert.ToHexString(network)}";
        }
    }

    /// <summary>The call on its face; null in tests of handlers.</summary>
    internal MessageCall? Call { get; init; }

    /// <inheritdoc/>
    internal override object Client =>
        Call?.SharedConnection ?? (IsLocal && ProcessId != 0 ? (object)ProcessId : ShareHolder);

    internal override string What => Method.FullName;

    /// <summary>The existing session of the caller, or null; no session is made.</summary>
    /// <exception cref="RpcException">PermissionDenied: the session belongs to another caller.</exception>
    internal RpcSession? FindSession() =>
        _session ?? (SessionId is { } id ? _session = _host.FindSession(id, Owner) : null);

    /// <summary>Whether the server keeps sessions.</summary>
    internal bool HasSessions => _host.Options.EnableSessions;

    /// <summary>What goes back to the caller, or null when nothing changed.</summary>
    internal RpcCallContext? ChangedContext()
    {
        if (_callContext is null && _session is null)
        {
            return null;
        }

        RpcCallContext incoming = _incoming ?? new RpcCallContext();
        RpcCallContext outgoing = _callContext is null
            ? incoming.Clone()
            : SideChannel.ToWire(_callContext);

        // Only the table makes session ids; the handler's value is ignored.
        if (_session is not null)
        {
            outgoing.SessionId = Google.Protobuf.ByteString.CopyFrom(_session.Id.ToByteArray());
        }
        else if (incoming.HasSessionId)
        {
            outgoing.SessionId = incoming.SessionId;
        }
        else
        {
            outgoing.ClearSessionId();
        }

        return outgoing.Equals(incoming) ? null : outgoing;
    }

    internal void End()
    {
        _clock.Dispose();
        Held?.Dispose();
        if (_session is { } session)
        {
            _host.RequireSessions().Release(session);
            _session = null;
        }
    }
}
