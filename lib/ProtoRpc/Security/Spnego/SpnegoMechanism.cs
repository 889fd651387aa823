namespace ProtoRpc.Security.Spnego;

/// <summary>A mechanism that may be agreed on.</summary>
/// <param name="Oid">Its object identifier.</param>
/// <param name="Create">Begins an authentication.</param>
internal sealed record SpnegoMechanism(string Oid, Func<SecurityContext> Create);
