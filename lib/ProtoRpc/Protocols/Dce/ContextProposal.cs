namespace ProtoRpc.Protocols.Dce;

/// <summary>One presentation context of a bind or alter_context.</summary>
/// <param name="Id">The number that requests name it by.</param>
/// <param name="Interface">The abstract syntax.</param>
/// <param name="Transfers">The transfer syntaxes that the client can use.</param>
internal sealed record ContextProposal(ushort Id, SyntaxId Interface, IReadOnlyList<SyntaxId> Transfers);
