namespace ProtoRpc.TestRun.Packing;

/// <summary>A step of packing that failed; the message is for the user.</summary>
internal sealed class PackFailure(string message) : Exception(message)
{
    /// <summary>Fails if a package could not be restored.</summary>
    /// <param name="missing">What <see cref="PackBuild.RunAsync"/> returned.</param>
    public static void Require(string? missing)
    {
        if (missing is not null)
        {
            throw new PackFailure($"A package cannot be restored: {missing}");
        }
    }
}
