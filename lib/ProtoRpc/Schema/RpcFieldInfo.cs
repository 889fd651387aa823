using Google.Protobuf.Reflection;

namespace ProtoRpc.Schema;

/// <summary>One field of a message, or an extension, with its features resolved for every syntax and edition.</summary>
public sealed class RpcFieldInfo
{
    internal RpcFieldInfo(FieldDescriptor descriptor) => Descriptor = descriptor;

    /// <summary>The name as written in the .proto; for an extension the full name in brackets.</summary>
    public string Name => throw new NotImplementedException();

    /// <summary>The name in ProtoJSON.</summary>
    public string JsonName => throw new NotImplementedException();

    /// <summary>The full name, with package and message.</summary>
    public string FullName => throw new NotImplementedException();

    /// <summary>The field number.</summary>
    public int Number => throw new NotImplementedException();

    /// <summary>The type on the wire; <see cref="RpcFieldKind.Group"/> for every delimited message, editions included.</summary>
    public RpcFieldKind Kind => throw new NotImplementedException();

    /// <summary>Whether there may be many; true for maps.</summary>
    public bool IsRepeated => throw new NotImplementedException();

    /// <summary>Whether it is a map; <see cref="MessageType"/> is then the entry, with fields 1 and 2.</summary>
    public bool IsMap => throw new NotImplementedException();

    /// <summary>Whether a repeated scalar is written packed.</summary>
    public bool IsPacked => throw new NotImplementedException();

    /// <summary>Whether it must be there (proto2 required, LEGACY_REQUIRED).</summary>
    public bool IsRequired => throw new NotImplementedException();

    /// <summary>Whether an absent field differs from one that holds the default.</summary>
    public bool HasPresence => throw new NotImplementedException();

    /// <summary>Whether a string must be valid UTF-8 (utf8_validation = VERIFY).</summary>
    public bool ValidatesUtf8 => throw new NotImplementedException();

    /// <summary>Whether it is an extension of <see cref="ContainingType"/>.</summary>
    public bool IsExtension => throw new NotImplementedException();

    /// <summary>The message that has it, or that it extends.</summary>
    public RpcMessageInfo ContainingType => throw new NotImplementedException();

    /// <summary>The type of a message or group field, and the entry of a map.</summary>
    public RpcMessageInfo? MessageType => throw new NotImplementedException();

    /// <summary>The type of an enum field.</summary>
    public RpcEnumInfo? EnumType => throw new NotImplementedException();

    /// <summary>The oneof that it belongs to; null for the synthetic oneof of a proto3 optional field.</summary>
    public RpcOneofInfo? Oneof => throw new NotImplementedException();

    /// <summary>The default: a boxed scalar, string, byte[] or the enum's number; null for messages and repeated fields.</summary>
    public object? DefaultValue => throw new NotImplementedException();

    /// <summary>The type as a .proto would write it: <c>int32</c>, <c>map&lt;string, Foo&gt;</c>, a message's full name.</summary>
    public string TypeName => throw new NotImplementedException();

    /// <summary>The comment before the field in the .proto, or empty.</summary>
    public string Comment => throw new NotImplementedException();

    internal FieldDescriptor Descriptor { get; }
}
