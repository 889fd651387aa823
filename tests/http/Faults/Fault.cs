namespace ProtoRpc.Http.Tests.Faults;

/// <summary>What a network does to one direction of a connection, once.</summary>
public enum FaultKind
{
    /// <summary>Ends both directions before the octet.</summary>
    Cut,

    /// <summary>Resets the connection before the octet.</summary>
    Reset,

    /// <summary>Changes one bit of the octet.</summary>
    Flip,

    /// <summary>Leaves the octet out.</summary>
    Drop,

    /// <summary>Sends the octet twice.</summary>
    Duplicate,

    /// <summary>Sends the octet after the one that follows it.</summary>
    Swap,

    /// <summary>Passes nothing on for a while from the octet on.</summary>
    Delay,

    /// <summary>Passes nothing on from the octet on, and ends nothing.</summary>
    Stall,

    /// <summary>Passes octet by octet.</summary>
    Drip,
}

/// <summary>A fault at an octet of a direction.</summary>
/// <param name="Kind">What happens.</param>
/// <param name="ToServer">Whether to what the client sends.</param>
/// <param name="Offset">The octet, from 0 on.</param>
internal readonly record struct Fault(FaultKind Kind, bool ToServer, long Offset);
