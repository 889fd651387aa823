namespace ProtoRpc.Schema;

/// <summary>A method of a service.</summary>
public sealed class RpcMethodInfo
{
    /// <summary>The bare name, as the native protocol sends it.</summary>
    public string Name => throw new NotImplementedException();

    /// <summary>The full name: <c>package.Service/Method</c>.</summary>
    public string FullName => throw new NotImplementedException();

    /// <summary>The service.</summary>
    public RpcServiceInfo Service => throw new NotImplementedException();

    /// <summary>The request type.</summary>
    public RpcMessageInfo RequestType => throw new NotImplementedException();

    /// <summary>The reply type.</summary>
    public RpcMessageInfo ReplyType => throw new NotImplementedException();

    /// <summary>Whether the client sends a stream.</summary>
    public bool IsClientStreaming => throw new NotImplementedException();

    /// <summary>Whether the server sends a stream.</summary>
    public bool IsServerStreaming => throw new NotImplementedException();

    /// <summary>Whether one message goes each way.</summary>
    public bool IsUnary => throw new NotImplementedException();

    /// <summary>The comment before the method, or empty.</summary>
    public string Comment => throw new NotImplementedException();
}
