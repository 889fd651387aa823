using Google.Protobuf.Reflection;

namespace ProtoRpc.Schema;

/// <summary>A set of .proto files, linked: services, messages, enums and extensions by name.</summary>
/// <remarks>Immutable, and safe for use by many threads.</remarks>
public sealed class RpcSchema
{
    /// <summary>The files, imports before those that import them.</summary>
    public IReadOnlyList<FileDescriptor> Files => throw new NotImplementedException();

    /// <summary>The names of the files that were asked for, without their imports.</summary>
    public IReadOnlyList<string> RootFiles => throw new NotImplementedException();

    /// <summary>The services of all files, in declared order.</summary>
    public IReadOnlyList<RpcServiceInfo> Services => throw new NotImplementedException();

    /// <summary>The messages of all files, nested ones after their parent, without map entries.</summary>
    public IReadOnlyList<RpcMessageInfo> Messages => throw new NotImplementedException();

    /// <summary>The enums of all files.</summary>
    public IReadOnlyList<RpcEnumInfo> Enums => throw new NotImplementedException();

    /// <summary>Compiles .proto files and reads descriptor sets, told apart by their ending.</summary>
    /// <exception cref="RpcException">InvalidArgument or NotFound; protoc's errors with file, line and column.</exception>
    public static RpcSchema Load(IEnumerable<string> paths, IEnumerable<string>? importPaths = null) =>
        throw new NotImplementedException();

    /// <summary>Reads a serialized FileDescriptorSet, in any order of its files.</summary>
    public static RpcSchema FromDescriptorSet(ReadOnlySpan<byte> bytes) => throw new NotImplementedException();

    /// <summary>Wraps generated descriptors, with all that they import.</summary>
    public static RpcSchema FromDescriptors(params IEnumerable<FileDescriptor> files) => throw new NotImplementedException();

    /// <summary>A service by full name, else by bare name where only one has it.</summary>
    /// <exception cref="RpcException">NotFound, with the nearest names; InvalidArgument where several have the name.</exception>
    public RpcServiceInfo GetService(string name) => throw new NotImplementedException();

    /// <summary>A message by full name, else by bare name where only one has it.</summary>
    /// <exception cref="RpcException">NotFound, with the nearest names; InvalidArgument where several have the name.</exception>
    public RpcMessageInfo GetMessage(string name) => throw new NotImplementedException();

    /// <summary>A message by its exact full name, or null.</summary>
    public RpcMessageInfo? FindMessage(string fullName) => throw new NotImplementedException();

    /// <summary>A method by <c>package.Service/Method</c>, <c>Service/Method</c>, <c>package.Service.Method</c>
    /// or, where only one service has it, <c>Method</c>.</summary>
    /// <exception cref="RpcException">NotFound, with the nearest names; InvalidArgument where several have the name.</exception>
    public RpcMethodInfo GetMethod(string name) => throw new NotImplementedException();

    /// <summary>The schema as a serialized FileDescriptorSet that holds every import.</summary>
    public byte[] ToDescriptorSet() => throw new NotImplementedException();
}
