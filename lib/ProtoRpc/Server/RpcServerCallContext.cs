using System.Net;
using System.Net.Sockets;
using System.Security.Principal;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Native;
using ProtoRpc.Server;
using ProtoRpc.Server.Calls;

namespace ProtoRpc;

/// <summary>The context of a call, for its handler. Valid until the handler ends.</summary>
public sealed class RpcServerCallContext : RpcPeerContext
{
    private const int Ipv6NetworkBytes = 8;

    private readonly ServerHost _host;
    private readonly RpcCallContext? _incoming;
    private readonly HandlerClock _clock;
    private DynamicMessage? _callContext;
    private RpcSession? _session;
    private bool _ended;
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

    /// <summary>The called method.</summary>
    public RpcMethodInfo Method { get; internal set; }

    /// <inheritdoc/>
    public override DateTimeOffset? Deadline => _clock.Deadline;

    /// <inheritdoc/>
    public override CancellationToken CancellationToken => _clock.Token;

    /// <summary>The values that the server keeps for the caller between calls. The first access creates the
    /// session.</summary>
    /// <exception cref="RpcException">FailedPrecondition: the server keeps no sessions. PermissionDenied: the
    /// session belongs to another caller. ResourceExhausted: there are too many sessions.</exception>
    /// <exception cref="ObjectDisposedException">The call has ended.</exception>
    public RpcSession Session
    {
        get
        {
            // Two threads of a handler may use Session. The call releases only one use.
            lock (_clock)
            {
                ObjectDisposedException.ThrowIf(_ended, this);
                return _session ??= _host.RequireSessions().Use(SessionId, Owner, ShareHolder);
            }
        }
    }

    /// <summary>The call context of the request. It is sent back if the handler changes it. Its fields are
    /// the extensions of <c>google.protobuf.rpc_messages.RpcCallContext</c> that the service's schema
    /// declares.</summary>
    public DynamicMessage CallContext
    {
        get => _callContext ??= SideChannel.ToDynamic(
            _incoming, Method.Service.Schema, Limits.MaxMessageElements);
        set => _callContext = value ?? throw new ArgumentNullException(nameof(value));
    }

    /// <summary>The services of the hosting application in the scope of this call; null without an
    /// application.</summary>
    public IServiceProvider? Services { get; internal set; }

    /// <summary>The request's bytes, if the handler reads them itself; otherwise null.</summary>
    public Stream? Body { get; internal set; }

    /// <summary>The headers of the request.</summary>
    public RpcMetadata RequestHeaders => _requestHeaders ??= HeaderSource?.Invoke() ?? new RpcMetadata();

    /// <summary>The headers to send before the first reply.</summary>
    public RpcMetadata ReplyHeaders => _responseHeaders ??= new RpcMetadata();

    /// <summary>The trailers to send after the last reply; also sent if the call fails. HTTP endpoints send
    /// them as headers of the response, or at the end of a stream of replies.</summary>
    public RpcMetadata ReplyTrailers => _responseTrailers ??= new RpcMetadata();

    /// <summary>The extensions of the native protocol's request header that the service's schema declares, as
    /// a <c>google.protobuf.rpc_messages.RpcRequestHeader</c>. Empty on HTTP and gRPC endpoints, which have
    /// no such header.</summary>
    public DynamicMessage RequestExtensions => _requestExtensions ??= new DynamicMessage(
        HeaderExtensions.TypeIn(Method.Service.Schema, RpcRequestHeader.Descriptor));

    /// <summary>The extensions to send in the native protocol's response header, as a
    /// <c>google.protobuf.rpc_messages.RpcResponseHeader</c>; also sent if the call fails. Not sent on HTTP
    /// and gRPC endpoints, which have no such header.</summary>
    public DynamicMessage ReplyExtensions
    {
        get => _responseExtensions ??= new DynamicMessage(
            HeaderExtensions.TypeIn(Method.Service.Schema, RpcResponseHeader.Descriptor));
        set => _responseExtensions = value ?? throw new ArgumentNullException(nameof(value));
    }

    /// <summary>How replies are compressed on gRPC endpoints if the caller accepts it. Set it before the
    /// first reply.</summary>
    public RpcCompression ReplyCompression { get; set; }

    /// <summary>Whether the last request was compressed, on gRPC endpoints.</summary>
    public bool IsRequestCompressed { get; internal set; }

    /// <summary>The received side channel; null if the caller sent none.</summary>
    internal RpcCallContext? ReceivedContext => _incoming;

    /// <summary>The extensions of the received request header; null for none.</summary>
    internal DynamicMessage? FoundExtensions => _requestExtensions;

    /// <summary>The limits.</summary>
    internal RpcLimits Limits => _host.Options.Limits;

    /// <summary>Counts the messages that the request is decoded to; null if they are not counted.</summary>
    internal RequestMemory.Share? Memory { get; init; }

    /// <summary>The extensions of the received request header, or null.</summary>
    internal DynamicMessage? ReceivedExtensions
    {
        init => _requestExtensions = value;
    }

    /// <summary>Reads the request's headers on demand.</summary>
    internal Func<RpcMetadata>? HeaderSource { get; init; }

    /// <summary>The headers that the handler set, or null.</summary>
    internal RpcMetadata? SetHeaders => _responseHeaders;

    /// <summary>The trailers that the handler set, or null.</summary>
    internal RpcMetadata? SetTrailers => _responseTrailers;

    /// <summary>The extensions of the response header that the handler set, or null.</summary>
    internal DynamicMessage? SetExtensions => _responseExtensions;

    /// <summary>Disposed when the call has ended; null for nothing.</summary>
    internal IDisposable? Held { get; set; }

    /// <summary>Whether the request has headers, or may have some.</summary>
    internal bool MayHaveHeaders => HeaderSource is not null || _requestHeaders is not null;

    /// <summary>Whether a handler or an interceptor runs: a failure is then theirs.</summary>
    internal bool RunsHandler { get; set; }

    /// <summary>ProtoRpc's error about the request, for the caller although a handler reads it.</summary>
    internal RpcException? Refusal { get; set; }

    /// <summary>The reply that was already checked when the handler wrote it; null for none.</summary>
    internal Google.Protobuf.IMessage? CheckedReply { get; set; }

    /// <summary>The deadline and the cancellation of the call.</summary>
    internal override HandlerClock Clock => _clock;

    /// <summary>The id of the session that the caller sent.</summary>
    internal Guid? SessionId => _incoming is { HasSessionId: true } && _incoming.SessionId.Length == 16
        ? new Guid(_incoming.SessionId.Span)
        : null;

    /// <summary>The owner of a session: the user, or the address of an anonymous caller.</summary>
    internal string Owner => IsAuthenticated
        ? $"{AuthenticationType}:{User.Name}"
        : $"anonymous:{ClientAddress[..Math.Max(0, ClientAddress.LastIndexOf(':'))]}";

    /// <summary>The key for limits per caller: the user, or the address of an anonymous caller. Of an IPv6
    /// address, the network counts, because one machine can use all its addresses.</summary>
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

    /// <summary>The protocol that carries the call; null in tests of handlers.</summary>
    internal CallProtocol? Protocol { get; init; }

    internal override object Client =>
        Protocol?.SharedConnection ?? (IsLocal && ProcessId != 0 ? (object)ProcessId : ShareHolder);

    internal override string What => Method.FullName;

    /// <summary>The existing session of the caller, or null. Does not create a session.</summary>
    /// <exception cref="RpcException">PermissionDenied: the session belongs to another caller.</exception>
    internal RpcSession? FindSession()
    {
        lock (_clock)
        {
            return _session
                ?? (!_ended && SessionId is { } id ? _session = _host.FindSession(id, Owner) : null);
        }
    }

    /// <summary>Whether the server keeps sessions.</summary>
    internal bool HasSessions => _host.Options.EnableSessions;

    /// <summary>The side channel to send back; null if it has not changed.</summary>
    internal RpcCallContext? ChangedContext()
    {
        if (_callContext is null && _session is null)
        {
            return null;
        }

        RpcCallContext incoming = _incoming ?? new RpcCallContext();
        RpcCallContext outgoing = _callContext is null ? incoming.Clone() : SideChannel.ToWire(_callContext);

        // Only the session table creates session ids; the handler's value is ignored.
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
        RpcSession? session;

        // A handler that was given up may still ask for a session, which nobody would release.
        lock (_clock)
        {
            _ended = true;
            (session, _session) = (_session, null);
        }

        if (session is not null)
        {
            _host.RequireSessions().Release(session);
        }
    }
}

/// <summary>The caller's context of a call. Valid until the handler ends.</summary>
public abstract class RpcPeerContext
{
    private readonly PeerIdentity _peer;

    private protected RpcPeerContext(RpcEndpoint endpoint, PeerIdentity peer)
    {
        Endpoint = endpoint;
        _peer = peer;
    }

    /// <summary>The listener's endpoint that received the call.</summary>
    public RpcEndpoint Endpoint { get; }

    /// <summary>The transport of the call.</summary>
    public RpcTransport Transport => Endpoint.Transport;

    /// <summary>The caller. An anonymous caller has an empty name.</summary>
    public IIdentity User => _peer.User;

    /// <summary>Whether <see cref="User"/> is authenticated.</summary>
    public bool IsAuthenticated => _peer.User.IsAuthenticated;

    /// <summary>The authentication type: <c>Kernel</c> for local peers, <c>NTLM</c> or <c>Kerberos</c>; empty
    /// for an anonymous caller.</summary>
    public string AuthenticationType => _peer.User.AuthenticationType ?? "";

    /// <summary>The protection of the call's data on the network.</summary>
    public RpcProtectionLevel ProtectionLevel => _peer.ProtectionLevel;

    /// <summary>The remote address and port; empty on local transports.</summary>
    public string ClientAddress => _peer.Address;

    /// <summary>The id of the calling process; 0 if the kernel does not report it.</summary>
    public int ProcessId => _peer.ProcessId;

    /// <summary>Whether the kernel guarantees that the caller is on this machine.</summary>
    public bool IsLocal => _peer.IsLocal;

    /// <summary>When the caller stops waiting; null if the caller sent no deadline.</summary>
    public virtual DateTimeOffset? Deadline => null;

    /// <summary>Cancelled when the caller cancels or disconnects, when the deadline passes, or when the
    /// listener stops.</summary>
    public abstract CancellationToken CancellationToken { get; }

    /// <summary>The deadline and the cancellation of the call.</summary>
    internal abstract HandlerClock Clock { get; }

    /// <summary>The client that a waiting call counts for, because clients take turns. Compared by <see
    /// cref="object.Equals(object)"/>.</summary>
    internal virtual object Client => IsLocal && ProcessId != 0
        ? ProcessId
        : ClientAddress[..Math.Max(0, ClientAddress.LastIndexOf(':'))];

    /// <summary>The called method or interface, for error messages.</summary>
    internal abstract string What { get; }

    /// <summary>Runs an action under the caller's identity.</summary>
    /// <exception cref="RpcException">Unauthenticated: the caller is anonymous. Unimplemented: the system
    /// does not support impersonation, or there is no token of the caller.</exception>
    public void Impersonate(Action action)
    {
        ArgumentNullException.ThrowIfNull(action);
        if (!IsAuthenticated)
        {
            throw new RpcException(
                RpcStatusCode.Unauthenticated,
                $"The caller of {What} is anonymous and cannot be impersonated.");
        }

        if (OperatingSystem.IsWindows() && User is WindowsIdentity identity)
        {
            WindowsIdentity.RunImpersonated(identity.AccessToken, action);
            return;
        }

        throw new RpcException(
            RpcStatusCode.Unimplemented,
            $"'{User.Name}' cannot be impersonated: a thread can act as another user only on Windows. "
            + "Check what the caller may do with User or an authorization rule instead.");
    }
}
