namespace ProtoRpc.Schema;

/// <summary>The files that come with Protocol Buffers.</summary>
internal static class WellKnownFiles
{
    private static readonly HashSet<string> Names =
    [
        "google/protobuf/any.proto",
        "google/protobuf/api.proto",
        "google/protobuf/compiler/plugin.proto",
        "google/protobuf/descriptor.proto",
        "google/protobuf/duration.proto",
        "google/protobuf/empty.proto",
        "google/protobuf/field_mask.proto",
        "google/protobuf/source_context.proto",
        "google/protobuf/struct.proto",
        "google/protobuf/timestamp.proto",
        "google/protobuf/type.proto",
        "google/protobuf/wrappers.proto",
    ];

    /// <summary>Whether a file name is one of them.</summary>
    public static bool Contains(string fileName) => Names.Contains(fileName);
}
