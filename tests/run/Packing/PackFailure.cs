namespace ProtoRpc.TestRun.Packing;

/// <summary>A step of packing that failed; the message is for the user.</summary>
internal sealed class PackFailure(string message) : Exception(message);
