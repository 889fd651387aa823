namespace ProtoRpc.Protocols.Dce;

/// <summary>Why a bind was refused as a whole; not the numbers of <see cref="ContextResult"/>.</summary>
internal enum BindNakReason : ushort
{
    /// <summary>Not said.</summary>
    Unspecified = 0,

    /// <summary>The server is busy.</summary>
    TemporaryCongestion = 1,

    /// <summary>The server has as many connections as it takes.</summary>
    LocalLimit = 2,

    /// <summary>The protocol version is not supported.</summary>
    ProtocolVersion = 4,

    /// <summary>The security package is not known.</summary>
    AuthenticationType = 8,

    /// <summary>A checksum is wrong.</summary>
    InvalidChecksum = 9,
}
