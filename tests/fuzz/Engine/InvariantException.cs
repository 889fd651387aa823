namespace ProtoRpc.Fuzz.Engine;

/// <summary>What must hold does not.</summary>
internal sealed class InvariantException(string message) : Exception(message);
