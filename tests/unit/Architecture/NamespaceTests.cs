namespace ProtoRpc.Tests.Architecture;

/// <summary>A type's namespace says where its file is; what users name is all in one namespace.</summary>
public static class NamespaceTests
{
    [Fact]
    public static void Every_public_type_is_in_the_namespace_ProtoRpc()
    {
        IEnumerable<string> others = House.Types
            .Where(type => type.IsPublic && type.Namespace != "ProtoRpc")
            .Select(type => type.FullName);

        Findings.None(others);
    }

    [Fact]
    public static void An_internal_type_is_in_the_namespace_of_its_folder_or_of_public_types_beside_it()
    {
        HashSet<string> filesOfPublicTypes =
        [
            .. from type in House.Types
               where type.IsPublic
               from file in type.Files
               select $"{type.Assembly}/{file}",
        ];

        IEnumerable<string> others =
            from type in House.Types
            where !type.IsPublic && !type.Folders.Contains(CodeType.Generated) && type.Namespace.Length > 0
            let expected = type.Files.Any(file => filesOfPublicTypes.Contains($"{type.Assembly}/{file}"))
                ? "ProtoRpc"
                : NamespaceOf(type)
            where type.Namespace != expected
            select $"{type.FullName} is in a file of the namespace {expected}";

        Findings.None(others);
    }

    [Fact]
    public static void The_files_of_a_type_are_in_one_folder()
    {
        IEnumerable<string> scattered = House.Types
            .Where(type => type.Folders.Count(folder => folder != CodeType.Generated) > 1)
            .Select(type => $"{type.FullName}: {string.Join(", ", type.Folders)}");

        Findings.None(scattered);
    }

    private static string NamespaceOf(CodeType type)
    {
        string root = type.Assembly == "ProtoRpc.Shared" ? "ProtoRpc" : type.Assembly;
        string folder = type.Folders[0].Replace('/', '.');
        return folder.Length == 0 ? root : $"{root}.{folder}";
    }
}
