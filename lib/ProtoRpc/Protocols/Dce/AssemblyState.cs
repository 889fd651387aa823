namespace ProtoRpc.Protocols.Dce;

/// <summary>What a fragment did to the message that is being put together.</summary>
internal enum AssemblyState
{
    /// <summary>More fragments are to come.</summary>
    Incomplete,

    /// <summary>The message is there.</summary>
    Complete,

    /// <summary>The fragment does not belong here: wrong call, wrong order,
    /// or other fields than the first.</summary>
    Disorder,

    /// <summary>The message or its number of fragments is over the limit.</summary>
    TooLarge,
}
