namespace ProtoRpc.Tests.Architecture;

/// <summary>The libraries, the tool and the cmdlets, as they were built with these tests.</summary>
internal static class House
{
    private static readonly (string Assembly, string Project)[] Projects =
    [
        ("ProtoRpc.Shared", "lib/ProtoRpc.Shared"),
        ("ProtoRpc", "lib/ProtoRpc"),
        ("ProtoRpc.AspNetCore", "lib/ProtoRpc.AspNetCore"),
        ("ProtoRpc.Grpc", "lib/ProtoRpc.Grpc"),
        ("ProtoRpc.Tool", "lib/ProtoRpc.Tool"),
        ("ProtoRpc.Loader", "cmdlets/ProtoRpc.Loader"),
        ("ProtoRpc.PowerShell", "cmdlets/ProtoRpc.PowerShell"),
    ];

    /// <summary>All types that have a file in the repository.</summary>
    public static IReadOnlyList<CodeType> Types { get; } =
    [
        .. Projects
            .SelectMany(project => AssemblyTypes.Read(PathOf(project.Assembly), project.Project))
            .Where(type => type.Folders.Count > 0),
    ];

    /// <summary>An assembly where its own project puts it, beside what it needs.</summary>
    public static string PathOf(string assembly)
    {
        string configuration = Path.GetFileName(Path.TrimEndingDirectorySeparator(AppContext.BaseDirectory));
        return Path.GetFullPath(Path.Combine(
            AppContext.BaseDirectory, "..", "..", assembly, configuration, $"{assembly}.dll"));
    }
}
