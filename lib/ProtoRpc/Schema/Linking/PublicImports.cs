using Google.Protobuf.Reflection;

namespace ProtoRpc.Schema.Linking;

/// <summary>Public imports of a file.</summary>
internal static class PublicImports
{
    /// <summary>Lets files that import a file also see what another file declares.</summary>
    public static void ImportPublicly(this FileDescriptorProto file, string import)
    {
        int index = file.Dependency.IndexOf(import);
        if (index < 0)
        {
            index = file.Dependency.Count;
            file.Dependency.Add(import);
        }

        if (!file.PublicDependency.Contains(index))
        {
            file.PublicDependency.Add(index);
        }
    }
}
