namespace ProtoRpc.Fuzz.Engine;

/// <summary>An input, or a shape of inputs, for which something does not hold.</summary>
/// <param name="Signature">What failures of the same fault have in common.</param>
/// <param name="Text">What happened, and how to repeat it.</param>
internal sealed record Failure(string Signature, string Text);
