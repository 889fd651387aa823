namespace ProtoRpc.Schema;

/// <summary>The file that declares the headers of the native protocol,
/// by each name that it goes by.</summary>
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
