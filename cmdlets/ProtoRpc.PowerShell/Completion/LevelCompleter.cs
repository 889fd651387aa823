using System.Collections;

namespace ProtoRpc;

/// <summary>Offers the levels that protect calls.</summary>
public sealed class LevelCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound) =>
    [
        new("Connect", "authenticates the connection only"),
        new("Packet", "also detects replayed packets"),
        new("Integrity", "also signs messages"),
        new("Privacy", "also encrypts messages"),
    ];
}
