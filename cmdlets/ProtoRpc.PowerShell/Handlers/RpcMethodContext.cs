using System.Collections.ObjectModel;
using System.Security.Principal;
using ProtoRpc.PowerShell.Objects;
using ProtoRpc.Protocols.Headers;

namespace ProtoRpc;

/// <summary>The context of a method's call, <c>$RpcContext</c> in handlers.</summary>
public sealed class RpcMethodContext : RpcHandlerContext
{
    private readonly RpcServerCallContext _context;
    private IDictionary? _callContext;
    private IDictionary? _requestHeaders;
    private IDictionary? _responseHeaders;
    private IDictionary? _responseTrailers;
    private IDictionary? _requestExtensions;
    private IDictionary? _responseExtensions;

    internal RpcMethodContext(RpcServerCallContext context, Action? stopListener)
        : base(context, stopListener)
    {
        _context = context;
    }

    /// <summary>The called method.</summary>
    public RpcMethodInfo Method => _context.Method;

    /// <summary>The values that the listener keeps for the caller between calls. The first access creates the
    /// session.</summary>
    /// <exception cref="MethodInvocationException">The limit of sessions is reached, and running calls use
    /// all of them.</exception>
    public RpcSession Session
    {
        get
        {
            try
            {
                return _context.Session;
            }
            catch (RpcException e)
            {
                // PowerShell returns $null for a property that throws, except for this exception.
                throw new MethodInvocationException(e.Message, e);
            }
        }
    }

    /// <summary>The call context of the request. The reply contains it if the handler changes it.</summary>
    public IDictionary CallContext
    {
        get => _callContext ??= CallContextMap.ToDictionary(_context.CallContext);
        set => _callContext = value ?? throw new ArgumentNullException(nameof(value));
    }

    /// <summary>The headers of the request. Values are bytes if the name ends in -bin.</summary>
    public IDictionary RequestHeaders =>
        _requestHeaders ??= HeaderMapping.ToHashtable(_context.RequestHeaders);

    /// <summary>The headers to send before the first reply.</summary>
    public IDictionary ReplyHeaders
    {
        get => _responseHeaders ??= NewHeaders();
        set => _responseHeaders = value ?? throw new ArgumentNullException(nameof(value));
    }

    /// <summary>The trailers to send after the last reply; also sent if the handler fails.</summary>
    public IDictionary ReplyTrailers
    {
        get => _responseTrailers ??= NewHeaders();
        set => _responseTrailers = value ?? throw new ArgumentNullException(nameof(value));
    }

    /// <summary>The extensions of the native protocol's request header. Empty on HTTP and gRPC endpoints,
    /// which have no such header.</summary>
    public IDictionary RequestExtensions =>
        _requestExtensions ??= HeaderExtensionMap.ToDictionary(_context.RequestExtensions);

    /// <summary>The extensions to send in the native protocol's response header; also sent if the handler
    /// fails. Not sent on HTTP and gRPC endpoints, which have no such header.</summary>
    public IDictionary ReplyExtensions
    {
        get => _responseExtensions ??= HeaderExtensionMap.ToDictionary(_context.ReplyExtensions);
        set => _responseExtensions = value ?? throw new ArgumentNullException(nameof(value));
    }

    /// <summary>How replies are compressed on gRPC endpoints if the caller accepts it. Set it before the
    /// first reply.</summary>
    public RpcCompression ReplyCompression
    {
        get => _context.ReplyCompression;
        set => _context.ReplyCompression = value;
    }

    /// <summary>Whether this is the context of a call.</summary>
    internal bool IsOf(RpcServerCallContext context) => ReferenceEquals(context, _context);

    /// <summary>Sets the headers from the handler's dictionary, before the first reply.</summary>
    /// <exception cref="RpcException">Internal: a header is invalid.</exception>
    internal void FlushHeaders()
    {
        if (_responseHeaders is not null)
        {
            Fill(_context.ReplyHeaders, _responseHeaders, nameof(ReplyHeaders));
            _responseHeaders = null;
        }
    }

    /// <summary>Sets the headers, trailers and extensions of a handler that failed. Errors in these are
    /// ignored, because the handler's failure is more important.</summary>
    internal void FlushOfFailure()
    {
        try
        {
            FlushHeaders();
            FlushTrailers();
            FlushExtensions();
        }
        catch (RpcException)
        {
        }
    }

    /// <summary>Sets the call context, headers, trailers and extensions at the end of the call.</summary>
    /// <exception cref="RpcException">Internal: the call context or a header is invalid.</exception>
    internal void Flush()
    {
        FlushHeaders();
        FlushTrailers();
        FlushExtensions();
        if (_callContext is null)
        {
            return;
        }

        try
        {
            _context.CallContext = CallContextMap.ToMessage(_context.CallContext.Type, _callContext);
        }
        catch (RpcException e)
        {
            throw new RpcException(
                RpcStatusCode.Internal, RpcErrorIds.WrongCallContext,
                $"The handler of {Method.FullName} set an invalid call context: {e.Message}", e);
        }
    }

    private void FlushTrailers()
    {
        if (_responseTrailers is not null)
        {
            Fill(_context.ReplyTrailers, _responseTrailers, nameof(ReplyTrailers));
            _responseTrailers = null;
        }
    }

    private void FlushExtensions()
    {
        if (_responseExtensions is null)
        {
            return;
        }

        try
        {
            _context.ReplyExtensions = HeaderExtensionMap.ToMessage(
                Method.Service.Schema, RpcResponseHeader.Descriptor, _responseExtensions);
            _responseExtensions = null;
        }
        catch (RpcException e)
        {
            throw new RpcException(
                RpcStatusCode.Internal, RpcErrorIds.InvalidExtension,
                $"The handler of {Method.FullName} set invalid {nameof(ReplyExtensions)}: {e.Message}", e);
        }
    }

    private static Hashtable NewHeaders() => new(StringComparer.OrdinalIgnoreCase);

    private void Fill(RpcMetadata metadata, IDictionary headers, string name)
    {
        try
        {
            foreach ((string key, object value) in HeaderMapping.ToMetadata(headers))
            {
                if (value is byte[] bytes)
                {
                    metadata.Add(key, bytes);
                }
                else
                {
                    metadata.Add(key, (string)value);
                }
            }
        }
        catch (RpcException e)
        {
            throw new RpcException(
                RpcStatusCode.Internal, RpcErrorIds.InvalidHeader,
                $"The handler of {Method.FullName} set invalid {name}: {e.Message}", e);
        }
    }
}

/// <summary>The context of a call, <c>$RpcContext</c> in handlers. Valid until the handler ends.</summary>
public abstract class RpcHandlerContext
{
    private readonly RpcPeerContext _context;
    private readonly Action? _stopListener;

    private protected RpcHandlerContext(RpcPeerContext context, Action? stopListener)
    {
        _context = context;
        _stopListener = stopListener;
    }

    /// <summary>The caller. An anonymous caller has an empty name.</summary>
    public IIdentity User => _context.User;

    /// <summary>Whether the user is authenticated.</summary>
    public bool IsAuthenticated => _context.IsAuthenticated;

    /// <summary>The authentication type of the user; empty for an anonymous caller.</summary>
    public string AuthenticationType => _context.AuthenticationType;

    /// <summary>The protection of the call's data on the network.</summary>
    public RpcProtectionLevel ProtectionLevel => _context.ProtectionLevel;

    /// <summary>The transport of the call.</summary>
    public RpcTransport Transport => _context.Transport;

    /// <summary>The listener's endpoint that received the call.</summary>
    public RpcEndpoint Endpoint => _context.Endpoint;

    /// <summary>The remote address and port; empty on local transports.</summary>
    public string ClientAddress => _context.ClientAddress;

    /// <summary>The id of the calling process; 0 if the kernel does not report it.</summary>
    public int ProcessId => _context.ProcessId;

    /// <summary>Whether the kernel guarantees that the caller is on this machine.</summary>
    public bool IsLocal => _context.IsLocal;

    /// <summary>When the caller stops waiting; null if the caller sent no deadline.</summary>
    public DateTimeOffset? Deadline => _context.Deadline;

    /// <summary>Cancelled when the caller cancels or disconnects, when the deadline passes, or when the
    /// listener stops.</summary>
    public CancellationToken CancellationToken => _context.CancellationToken;

    /// <summary>Stops the listener, as Stop-RpcListener does: it rejects new calls, and running calls have
    /// the DrainTimeout of its limits to end. This call is one of them, so its reply is still sent.</summary>
    /// <remarks>It returns at once, because the listener waits for this handler. Wait-RpcListener returns
    /// when the listener has stopped.</remarks>
    public void StopListener() => _stopListener?.Invoke();

    /// <summary>Runs a block under the caller's identity, and returns its output.</summary>
    /// <exception cref="RpcException">Unauthenticated: the caller is anonymous. Unimplemented: the system
    /// does not support impersonation.</exception>
    public Collection<PSObject> Impersonate(ScriptBlock block)
    {
        ArgumentNullException.ThrowIfNull(block);
        Collection<PSObject> output = [];
        _context.Impersonate(() => output = block.Invoke());
        return output;
    }
}

/// <summary>The context of a raw call, <c>$RpcContext</c> in handlers.</summary>
public sealed class RpcRawHandlerContext : RpcHandlerContext
{
    internal RpcRawHandlerContext(RpcRawContext context, Action? stopListener)
        : base(context, stopListener)
    {
        InterfaceId = context.InterfaceId;
    }

    /// <summary>The id of the called interface.</summary>
    public Guid InterfaceId { get; }
}
