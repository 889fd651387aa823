namespace ProtoRpc.Fuzz.Inputs;

/// <summary>Changes inputs so that they stay near to what they were.</summary>
internal interface IMutator
{
    /// <summary>A changed copy.</summary>
    /// <param name="random">Decides.</param>
    /// <param name="input">What is changed; stays as it is.</param>
    /// <param name="others">Inputs that pieces may be taken of.</param>
    byte[] Change(Random random, byte[] input, IReadOnlyList<byte[]> others);
}
