namespace ProtoRpc.Conformance;

/// <summary>The .proto files whose messages a testee knows.</summary>
public static class TesteeFiles
{
    /// <summary>The files that arguments name; without any, those beside the program.</summary>
    /// <param name="arguments">The program's arguments. Runners up to version 22.4 put the path of the
    /// program before the others; it is left out.</param>
    public static IReadOnlyList<string> Of(IReadOnlyList<string> arguments)
    {
        string[] named = [.. arguments.Skip(arguments.Count > 0 && IsOwnPath(arguments[0]) ? 1 : 0)];
        return named.Length > 0 ? named : Shipped();
    }

    private static string[] Shipped()
    {
        string folder = Path.Combine(AppContext.BaseDirectory, "protos");
        return
        [
            Path.Combine(folder, "conformance.proto"),
            .. Directory.GetFiles(folder, "test_messages_*.proto").Order(StringComparer.Ordinal),
        ];
    }

    private static bool IsOwnPath(string argument)
    {
        string assembly = typeof(TesteeFiles).Assembly.Location;
        string[] own =
        [
            assembly,
            Path.ChangeExtension(assembly, OperatingSystem.IsWindows() ? ".exe" : null),
            Environment.ProcessPath ?? assembly,
        ];
        return own.Select(TargetOf).Contains(TargetOf(argument), StringComparer.Ordinal);
    }

    private static string TargetOf(string path)
    {
        FileInfo file = new(path);
        return file.Exists && file.ResolveLinkTarget(returnFinalTarget: true) is { } target
            ? target.FullName
            : file.FullName;
    }
}
