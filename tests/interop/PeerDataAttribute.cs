using System.Reflection;
using Xunit.Sdk;
using Xunit.v3;

namespace ProtoRpc.Interop;

/// <summary>Gives a theory a peer, alone or with each case of a list;
/// skipped, with what to install, where it is missing.</summary>
[AttributeUsage(AttributeTargets.Method, AllowMultiple = true)]
public sealed class PeerDataAttribute : DataAttribute
{
    private readonly Peer _peer;
    private readonly string? _cases;

    /// <param name="peer">Who it talks to.</param>
    /// <param name="cases">The member of the test class that lists the cases; null for none.</param>
    public PeerDataAttribute(Peer peer, string? cases = null)
    {
        _peer = peer;
        _cases = cases;
        Skip = Peers.WhyMissing(peer);
    }

    /// <inheritdoc/>
    public override ValueTask<IReadOnlyCollection<ITheoryDataRow>> GetData(
        MethodInfo testMethod, DisposalTracker disposalTracker) => new(
        [
            .. _cases is null
                ? [Row(_peer)]
                : ((IEnumerable<string>)testMethod.DeclaringType!.GetProperty(_cases)!.GetValue(null)!)
                    .Select(name => Row(_peer, name)),
        ]);

    /// <inheritdoc/>
    public override bool SupportsDiscoveryEnumeration() => true;

    private TheoryDataRow Row(params object[] values) => new(values) { Skip = Skip };
}
