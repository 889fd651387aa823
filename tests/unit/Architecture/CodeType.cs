namespace ProtoRpc.Tests.Architecture;

/// <summary>A type as its source shows it:
/// what the compiler nests in it or makes for it counts to it.</summary>
/// <param name="Assembly">The assembly's name.</param>
/// <param name="FullName">Namespace and name.</param>
/// <param name="Folders">The folders of its files, from the folder of the project on, with '/'; "" for the
/// project's own folder, and <see cref="Generated"/> for what protoc wrote. None for what only a generator
/// of the compiler wrote.</param>
/// <param name="Files">Its files, from the folder of the project on, without what was generated.</param>
/// <param name="IsPublic">Whether other assemblies see it.</param>
/// <param name="Uses">The types that it names in its code and its signatures.</param>
internal sealed record CodeType(
    string Assembly,
    string FullName,
    IReadOnlyList<string> Folders,
    IReadOnlyList<string> Files,
    bool IsPublic,
    IReadOnlySet<TypeName> Uses)
{
    /// <summary>The folder of a type that protoc wrote.</summary>
    public const string Generated = "(protoc)";

    public TypeName Name => new(Assembly, FullName);

    public string Namespace =>
        FullName.LastIndexOf('.') is > 0 and int dot ? FullName[..dot] : "";
}

/// <summary>A type by its assembly and its name.</summary>
internal readonly record struct TypeName(string Assembly, string FullName);
