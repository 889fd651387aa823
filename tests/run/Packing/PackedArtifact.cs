namespace ProtoRpc.TestRun.Packing;

/// <summary>A package or an archive that <c>pack</c> made.</summary>
/// <param name="File">Its full path.</param>
/// <param name="Packages">The packages of others that it has or that NuGet installs with it.</param>
/// <param name="HasThem">Whether it has their files.</param>
internal sealed record PackedArtifact(string File, IReadOnlyList<ShippedPackage> Packages, bool HasThem);
