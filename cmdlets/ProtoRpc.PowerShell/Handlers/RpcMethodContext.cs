using System.Collections;
using ProtoRpc.PowerShell.Objects;
using ProtoRpc.Protocols.Headers;

namespace ProtoRpc;

/// <summary>What a method's handler sees in <c>$RpcContext</c>.</summary>
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

    /// <summary>The method that is called.</summary>
    public RpcMethodInfo Method => _context.Method;

    /// <summary>What the listener keeps for the caller between calls;
    /// made when it is first asked for.</summary>
    public RpcSession Session => _context.Session;

    /// <summary>The side channel: what came with the request,
    /// and what goes back when it was changed.</summary>
    public IDictionary CallContext
    {
        get => _callContext ??= CallContextMap.ToDictionary(_context.CallContext);
        set => _callContext = value ?? throw new ArgumentNullException(nameof(value));
    }

    /// <summary>What came beside the request; bytes where a name ends in -bin.</summary>
    public IDictionary RequestHeaders =>
        _requestHeaders ??= HeaderMapping.ToHashtable(_context.RequestHeaders);

    /// <summary>What is sent before the first reply.</summary>
    public IDictionary ResponseHeaders
    {
        get => _responseHeaders ??= NewHeaders();
        set => _responseHeaders = value ?? throw new ArgumentNullException(nameof(value));
    }

    /// <summary>What is sent after the last reply, also when the handler fails.</summary>
    public IDictionary ResponseTrailers
    {
        get => _responseTrailers ??= NewHeaders();
        set => _responseTrailers = value ?? throw new ArgumentNullException(nameof(value));
    }

    /// <summary>Extensions of the request header of the native protocol; empty on HTTP and gRPC endpoints,
    /// which have no such header.</summary>
    public IDictionary RequestExtensions =>
        _requestExtensions ??= HeaderExtensionMap.ToDictionary(_context.RequestExtensions);

    /// <summary>Extensions of the response header of the native protocol, sent also when the handler fails.
    /// HTTP and gRPC endpoints have no such header and do not send them.</summary>
    public IDictionary ResponseExtensions
    {
        get => _responseExtensions ??= HeaderExtensionMap.ToDictionary(_context.ResponseExtensions);
        set => _responseExtensions = value ?? throw new ArgumentNullException(nameof(value));
    }

    /// <summary>How replies are compressed on gRPC endpoints where the caller takes it;
    /// set before the first one.</summary>
    public RpcCompression ResponseCompression
    {
        get => _context.ResponseCompression;
        set => _context.ResponseCompression = value;
    }

    /// <summary>Whether it shows this call.</summary>
    internal bool IsOf(RpcServerCallContext context) => ReferenceEquals(context, _context);

    /// <summary>Takes over the headers that the handler set, before the first reply.</summary>
    /// <exception cref="RpcException">Internal when that are no headers.</exception>
    internal void FlushHeaders()
    {
        if (_responseHeaders is not null)
        {
            Fill(_context.ResponseHeaders, _responseHeaders, nameof(ResponseHeaders));
            _responseHeaders = null;
        }
    }

    /// <summary>Takes over the headers, trailers and extensions of a handler that failed. Its failure counts
    /// more than what is wrong with them.</summary>
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

    /// <summary>Takes over what the handler set for the end of the call.</summary>
    /// <exception cref="RpcException">Internal when that is no call context, or no headers.</exception>
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
