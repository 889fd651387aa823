namespace ProtoRpc.Interop;

/// <summary>A test that needs a program that is not ours;
/// skipped, with what to install, where it is missing.</summary>
[AttributeUsage(AttributeTargets.Method)]
public sealed class PeerFactAttribute : FactAttribute
{
    /// <param name="peer">Who it talks to.</param>
    public PeerFactAttribute(Peer peer)
    {
        Skip = Peers.WhyMissing(peer);
    }
}
