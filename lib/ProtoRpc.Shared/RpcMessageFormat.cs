namespace ProtoRpc;

/// <summary>How a message is written outside of an object.</summary>
public enum RpcMessageFormat
{
    /// <summary>Protocol Buffers' binary form.</summary>
    Binary = 0,

    /// <summary>ProtoJSON.</summary>
    Json,

    /// <summary>XML whose elements are the fields.</summary>
    Xml,

    /// <summary>An HTML form or query string.</summary>
    Form,

    /// <summary>Protocol Buffers' text form.</summary>
    Text,
}
