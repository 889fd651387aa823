using System.Runtime.CompilerServices;

namespace ProtoRpc.Interop;

/// <summary>A test that needs a program that is not ours;
/// skipped, with what to install, where it is missing.</summary>
[AttributeUsage(AttributeTargets.Method)]
public sealed class PeerFactAttribute : FactAttribute
{
    /// <param name="peer">Who it talks to.</param>
    /// <param name="sourceFilePath">The file of the test.</param>
    /// <param name="sourceLineNumber">Its line.</param>
    public PeerFactAttribute(
        Peer peer, [CallerFilePath] string? sourceFilePath = null,
        [CallerLineNumber] int sourceLineNumber = -1)
        : base(sourceFilePath, sourceLineNumber)
    {
        Skip = Peers.WhyMissing(peer);
    }
}
