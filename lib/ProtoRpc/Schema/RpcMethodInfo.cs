using Google.Protobuf.Reflection;
using ProtoRpc.Schema.Options;
using ProtoRpc.Schema.Text;

namespace ProtoRpc;

/// <summary>A method of a service.</summary>
public sealed class RpcMethodInfo
{
    private readonly MethodDescriptor _descriptor;
    private readonly MethodDescriptorProto _proto;
    private readonly string _path;

    internal RpcMethodInfo(
        RpcServiceInfo service, MethodDescriptor descriptor, MethodDescriptorProto proto, string path)
    {
        Service = service;
        FullName = $"{service.FullName}/{proto.Name}";
        _descriptor = descriptor;
        _proto = proto;
        _path = path;
        RequestType = service.Schema.MessageOf(descriptor.InputType);
        ReplyType = service.Schema.MessageOf(descriptor.OutputType);
    }

    private RpcMethodInfo(RpcMethodInfo other, RpcMessageInfo requestType, RpcMessageInfo replyType)
    {
        Service = other.Service;
        FullName = other.FullName;
        _descriptor = other._descriptor;
        _proto = other._proto;
        _path = other._path;
        RequestType = requestType;
        ReplyType = replyType;
    }

    /// <summary>The bare name, as the native protocol sends it.</summary>
    public string Name => _proto.Name;

    /// <summary>The full name: <c>package.Service/Method</c>.</summary>
    public string FullName { get; }

    /// <summary>The service.</summary>
    public RpcServiceInfo Service { get; }

    /// <summary>The request type.</summary>
    public RpcMessageInfo RequestType { get; }

    /// <summary>The reply type.</summary>
    public RpcMessageInfo ReplyType { get; }

    /// <summary>Whether the client sends a stream.</summary>
    public bool IsClientStreaming => _descriptor.IsClientStreaming;

    /// <summary>Whether the server sends a stream.</summary>
    public bool IsServerStreaming => _descriptor.IsServerStreaming;

    /// <summary>Whether there is one request and one reply.</summary>
    public bool IsUnary => !IsClientStreaming && !IsServerStreaming;

    /// <summary>Whether the .proto declares <c>idempotency_level = NO_SIDE_EFFECTS</c>.</summary>
    public bool HasNoSideEffects =>
        _proto.Options?.IdempotencyLevel == MethodOptions.Types.IdempotencyLevel.NoSideEffects;

    /// <summary>The options that are set, custom ones as <c>[full.name]</c>; enum values by name.</summary>
    public IReadOnlyDictionary<string, object?> Options =>
        OptionReader.Read(Service.Schema, "MethodOptions", _proto.Options);

    /// <summary>The comment before the method, otherwise the one after it; or empty.</summary>
    public string Comment => Service.File.Comments.Of(_path);

    /// <summary>The method in one line, with the full names of its types:
    /// <c>Send (Sample.MyRequest) returns (stream Sample.MyResponse)</c>.</summary>
    public string Signature =>
        $"{Name} ({Typed(IsClientStreaming, RequestType)}) returns ({Typed(IsServerStreaming, ReplyType)})";

    /// <summary>The method as .proto text, with its comments.</summary>
    public string ToProtoText() => ProtoTextWriter.Write(this);

    /// <summary>The full name.</summary>
    public override string ToString() => FullName;

    internal MethodDescriptorProto Proto => _proto;

    internal string Path => _path;

    /// <summary>The method with its messages as another schema has them,
    /// which may declare extensions of them.</summary>
    internal RpcMethodInfo With(RpcMessageInfo requestType, RpcMessageInfo replyType) =>
        new(this, requestType, replyType);

    private static string Typed(bool isStream, RpcMessageInfo type) =>
        isStream ? $"stream {type.FullName}" : type.FullName;
}
