namespace ProtoRpc.Fuzz.Engine;

/// <summary>A shape of input that is known to be nasty.</summary>
/// <param name="Name">What it is made of.</param>
/// <param name="Make">The input of a number of pieces.</param>
/// <param name="Pieces">How many pieces take some milliseconds to read.</param>
internal sealed record GrowingInput(string Name, Func<int, byte[]> Make, int Pieces = 4096);
