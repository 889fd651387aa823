namespace ProtoRpc.Interop;

/// <summary>A test with several sets of data that needs a program that is not ours; skipped, with what to
/// install, where it is missing.</summary>
[AttributeUsage(AttributeTargets.Method)]
public sealed class PeerTheoryAttribute : TheoryAttribute
{
    /// <param name="peer">Who it talks to.</param>
    public PeerTheoryAttribute(Peer peer)
    {
        Skip = Peers.WhyMissing(peer);
    }
}
