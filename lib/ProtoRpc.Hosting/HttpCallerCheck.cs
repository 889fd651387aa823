using System.Security.Principal;

namespace ProtoRpc;

/// <summary>Finds out who calls, by what the caller presents.</summary>
/// <typeparam name="TProof">What is presented.</typeparam>
/// <param name="proof">It.</param>
/// <param name="cancellation">Ended when the caller is gone.</param>
/// <returns>Who it proves; null when it proves nobody.</returns>
public delegate ValueTask<IIdentity?> HttpCallerCheck<in TProof>(
    TProof proof, CancellationToken cancellation);
