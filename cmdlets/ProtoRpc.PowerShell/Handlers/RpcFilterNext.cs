namespace ProtoRpc;

/// <summary>The rest of a call, <c>$Next</c> in a filter: the next filter, or the handler.</summary>
public sealed class RpcFilterNext
{
    private readonly Func<object?, object?> _passOn;

    internal RpcFilterNext(Func<object?, object?> passOn) => _passOn = passOn;

    /// <summary>Passes the call on unchanged.</summary>
    /// <returns>The reply: an object, or a byte[] for a raw call. Null for a streaming method, whose replies
    /// have already been sent.</returns>
    public object? Invoke() => _passOn(null);

    /// <summary>Passes the call on with another or a changed request.</summary>
    /// <returns>The reply: an object, or a byte[] for a raw call. Null for a streaming method, whose replies
    /// have already been sent.</returns>
    public object? Invoke(object request) => _passOn(request);
}
