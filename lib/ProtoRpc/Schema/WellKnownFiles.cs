using Google.Protobuf.Reflection;
using Google.Protobuf.WellKnownTypes;
using ProtoRpc.Schema.Linking;

namespace ProtoRpc.Schema;

/// <summary>The files that Protocol Buffers includes.</summary>
internal static class WellKnownFiles
{
    private const string Plugin = "google/protobuf/compiler/plugin.proto";

    // Google.Protobuf contains all of these files but one, which belongs to protoc. Each is created on
    // demand: for descriptor.proto, the runtime compiles a hundred methods.
    private static readonly Dictionary<string, Func<FileDescriptor>> Known = new(StringComparer.Ordinal)
    {
        ["google/protobuf/any.proto"] = () => AnyReflection.Descriptor,
        ["google/protobuf/api.proto"] = () => ApiReflection.Descriptor,
        ["google/protobuf/descriptor.proto"] = () => DescriptorReflection.Descriptor,
        ["google/protobuf/duration.proto"] = () => DurationReflection.Descriptor,
        ["google/protobuf/empty.proto"] = () => EmptyReflection.Descriptor,
        ["google/protobuf/field_mask.proto"] = () => FieldMaskReflection.Descriptor,
        ["google/protobuf/source_context.proto"] = () => SourceContextReflection.Descriptor,
        ["google/protobuf/struct.proto"] = () => StructReflection.Descriptor,
        ["google/protobuf/timestamp.proto"] = () => TimestampReflection.Descriptor,
        ["google/protobuf/type.proto"] = () => TypeReflection.Descriptor,
        ["google/protobuf/wrappers.proto"] = () => WrappersReflection.Descriptor,
    };

    /// <summary>Those that Google.Protobuf contains.</summary>
    public static IEnumerable<DescriptorFile> All => Known.Keys.Select(name => Find(name)!);

    /// <summary>Whether a file name is one of them.</summary>
    public static bool Contains(string fileName) => fileName == Plugin || Known.ContainsKey(fileName);

    /// <summary>A file by the name that importers write; null if Google.Protobuf does not contain
    /// it.</summary>
    public static DescriptorFile? Find(string fileName) =>
        Known.TryGetValue(fileName, out Func<FileDescriptor>? file)
            ? DescriptorFile.Parse(file().SerializedData, "Google.Protobuf")
            : null;

    /// <summary>Adds imported files that are missing, because descriptor sets and servers may omit
    /// them.</summary>
    public static IReadOnlyList<DescriptorFile> AddMissing(IReadOnlyList<DescriptorFile> files)
    {
        List<DescriptorFile> all = [.. files];
        HashSet<string> names = [.. files.Select(file => file.Name)];
        for (int i = 0; i < all.Count; i++)
        {
            foreach (string import in all[i].Proto.Dependency.Concat(all[i].Proto.OptionDependency))
            {
                if (!names.Contains(import) && Find(import) is { } file)
                {
                    names.Add(import);
                    all.Add(file);
                }
            }
        }

        return all;
    }
}

/// <summary>The file that declares the headers of the native protocol, with all its names.</summary>
internal static class RpcMessageFiles
{
    public const string Package = "google.protobuf.rpc_messages";

    /// <summary>Ours.</summary>
    public const string Name = "rpc_messages.proto";

    /// <summary>The names that files written for Google.ProtocolBuffers.Rpc import.</summary>
    public static IReadOnlyList<string> OriginalNames { get; } =
        ["csharp_rpc_messages.proto", "google/protobuf/csharp_rpc_messages.proto"];

    /// <summary>All names.</summary>
    public static IReadOnlyList<string> Names { get; } = [Name, .. OriginalNames];
}
