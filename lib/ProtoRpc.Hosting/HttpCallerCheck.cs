using System.Security.Principal;

namespace ProtoRpc;

/// <summary>Finds out who calls, by what the caller presents.</summary>
/// <remarks>The caller receives the text of an <see cref="RpcException"/> that the check creates. Other
/// exceptions, such as those of calls that the check makes, are logged under a correlation id, which the
/// caller receives.</remarks>
/// <typeparam name="TProof">What is presented.</typeparam>
/// <param name="proof">It.</param>
/// <param name="cancellation">Cancelled when the caller disconnects.</param>
/// <returns>The authenticated caller; null to reject it.</returns>
public delegate ValueTask<IIdentity?> HttpCallerCheck<in TProof>(
    TProof proof, CancellationToken cancellation);
