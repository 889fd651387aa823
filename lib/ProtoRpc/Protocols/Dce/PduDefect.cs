namespace ProtoRpc.Protocols.Dce;

/// <summary>What can be wrong with a PDU's common header.</summary>
internal enum PduDefect
{
    /// <summary>Nothing.</summary>
    None,

    /// <summary>It is not protocol version 5.0 or 5.1, or no DCE/RPC at all.</summary>
    Version,

    /// <summary>Its data representation has EBCDIC characters or an unknown integer format.</summary>
    Representation,

    /// <summary>The fragment is shorter than its header or longer than what was offered.</summary>
    Length,

    /// <summary>The security trailer does not fit in the fragment.</summary>
    AuthLength,
}
