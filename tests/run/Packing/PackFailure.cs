namespace ProtoRpc.TestRun.Packing;

/// <summary>A step of packing that failed; the message is for the user.</summary>
internal sealed class PackFailure(string message) : Exception(message)
{
    /// <summary>Fails if a package could not be restored.</summary>
    /// <param name="missing">The result of <see cref="PackBuild.RunAsync"/>: the errors of restoring
    /// packages, or null.</param>
    public static void Require(string? missing)
    {
        if (missing is not null)
        {
            throw new PackFailure($"A package cannot be restored: {missing}");
        }
    }
}
