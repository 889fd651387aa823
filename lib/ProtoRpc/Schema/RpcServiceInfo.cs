using System.Security.Cryptography;
using Google.Protobuf.Reflection;
using ProtoRpc.Schema;
using ProtoRpc.Schema.Text;

namespace ProtoRpc;

/// <summary>A service.</summary>
public sealed class RpcServiceInfo
{
    internal RpcServiceInfo(
        RpcSchema schema, SchemaFile file, ServiceDescriptor descriptor,
        ServiceDescriptorProto proto, string path)
    {
        Schema = schema;
        File = file;
        FullName = descriptor.FullName;
        Proto = proto;
        Path = path;
        InterfaceId = InterfaceIds.Compute(proto, FullName, file.Name);
        Methods = proto.Method
            .Select((method, i) => new RpcMethodInfo(
                this, descriptor.Methods[i], method,
                $"{path},{ServiceDescriptorProto.MethodFieldNumber},{i}"))
            .ToArray();
    }

    /// <summary>The name without package.</summary>
    public string Name => Proto.Name;

    /// <summary>The full name.</summary>
    public string FullName { get; }

    /// <summary>The schema that contains the service.</summary>
    public RpcSchema Schema { get; }

    /// <summary>The name of the file that declares the service, without control characters, for showing
    /// it.</summary>
    public string FileName => TerminalText.Neutralize(File.Name);

    /// <summary>The methods in declared order.</summary>
    public IReadOnlyList<RpcMethodInfo> Methods { get; }

    /// <summary>The interface id on the native protocol: the option
    /// <c>(google.protobuf.csharp_service_options).interface_id</c>, or the name-based UUID of the full name.
    /// </summary>
    /// <remarks>The name-based UUID has version 5 of RFC 9562, and the namespace
    /// <c>c9be564e-39be-4c06-9670-3d1cbad30e64</c>.</remarks>
    public Guid InterfaceId { get; }

    /// <summary>Why the methods of the service are unknown: the server lists it, but its reflection does not
    /// describe it. Null if they are known.</summary>
    public string? Problem => Schema.Gaps?.ProblemOf(this) is { } problem
        ? TerminalText.Neutralize(problem)
        : null;

    /// <summary>The options that are set, custom ones as <c>[full.name]</c>; enum values by name.</summary>
    public IReadOnlyDictionary<string, object?> Options =>
        OptionReader.Read(Schema, "ServiceOptions", Proto.Options);

    /// <summary>The comment before the service, otherwise the one after its brace; or empty.</summary>
    public string Comment => File.Comments.Of(Path);

    internal SchemaFile File { get; }

    internal ServiceDescriptorProto Proto { get; }

    internal string Path { get; }

    /// <summary>Finds a method by its bare name: exactly first, then case-insensitively. Null if there is
    /// none.</summary>
    public RpcMethodInfo? FindMethod(string name) =>
        Methods.FirstOrDefault(m => m.Name == name)
        ?? Methods.FirstOrDefault(m => m.Name.Equals(name, StringComparison.OrdinalIgnoreCase));

    /// <summary>The service as .proto text, with its comments.</summary>
    public string ToProtoText() => ProtoTextWriter.Write(this);

    /// <summary>The full name.</summary>
    public override string ToString() => FullName;
}

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

    /// <summary>Whether the method has one request and one reply.</summary>
    public bool IsUnary => !IsClientStreaming && !IsServerStreaming;

    /// <summary>Why the method cannot be called: the server's reflection does not return a file that declares
    /// types of its messages. Null if it can.</summary>
    public string? Problem => Service.Schema.Gaps?.ProblemOf(this) is { } problem
        ? TerminalText.Neutralize(problem)
        : null;

    /// <summary>Whether the .proto declares <c>idempotency_level = NO_SIDE_EFFECTS</c>.</summary>
    public bool HasNoSideEffects =>
        _proto.Options?.IdempotencyLevel == MethodOptions.Types.IdempotencyLevel.NoSideEffects;

    /// <summary>Whether the .proto declares <c>idempotency_level = NO_SIDE_EFFECTS</c> or
    /// <c>IDEMPOTENT</c>, so that a call can run twice.</summary>
    public bool IsIdempotent => _proto.Options?.IdempotencyLevel
        is MethodOptions.Types.IdempotencyLevel.NoSideEffects
        or MethodOptions.Types.IdempotencyLevel.Idempotent;

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

/// <summary>The interface id by which a service is known on the native protocol.</summary>
internal static class InterfaceIds
{
    /// <summary>The namespace of ids that are derived from a service's full name.</summary>
    public static readonly Guid Namespace = new("c9be564e-39be-4c06-9670-3d1cbad30e64");

    // csharp_options.proto:
    // extend ServiceOptions { optional CSharpServiceOptions csharp_service_options = 1000; }
    private const int CSharpServiceOptionsNumber = 1000;
    private const int InterfaceIdNumber = 1;

    /// <summary>The id in the service's options, otherwise the id that is derived from its name.</summary>
    /// <exception cref="RpcException">InvalidArgument when the option is not a GUID.</exception>
    public static Guid Compute(ServiceDescriptorProto service, string fullName, string fileName)
    {
        string? text;
        try
        {
            text = FindOption(service.Options);
        }
        catch (InvalidProtocolBufferException e)
        {
            throw SchemaError.Invalid($"{fileName}: the options of service '{fullName}' are broken.", e);
        }

        if (text is null)
        {
            return OfName(Namespace, fullName);
        }

        return Guid.TryParse(text, out Guid id)
            ? id
            : throw SchemaError.Invalid(
                $"{fileName}: the interface_id '{text}' of service '{fullName}' is not a GUID; "
                + "write it as '01234567-89ab-cdef-0123-456789abcdef'.");
    }

    /// <summary>A name-based UUID: version 5 of RFC 9562 section 5.5.</summary>
    public static Guid OfName(Guid space, string name)
    {
        byte[] hash = SHA1.HashData([.. space.ToByteArray(bigEndian: true), .. Encoding.UTF8.GetBytes(name)]);
        hash[6] = (byte)((hash[6] & 0x0F) | 0x50);
        hash[8] = (byte)((hash[8] & 0x3F) | 0x80);
        return new Guid(hash.AsSpan(0, 16), bigEndian: true);
    }

    private static string? FindOption(ServiceOptions? options)
    {
        // Read from the bytes: whether the extension was known when the options were parsed must not matter.
        return options is null
            ? null
            : WireScan.Bytes(options.ToByteString(), CSharpServiceOptionsNumber)
                .SelectMany(inner => WireScan.Bytes(inner, InterfaceIdNumber))
                .LastOrDefault()?.ToStringUtf8();
    }
}

/// <summary>Finds fields in serialized messages that the generated classes do not know.</summary>
internal static class WireScan
{
    /// <summary>The length-delimited values of a field, in order.</summary>
    /// <exception cref="InvalidProtocolBufferException">The bytes are no message.</exception>
    public static IReadOnlyList<ByteString> Bytes(ByteString message, int number) =>
        [.. Bytes(message, found => found == number).Select(field => field.Value)];

    /// <summary>All length-delimited values, in order, each with the number of its field.</summary>
    /// <exception cref="InvalidProtocolBufferException">The bytes are no message.</exception>
    public static IReadOnlyList<(int Number, ByteString Value)> Bytes(ByteString message) =>
        Bytes(message, _ => true);

    private static List<(int Number, ByteString Value)> Bytes(ByteString message, Func<int, bool> isAsked)
    {
        List<(int, ByteString)> found = [];
        using CodedInputStream input = message.CreateCodedInput();
        for (uint tag = input.ReadTag(); tag != 0; tag = input.ReadTag())
        {
            int number = WireFormat.GetTagFieldNumber(tag);
            if (WireFormat.GetTagWireType(tag) == WireFormat.WireType.LengthDelimited && isAsked(number))
            {
                found.Add((number, input.ReadBytes()));
            }
            else
            {
                input.SkipLastField();
            }
        }

        return found;
    }
}
