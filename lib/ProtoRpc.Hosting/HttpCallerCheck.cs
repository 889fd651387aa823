using System.Security.Principal;

namespace ProtoRpc;

/// <summary>Finds out who calls, by what the caller presents.</summary>
/// <typeparam name="TProof">What is presented.</typeparam>
/// <param name="proof">It.</param>
/// <param name="cancellation">Cancelled when the caller disconnects.</param>
/// <returns>The authenticated caller; null to reject it.</returns>
public delegate ValueTask<IIdentity?> HttpCallerCheck<in TProof>(
    TProof proof, CancellationToken cancellation);
