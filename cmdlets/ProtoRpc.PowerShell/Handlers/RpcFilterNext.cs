namespace ProtoRpc;

/// <summary>What a filter passes a call on to, <c>$Next</c>: the next filter, or the handler.</summary>
public sealed class RpcFilterNext
{
    private readonly Func<object?, object?> _passOn;

    internal RpcFilterNext(Func<object?, object?> passOn) => _passOn = passOn;

    /// <summary>Passes the call on as it came.</summary>
    /// <returns>The reply: an object, or a byte[] on the raw layer. Null for a method that streams, whose
    /// replies are sent already.</returns>
    public object? Invoke() => _passOn(null);

    /// <summary>Passes the call on with another request, or a changed one.</summary>
    /// <returns>The reply: an object, or a byte[] on the raw layer. Null for a method that streams, whose
    /// replies are sent already.</returns>
    public object? Invoke(object request) => _passOn(request);
}
