using Google.Protobuf.Reflection;
using ProtoRpc.Schema;
using ProtoRpc.Schema.Options;
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
        InterfaceId = InterfaceIds.Of(proto, FullName, file.Name);
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
