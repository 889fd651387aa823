namespace ProtoRpc.Benchmarks.Peers;

/// <summary>A program of another RPC system that takes part in a measurement; docs/benchmarks/README.md says
/// what it reads and prints.</summary>
/// <param name="Name">As pages name it.</param>
/// <param name="Program">What is started.</param>
/// <param name="Arguments">What it gets before its role.</param>
internal sealed record PeerProgram(string Name, string Program, params IReadOnlyList<string> Arguments)
{
    /// <summary>Finds what runs a file by its extension.</summary>
    public static PeerProgram Of(string name, string path) => Path.GetExtension(path) switch
    {
        ".dll" => new PeerProgram(name, "dotnet", path),
        ".js" => new PeerProgram(name, "node", path),
        ".py" => new PeerProgram(name, "python3", path),
        _ => new PeerProgram(name, path),
    };
}
