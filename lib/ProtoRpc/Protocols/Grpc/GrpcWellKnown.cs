using Google.Protobuf.Reflection;
using Google.Protobuf.WellKnownTypes;
using ProtoRpc.Schema.Linking;

namespace ProtoRpc.Protocols.Grpc;

/// <summary>The well-known files, for servers that import them and do not show them.</summary>
internal static class GrpcWellKnown
{
    private static readonly FileDescriptor[] Files =
    [
        AnyReflection.Descriptor, ApiReflection.Descriptor, DurationReflection.Descriptor,
        EmptyReflection.Descriptor,
        FieldMaskReflection.Descriptor, SourceContextReflection.Descriptor, StructReflection.Descriptor,
        TimestampReflection.Descriptor, TypeReflection.Descriptor, WrappersReflection.Descriptor,
        DescriptorReflection.Descriptor,
    ];

    /// <summary>A file by the name that importers write, or null.</summary>
    public static DescriptorFile? Find(string name) =>
        Files.FirstOrDefault(file => file.Name == name) is { } found
            ? DescriptorFile.Parse(found.SerializedData, "Google.Protobuf")
            : null;
}
