namespace ProtoRpc.Tests;

/// <summary>Tests that measure the memory of the process, and so run beside no others.</summary>
[CollectionDefinition(nameof(WholeMemory), DisableParallelization = true)]
public sealed class WholeMemory;
