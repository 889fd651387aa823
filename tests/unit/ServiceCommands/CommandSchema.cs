using ProtoRpc.Tests.Schema;

namespace ProtoRpc.Tests.ServiceCommands;

/// <summary>Schemas of the tests, from .proto text.</summary>
internal static class CommandSchema
{
    /// <summary>One file with imports of the well-known types.</summary>
    public static RpcSchema Of(string body, string syntax = "proto3")
    {
        using TempFolder folder = new();
        string path = folder.Write(
            "shop.proto",
            $$"""
            syntax = "{{syntax}}";
            package shop;
            import "google/protobuf/duration.proto";
            import "google/protobuf/empty.proto";
            import "google/protobuf/field_mask.proto";
            import "google/protobuf/struct.proto";
            import "google/protobuf/timestamp.proto";
            import "google/protobuf/wrappers.proto";
            {{body}}
            """);
        return RpcSchema.Load([path]);
    }

    /// <summary>A service whose methods take and give nothing.</summary>
    public static RpcSchema WithMethods(params string[] names) => Of(ServiceOf("Orders", names));

    /// <summary>The text of a service whose methods take and give nothing.</summary>
    public static string ServiceOf(string name, params string[] methods)
    {
        IEnumerable<string> lines = methods.Select(method =>
            $"rpc {method} (google.protobuf.Empty) returns (google.protobuf.Empty);");
        return $"service {name} {{ {string.Join(' ', lines)} }}";
    }
}
