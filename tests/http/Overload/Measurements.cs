namespace ProtoRpc.Http.Tests.Overload;

/// <summary>Tests that measure run one after the other, when the others have ended.</summary>
[CollectionDefinition("Measurements", DisableParallelization = true)]
public sealed class Measurements
{
}
