using System.Reflection;
using Xunit.Sdk;

namespace ProtoRpc.Interop;

/// <summary>Gives a theory a peer, alone or with each case of a list;
/// skipped, with what to install, where it is missing.</summary>
/// <param name="peer">Who it talks to.</param>
/// <param name="cases">The member of the test class that lists the cases; null for none.</param>
[AttributeUsage(AttributeTargets.Method, AllowMultiple = true)]
public sealed class PeerDataAttribute(Peer peer, string? cases = null) : DataAttribute
{
    /// <inheritdoc/>
    public override string? Skip => Peers.WhyMissing(peer);

    /// <inheritdoc/>
    public override IEnumerable<object[]> GetData(MethodInfo testMethod) => cases is null
        ? [[peer]]
        : ((IEnumerable<string>)testMethod.DeclaringType!.GetProperty(cases)!.GetValue(null)!)
            .Select(name => new object[] { peer, name });
}
