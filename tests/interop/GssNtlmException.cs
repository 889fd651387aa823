namespace ProtoRpc.Interop;

/// <summary>What gss-ntlmssp refused, and why.</summary>
internal sealed class GssNtlmException(string message) : Exception(message);
