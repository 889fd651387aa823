namespace ProtoRpc.Protocols.Dce;

/// <summary>What a client said, while its call runs, about not wanting it any more.</summary>
internal enum CancelNotice
{
    /// <summary>Nothing.</summary>
    None,

    /// <summary>The call should end early; the answer is still awaited.</summary>
    Cancel,

    /// <summary>No answer is awaited.</summary>
    Orphan,
}
