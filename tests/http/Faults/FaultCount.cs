namespace ProtoRpc.Http.Tests.Faults;

/// <summary>How conversations ended that a network harmed.</summary>
/// <param name="Answered">With the answer.</param>
/// <param name="Failed">With one error.</param>
internal readonly record struct FaultCount(int Answered, int Failed)
{
    /// <summary>All of them.</summary>
    public int All => Answered + Failed;

    public static FaultCount operator +(FaultCount one, FaultCount other) =>
        new(one.Answered + other.Answered, one.Failed + other.Failed);
}
