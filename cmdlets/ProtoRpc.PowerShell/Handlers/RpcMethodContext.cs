using System.Collections;
using ProtoRpc.Calls;
using ProtoRpc.Calls.Sessions;
using ProtoRpc.Schema;

namespace ProtoRpc.PowerShell;

/// <summary>What a method's handler sees in <c>$RpcContext</c>.</summary>
public sealed class RpcMethodContext : RpcHandlerContext
{
    private readonly RpcCallContext _context;
    private IDictionary? _callContext;

    internal RpcMethodContext(RpcCallContext context)
        : base(context)
    {
        _context = context;
    }

    /// <summary>The method that is called.</summary>
    public RpcMethodInfo Method => _context.Method;

    /// <summary>What the listener keeps for the caller between calls; made when it is first asked for.</summary>
    public RpcSession Session => _context.Session;

    /// <summary>The side channel: what came with the request, and what goes back when it was changed.</summary>
    public IDictionary CallContext
    {
        get => _callContext ??= CallContextMap.ToDictionary(_context.CallContext);
        set => _callContext = value ?? throw new ArgumentNullException(nameof(value));
    }

    /// <summary>Whether it shows this call.</summary>
    internal bool IsOf(RpcCallContext context) => ReferenceEquals(context, _context);

    /// <summary>Takes over what the handler made of the call context.</summary>
    /// <exception cref="RpcException">Internal when that is no call context.</exception>
    internal void Flush()
    {
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
                RpcStatusCode.Internal, $"The handler of {Method.FullName} left a wrong call context: {e.Message}", e)
            {
                ErrorId = "WrongCallContext",
            };
        }
    }
}
