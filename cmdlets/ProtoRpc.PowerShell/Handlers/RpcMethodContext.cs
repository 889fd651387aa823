using System.Collections;
using System.Management.Automation;
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

    internal RpcMethodContext(RpcServerCallContext context)
        : base(context)
    {
        _context = context;
    }

    /// <summary>The called method.</summary>
    public RpcMethodInfo Method => _context.Method;

    /// <summary>The values that the listener keeps for the caller between calls. The first access creates the
    /// session.</summary>
    /// <exception cref="MethodInvocationException">There is no room for another session.</exception>
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
                // The shell takes a property that throws for $null, unless it throws this.
                throw new MethodInvocationException(e.Message, e);
            }
        }
    }

    /// <summary>The side channel: the context that came with the request. It is sent back if the handler
    /// changes it.</summary>
    public IDictionary CallContext
    {
        get => _callContext ??= CallContextMap.ToDictionary(_context.CallContext);
        set => _callContext = value ?? throw new ArgumentNullException(nameof(value));
    }

    /// <summary>The headers of the request. Values are bytes if the name ends in -bin.</summary>
    public IDictionary RequestHeaders =>
        _requestHeaders ??= HeaderMapping.ToHashtable(_context.RequestHeaders);

    /// <summary>The headers to send before the first reply.</summary>
    public IDictionary ResponseHeaders
    {
        get => _responseHeaders ??= NewHeaders();
        set => _responseHeaders = value ?? throw new ArgumentNullException(nameof(value));
    }

    /// <summary>The trailers to send after the last reply; also sent if the handler fails.</summary>
    public IDictionary ResponseTrailers
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
    public IDictionary ResponseExtensions
    {
        get => _responseExtensions ??= HeaderExtensionMap.ToDictionary(_context.ResponseExtensions);
        set => _responseExtensions = value ?? throw new ArgumentNullException(nameof(value));
    }

    /// <summary>How replies are compressed on gRPC endpoints if the caller accepts it. Set it before the
    /// first reply.</summary>
    public RpcCompression ResponseCompression
    {
        get => _context.ResponseCompression;
        set => _context.ResponseCompression = value;
    }

    /// <summary>Whether this is the context of a call.</summary>
    internal bool IsOf(RpcServerCallContext context) => ReferenceEquals(context, _context);

    /// <summary>Sets the headers from the handler's dictionary, before the first reply.</summary>
    /// <exception cref="RpcException">Internal: a header is invalid.</exception>
    internal void FlushHeaders()
    {
        if (_responseHeaders is not null)
        {
            Fill(_context.ResponseHeaders, _responseHeaders, nameof(ResponseHeaders));
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
                RpcStatusCode.Internal,
                $"The handler of {Method.FullName} set an invalid call context: {e.Message}", e)
            {
                ErrorId = RpcErrorIds.WrongCallContext,
            };
        }
    }

    private void FlushTrailers()
    {
        if (_responseTrailers is not null)
        {
            Fill(_context.ResponseTrailers, _responseTrailers, nameof(ResponseTrailers));
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
            _context.ResponseExtensions = HeaderExtensionMap.ToMessage(
                Method.Service.Schema, RpcResponseHeader.Descriptor, _responseExtensions);
            _responseExtensions = null;
        }
        catch (RpcException e)
        {
            throw new RpcException(
                RpcStatusCode.Internal,
                $"The handler of {Method.FullName} set invalid {nameof(ResponseExtensions)}: {e.Message}", e)
            {
                ErrorId = RpcErrorIds.InvalidExtension,
            };
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
                RpcStatusCode.Internal, $"The handler of {Method.FullName} set invalid {name}: {e.Message}",
                e)
            {
                ErrorId = RpcErrorIds.InvalidHeader,
            };
        }
    }
}
