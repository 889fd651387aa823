namespace ProtoRpc.TestRun.Packing;

/// <summary>A NuGet package that is part of a package or an archive of ours, or that NuGet installs with it.
/// </summary>
/// <param name="Name">Its id.</param>
/// <param name="Version">Its version.</param>
/// <param name="Sha512">The hash of its file in hexadecimal, where it is known.</param>
/// <param name="License">Its license as an SPDX expression, where its nuspec has one.</param>
internal sealed record ShippedPackage(string Name, string Version, string? Sha512, string? License);
