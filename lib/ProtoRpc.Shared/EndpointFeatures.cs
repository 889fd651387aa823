namespace ProtoRpc;

/// <summary>What endpoints of a kind are and can carry.</summary>
[Flags]
internal enum EndpointFeatures
{
    None = 0,

    /// <summary>Only this machine reaches them.</summary>
    LocalOnly = 1 << 0,

    /// <summary>The transport itself says who calls: no proof is needed.</summary>
    KnowsCaller = 1 << 1,

    /// <summary>Always with TLS.</summary>
    Tls = 1 << 2,

    /// <summary>With TLS where both sides ask for it.</summary>
    OptionalTls = 1 << 3,

    /// <summary>Replies that stream.</summary>
    ReplyStreams = 1 << 4,

    /// <summary>Requests that stream, while replies do.</summary>
    RequestStreams = 1 << 5,

    /// <summary>Messages compressed with gzip.</summary>
    Gzip = 1 << 6,

    /// <summary>Messages compressed with Brotli.</summary>
    Brotli = 1 << 7,

    /// <summary>Callers as the account that their process runs as.</summary>
    OwnAccount = 1 << 8,

    /// <summary>Callers with a user name and a password.</summary>
    Passwords = 1 << 9,

    /// <summary>Callers with a bearer token.</summary>
    Tokens = 1 << 10,

    /// <summary>NTLM, Kerberos and Negotiate.</summary>
    Mechanisms = 1 << 11,

    /// <summary>Interface ids, under which bytes go without a schema too, and signed or encrypted
    /// calls.</summary>
    Interfaces = 1 << 12,

    /// <summary>The types of exceptions.</summary>
    ExceptionTypes = 1 << 13,

    /// <summary>Messages in parts.</summary>
    Parts = 1 << 14,

    /// <summary>Messages in other formats than protobuf's own.</summary>
    Formats = 1 << 15,

    /// <summary>Browsers call them.</summary>
    Browsers = 1 << 16,

    /// <summary>Pings that keep a silent connection open.</summary>
    KeepAlive = 1 << 17,

    /// <summary>Servers can have reflection.</summary>
    Reflection = 1 << 18,

    /// <summary>Servers need ASP.NET Core.</summary>
    AspNetCore = 1 << 19,

    /// <summary>Servers that are called by a host name, which need not be where they are.</summary>
    HostNames = 1 << 20,

    /// <summary>Extensions of the headers of <c>rpc_messages.proto</c>.</summary>
    HeaderExtensions = 1 << 21,

    /// <summary>The operating system carries whole requests and replies, and there is no byte
    /// stream.</summary>
    WholeMessages = 1 << 22,

    /// <summary>The operating system reports to clients which account runs the server.</summary>
    KnowsServer = 1 << 23,

    /// <summary>What the native protocol brings.</summary>
    OfNative = OwnAccount | Passwords | Mechanisms | Interfaces | ExceptionTypes | Parts | HeaderExtensions,

    /// <summary>What HTTP brings.</summary>
    OfHttp = ReplyStreams | Gzip | Brotli | OwnAccount | Passwords | Tokens | Mechanisms | Formats | Browsers
        | AspNetCore,

    /// <summary>What gRPC brings.</summary>
    OfGrpc = RequestStreams | ReplyStreams | Gzip | Passwords | Tokens | KeepAlive | Reflection | AspNetCore
        | HostNames,
}
