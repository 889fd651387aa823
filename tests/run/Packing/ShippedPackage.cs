namespace ProtoRpc.TestRun.Packing;

/// <summary>A NuGet package that is part of a package or an archive of ProtoRpc, or that NuGet installs with
/// it.</summary>
/// <param name="Name">Its id.</param>
/// <param name="Version">Its version.</param>
/// <param name="Sha512">The hash of its file in hexadecimal; null if it is unknown.</param>
/// <param name="License">Its license as an SPDX expression; null if its nuspec has none.</param>
/// <param name="Folder">The folder that it was restored to.</param>
internal sealed record ShippedPackage(
    string Name, string Version, string? Sha512, string? License, string? Folder)
{
    // The files of ProtoRpc.Compiler, protoc and imports, are from these packages, although none of their
    // assemblies is referenced.
    private static readonly string[] OfCompiler = ["Grpc.Tools", "Google.Api.CommonProtos"];

    /// <summary>Whether ProtoRpc.Compiler contains files of this package.</summary>
    public bool IsOfCompiler => OfCompiler.Contains(Name);

    /// <summary>Whether it is the .NET runtime that a self-contained program contains.</summary>
    public bool IsRuntime => Name.Contains(".Runtime.", StringComparison.Ordinal);

    /// <summary>Whether a folder of programs has its assembly, or the files of
    /// ProtoRpc.Compiler.</summary>
    public bool IsIn(string folder) => IsOfCompiler || File.Exists(Path.Combine(folder, $"{Name}.dll"));
}
