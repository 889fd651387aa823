using ProtoRpc.Protocols.Headers;

namespace ProtoRpc.Protocols.Native;

/// <summary>The names of the methods that every service of the native protocol has;
/// on the wire they start with a dot.</summary>
internal static class BuiltInNames
{
    public const string Ping = ".ping";
    public const string Close = ".close";
    public const string Multi = ".multi";

    /// <summary>The service that declares them.</summary>
    public static RpcServiceInfo Service { get; } =
        RpcSchema.FromDescriptors(ProtorpcTransportReflection.Descriptor).GetService("protorpc.BuiltIn");

    /// <summary>Whether a name is that of a built-in method.</summary>
    public static bool Has(string name) => name.StartsWith('.');
}
