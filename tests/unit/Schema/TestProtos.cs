namespace ProtoRpc.Tests.Schema;

/// <summary>The .proto files of the tests.</summary>
internal static class TestProtos
{
    private static readonly Lazy<RpcSchema> EverythingOnce = new(() => RpcSchema.Load(
    [
        PathOf("everything_proto2.proto"),
        PathOf("everything_proto3.proto"),
        PathOf("everything_editions.proto"),
        PathOf("editions_file_features.proto"),
        PathOf("edition_2024.proto"),
    ]));

    /// <summary>The folder with the .proto files of the tests.</summary>
    public static string Folder => Path.Combine(AppContext.BaseDirectory, "Schema", "protos");

    /// <summary>The folder with the .proto files that are shipped.</summary>
    public static string Shipped => Path.Combine(AppContext.BaseDirectory, "protos");

    /// <summary>Packages everything.proto2, everything.proto3, everything.editions, everything.file_features,
    /// everything.edition2024 and everything.options, with every construct of the language.</summary>
    public static RpcSchema Everything => EverythingOnce.Value;

    public static string PathOf(string name) => Path.Combine(Folder, name);
}
